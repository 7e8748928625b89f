"""The page of an import: closed, escaped, its data inside; marks stand where errors are; the command writes it."""

import csv
import io
import json
import math
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from html_pages import Page
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.exchange import Imported, Note
from neuromap.exchange.page import MOST_ROWS, draw_errors, findings
from neuromap.network import build_network
from neuromap.network.edge import Edge
from neuromap.network.node import Node
from neuromap.quantise.quantisation import EdgeErrors, NodeErrors, Quantisation, TrainDistance, read_quantisation

HOSTILE = '<script>alert("1")</script>'


def node_errors(name, **errors):
    given = {"tau_error": 0.001, "synapse_tau_errors": (0.0,), "threshold_error": 2e-5, "bias_error": 0.0, **errors}
    return NodeErrors(node=name, neurons=3, scale=1000.0, threshold=1000, truncation=None, current_headroom=2.0,
                      lowest_voltage=-5.0, **given)  # fmt: skip


def price(nodes, edges=(), distances=()):
    return Quantisation("net", "loihi1", 1e-4, 1e-3, "one scale", nodes=tuple(nodes), edges=tuple(edges),
                        distances=tuple(distances))  # fmt: skip


@pytest.fixture(scope="module")
def hostile():
    """An import with everything that pages show, whose names are markup."""
    nodes = {"I": Node("I", (1, 1, 2)), HOSTILE: Node(HOSTILE, (1, 1, 3))}
    edges = {key: Edge(*key) for key in (("I", HOSTILE), (HOSTILE, HOSTILE))}
    note = Note(HOSTILE, HOSTILE, HOSTILE, 0.25, HOSTILE)
    return Imported(
        network=nm.Network(HOSTILE, nodes, edges),
        format="nir",
        source=HOSTILE,
        producer=HOSTILE,
        kept=(note,),
        approximated=(note,) * 5,
        refused=(note,),
        work={HOSTILE: 12},
        quantisation=price(
            [node_errors(HOSTILE)],
            [EdgeErrors(f"I -> {HOSTILE}", 6, 0.25, 1.0, 1, 0.0)],
            [TrainDistance(HOSTILE, "float", 3, 7, 8, 1e-3, 0.5, 2.0)],
        ),
    )


@pytest.fixture(scope="module")
def exact():
    network = build_network({"I": (2, None), "O": (3, 1)}, {("I", "O"): np.ones((3, 2), int)}, name="net")
    return Imported(network=network, format="onnx", source="net.onnx", kept=(Note("nodes", "are all there"),))


def test_the_page_is_closed_and_names_are_text(hostile, exact):
    page = Page(hostile.to_html())
    page.require_closed()
    assert HOSTILE not in page.without_scripts
    assert HOSTILE in "".join(page.text)
    Page(exact.to_html()).require_closed()


def test_the_data_lie_inside(hostile):
    document, nodes, notes = map(json.loads, Page(hostile.to_html()).data_blocks())
    assert document == json.loads(hostile.to_json())
    rows = list(csv.DictReader(io.StringIO(nodes)))
    assert [row["node"] for row in rows] == ["I", HOSTILE]
    assert [row["multiply_accumulates_per_frame"] for row in rows] == ["", "12"]
    assert float(rows[1]["threshold_error"]) == 2e-5
    became = [row["became"] for row in csv.DictReader(io.StringIO(notes))]
    assert became == ["kept", *["approximated"] * 5, "left out"]


def test_every_head_leads_to_a_definition_once(hostile):
    html = hostile.to_html()
    asked = set(re.findall(r'href="#def-([\w-]+)"', html))
    assert asked <= set(re.findall(r'id="def-([\w-]+)"', html))
    assert len(asked) > 15


def test_only_an_import_without_a_price_is_called_exact(hostile, exact):
    words = "Nothing was approximated, nothing left out."
    assert words in exact.to_html()
    for other in (
        hostile,
        replace(exact, approximated=(Note("a", "b"),)),
        replace(exact, refused=(Note("a", "b"),)),
        replace(exact, quantisation=price([node_errors("O")])),
    ):
        assert words not in other.to_html()
    assert "Left out" not in findings(exact)


def test_findings_name_the_greatest_errors():
    nodes = [node_errors("a", tau_error=0.02), node_errors("b", threshold_error=0.3)]
    edges = [EdgeErrors("a -> b", 10, 0.01, 1.0, 2, 0.0), EdgeErrors("b -> a", 5, 0.04, 0.1, 1, 0.0)]
    trains = [
        TrainDistance("a", "float", 3, 7, 8, 1e-3, 1.0, 2.0),
        TrainDistance("b", "float", 3, 9, 9, 1e-3, 1.5, 9.0),
    ]
    network = build_network({"a": (2, None), "b": (3, 1)}, {("a", "b"): np.ones((3, 2), int)}, name="net")
    found = Imported(network=network, format="nir", source="x.nir", quantisation=price(nodes, edges, trains))
    errors, lost, told = findings(found)["In the integers of loihi1"]
    assert errors.split(", ") == [
        "Weights are off by 4 % at most (b -> a", "sums over the edge)", "time constants by 2 % (a)",
        "thresholds by 30 % (b).",
    ]  # fmt: skip
    assert lost == "Of 15 synapses 3 weights became 0."
    assert told.startswith(
        "Spike trains differ most in a: 7 spikes, 8 in the float original; their distance is 1 where"
    )


@settings(deadline=None, max_examples=60)
@given(
    errors=st.lists(
        st.tuples(*[st.one_of(st.just(0.0), st.floats(1e-9, 10))] * 2, st.lists(st.floats(0, 1), max_size=2)),
        min_size=1, max_size=40,
    )
)  # fmt: skip
def test_marks_stand_where_errors_are(errors):
    nodes = [
        node_errors(f"n{k}", tau_error=tau, threshold_error=threshold, synapse_tau_errors=tuple(taus))
        for k, (tau, threshold, taus) in enumerate(errors)
    ]
    svg = draw_errors(price(nodes))
    shown = [re.findall(rf'<polygon points="([-\d., ]+)" class="dot{kind}"><title>n(\d+),', svg) for kind in (1, 3)]
    assert all(len(found) == min(len(nodes), MOST_ROWS) for found in shown)
    places = {}
    for kind, found in zip((0, 1), shown, strict=True):
        for points, k in found:
            xs = [float(point.split(",")[0]) for point in points.split()]
            places[int(k), kind] = (max(xs) + min(xs)) / 2, errors[int(k)][kind]
    ordered = sorted(places.values(), key=lambda place: place[1])
    for (left, less), (right, more) in pairwise(ordered):
        assert left <= right + 0.02
        if less == 0 < more:
            assert left + 20 < right
    inside = [(x, math.log10(error)) for x, error in ordered if error > max(e for _, e in ordered) * 1e-7]
    for (x, a), (y, b), (z, c) in zip(inside, inside[1:], inside[2:], strict=False):
        assert abs((y - x) * (c - a) - (z - x) * (b - a)) < 0.2 * max(1.0, c - a)
    labels = re.findall(r">([\d.]+) %</text>", svg)
    assert len(labels) == len(set(labels)) >= 2


def test_a_quantisation_comes_back_from_its_document(hostile):
    document = json.loads(hostile.quantisation.to_json())
    assert read_quantisation(document) == hostile.quantisation


def test_a_notebook_shows_pictures_and_findings_as_text(hostile, exact):
    found = hostile._repr_html_()
    assert HOSTILE not in found
    assert found.count("<img ") == 2
    assert exact._repr_html_().count("<img ") == 1
    assert "nothing left out" in exact._repr_html_()


def test_networks_that_nobody_could_read_are_not_drawn(exact):
    names = [f"n{k}" for k in range(25)]
    wide = nm.Network.from_edges([(a, b) for k, a in enumerate(names) for b in names[k + 1 :]])
    page = replace(exact, network=wide).to_html()
    Page(page).require_closed()
    assert "With more than 150 edges it is not drawn" in page
