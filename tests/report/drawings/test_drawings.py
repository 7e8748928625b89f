"""Drawings: layout, edges by kind, tableau numbers, and timelines that agree with the schedule."""

import re
from itertools import pairwise, product
from pathlib import Path
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.program.ports import NodePort
from neuromap.mapping.map_rollout import map_rollout
from neuromap.network.build import build_network
from neuromap.network.network import Network
from neuromap.network.network_file import load_network
from neuromap.network.spiking_neuron import CurrentNeuron
from neuromap.render.numbers import joules, plain, seconds, short_count
from neuromap.render.svg import element, shorten
from neuromap.report.drawings.draw_network import draw_network, draw_window, layout
from neuromap.report.drawings.draw_timeline import draw_timeline, longest_reach, shortest_reach
from neuromap.report.figures.row import OutputResponses, ReportRow, Responses
from neuromap.report.measure_row import report_row
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.stimulus import random_frames

POSTER = [("u", "v"), ("v", "w"), ("v", "v"), ("u", "w"), ("w", "v")]

MILLI = (1e-3).__mul__  # ticks as seconds


def titles(svg, class_):
    """Tooltips of the groups of a class."""
    tree = ElementTree.fromstring(svg)
    return [
        group.findtext("title")
        for group in tree.iter("g")
        if set(class_.split()) <= set((group.get("class") or "").split())
    ]


# Layout.


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_edges_run_to_the_right_but_for_back_edges(networks, data):
    network = data.draw(networks())
    places = layout(network)
    for u, v in network.edges:
        if u != v and (u, v) not in places.back_edges:
            assert places.layer[u] < places.layer[v]
            assert len(places.bends[u, v]) == places.layer[v] - places.layer[u] - 1
    assert nx.is_directed_acyclic_graph(
        nx.DiGraph([(u, v) for u, v in network.edges if u != v and (u, v) not in places.back_edges])
    )
    assert set(places.order) == set(network.nodes)


def test_networks_without_inputs_are_drawn_too():
    driven = CurrentNeuron(threshold=64, bias=9)
    edges = {("A", "B"): [[1]], ("B", "C"): [[1]], ("C", "B"): [[1]]}
    network = build_network(dict.fromkeys("ABC", (1, driven)), edges, outputs=["B"])
    assert network.inputs == ()
    assert layout(network).back_edges == {("C", "B")}
    assert len(titles(draw_network(network, None), "edge")) == len(edges)


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_nothing_in_a_layer_overlaps(networks, data):
    network = data.draw(networks())
    places = layout(network)
    for layer in set(places.layer.values()):
        nodes = sorted(places.y[name] for name in network.nodes if places.layer[name] == layer)
        bends = [
            bend[layer - places.layer[u] - 1]
            for (u, v), bend in places.bends.items()
            if places.layer[u] < layer < places.layer[v]
        ]
        assert all(b - a >= 66 - 1e-6 for a, b in pairwise(nodes))
        assert all(abs(a - b) >= 48 - 1e-6 for a, b in product(nodes, bends))
    assert min(places.y.values()) >= 0
    assert max(places.y.values()) <= places.height + 1e-6


def test_a_chain_is_straight():
    places = layout(Network.from_edges([("a", "b"), ("b", "c"), ("c", "d")]))
    assert len(set(places.y.values())) == 1
    assert [places.layer[n] for n in "abcd"] == [0, 1, 2, 3]


# Network and window.


def test_network_drawing_tells_streaming_from_sequential():
    network = Network.from_edges(POSTER)
    pattern = RolloutPattern.from_streaming_edges(network, [("w", "v"), ("v", "v")], "p")
    svg = draw_network(network, pattern)
    assert sorted(titles(svg, "edge streaming")) == ["v -> v: streaming (R = 1)", "w -> v: streaming (R = 1)"]
    assert len(titles(svg, "edge sequential")) == 3
    assert titles(svg, "node input") == ["u: input node"]


@given(st.data())
@settings(deadline=None, max_examples=40)
def test_a_network_is_the_same_down_the_page_and_inside_its_picture(networks, patterns, data):
    network = data.draw(networks())
    pattern = data.draw(patterns(network))
    right, down = draw_network(network, pattern), draw_network(network, pattern, down=True)
    for kind in ("edge streaming", "edge sequential", "node"):
        assert titles(right, kind) == titles(down, kind)
    layers = len(set(layout(network).layer.values()))
    for svg, along in ((right, 2), (down, 3)):
        drawn = ElementTree.fromstring(svg)
        size = [float(value) for value in drawn.get("viewBox").split()]
        for box in drawn.iter("rect"):
            left, top, width, height = (float(box.get(name)) for name in ("x", "y", "width", "height"))
            assert 0 <= left <= size[2] - width
            assert 0 <= top <= size[3] - height
        places = {float(box.get("x" if along == 2 else "y")) for box in drawn.iter("rect")}
        assert len(places) == layers  # nodes of a layer stand beside each other, layers along the way


def test_edges_of_spiking_networks_tell_their_delays():
    network = load_network(Path(__file__).resolve().parents[3] / "examples" / "spiking" / "current.toml")
    svg = draw_network(network, RolloutPattern.streaming(network))
    told = ["A -> A: delay 3 to 8 ticks", "A -> O: delay 1 tick", "I -> A: delay 2 ticks", "I -> O: delay 1 tick"]
    assert sorted(titles(svg, "edge streaming")) == told


@pytest.mark.parametrize(
    ("streaming", "v", "w"),  # PAPER.md: the poster network's tableaus at W = 3
    [
        (POSTER, "0123", "0123"),
        ([("w", "v"), ("v", "v")], "0135", "0246"),
        ([("v", "w"), ("v", "v")], "0246", "0135"),
    ],
)
def test_window_drawing_shows_the_tableau(streaming, v, w):
    network = Network.from_edges(POSTER)
    svg = draw_window(network, RolloutPattern.from_streaming_edges(network, streaming, "p"), 3)
    found = {}
    for title in titles(svg, "node"):
        node, frame, step = re.fullmatch(r"(\w), frame (\d): known at update step (\d+)", title).groups()
        found[node, int(frame)] = step
    assert "".join(found["v", i] for i in range(4)) == v
    assert "".join(found["w", i] for i in range(4)) == w
    assert "".join(found["u", i] for i in range(4)) == "0000"


@given(st.data())
@settings(deadline=None, max_examples=30)
def test_window_drawing_has_w_times_e_edges_and_faint_ones_in_frame_0(networks, patterns, data):
    network = data.draw(networks())
    pattern = data.draw(patterns(network))
    window = data.draw(st.integers(1, 4))
    svg = draw_window(network, pattern, window)
    n_streaming, n_edges = sum(pattern.values), len(network.edges)
    assert len(titles(svg, "edge")) == window * n_edges + (n_edges - n_streaming)
    assert len(titles(svg, "faint")) == n_edges - n_streaming
    assert len(titles(svg, "node")) == (window + 1) * len(network.nodes)


# Timeline.


@given(st.data())
@settings(deadline=None, max_examples=40)
def test_reach_equals_walks_in_the_rollout_window(networks, patterns, has_long_cycle, data):
    network = data.draw(networks())
    pattern = data.draw(patterns(network))
    for source in network.inputs:
        reach = shortest_reach(pattern, source)
        graph = nx.DiGraph()
        graph.add_nodes_from((i, n) for i in range(9) for n in network.nodes)
        graph.add_edges_from(((i, u), (i + r, v)) for i in range(9) for (u, v), r in pattern.items() if i + r < 9)
        reached = nx.descendants(graph, (0, source)) | {(0, source)}
        for name in network.nodes:
            frames = [i for i in range(9) if (i, name) in reached]
            assert reach.frames.get(name) == min(frames, default=None)
            if frames:
                path = reach.path(name)
                assert path[0] == source
                assert sum(pattern[key] for key in pairwise(path)) == min(frames)
        longest = longest_reach(pattern, source)
        assert (longest is None) == has_long_cycle(network)
        if longest is not None:
            for name in set(network.nodes) - {source}:
                sums = [
                    sum(pattern[key] for key in pairwise(path))
                    for path in nx.all_simple_paths(network.graph, source, name)
                ]
                assert longest.frames.get(name) == max(sums, default=None)


@given(st.data())
@settings(deadline=None, max_examples=40)
def test_timeline_brackets_agree_with_the_schedule(networks, patterns, chip, data):
    network = data.draw(networks())
    execution = data.draw(st.sampled_from(["windowed", "pipelined"]))
    rollout = Rollout(network, data.draw(patterns(network)), execution)
    program = map_rollout(rollout, chip(delay=data.draw(st.sampled_from([(1, 15), (2, 5)]))))
    row = report_row(rollout, program, random_frames(network, 3))
    svg = draw_timeline(row, load_chip("truenorth"))
    texts = ["".join(t.itertext()) for t in ElementTree.fromstring(svg).iter("text")]
    first = next(t for t in texts if t.startswith("first response"))
    full = next(t for t in texts if t.startswith("full response"))
    period = next(t for t in texts if t.startswith("frame period"))
    assert f": {row.predicted.first_response_ticks} tick" in first
    assert f" {row.predicted.full_response_ticks} tick" in full
    assert f": {program.period} tick" in period


def test_timeline_shows_frames_at_unequal_intervals_in_their_ticks(chip):
    eye, node = np.eye(1, dtype=int), ((1, 1, 1), 1)
    edges = dict.fromkeys([("I", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "O")], eye)
    network = build_network({"I": ((1, 1, 1), None), "a": node, "b": node, "c": node, "O": node}, edges)
    pattern = RolloutPattern.from_streaming_edges(network, [("a", "b"), ("b", "c")])
    rollout = Rollout(network, pattern, "pipelined:best")
    program = map_rollout(rollout, chip())
    row = report_row(rollout, program, random_frames(network, 3))
    svg = draw_timeline(row, load_chip("truenorth"))
    shown = [re.match(r"I samples frame n(.*) in tick (.*);", title) for title in titles(svg, "frame")]
    ticks = {found[1]: found[2] for found in shown if found}
    assert {shift: ticks[shift] for shift in ("−2", "−1", "", "+1", "+2")} == {
        "−2": "−3", "−1": "−2", "": "0", "+1": "1", "+2": "3",
    }  # fmt: skip
    texts = ["".join(t.itertext()) for t in ElementTree.fromstring(svg).iter("text")]
    assert "frame period: 3/2 ticks (1.5 ms) on average: 2 frames in 3 ticks, 2 or less apart" in texts


def timeline_row(network, responses, period, ports):
    """A row without weights and program: the timeline draws clocks."""
    return ReportRow(
        pattern="streaming",
        execution="windowed",
        status="mapped",
        streaming_edges=tuple(network.edges),
        frame_period_ticks=period,
        ticks_per_step=period,
        predicted=responses,
        full_response_exact=True,
        outputs={"O": OutputResponses(responses, responses, None, period, full_response_exact=True)},
        rollout=Rollout(network, "streaming"),
        ports=ports,
    )


def test_timeline_marks_what_depends_on_the_stimulus():
    network = Network.from_edges([("I", "A"), ("A", "O"), ("I", "O")])
    kinds = {"I": "input", "A": "hidden", "O": "output"}
    ports = tuple(NodePort(name, 1, kind, 5) for name, kind in kinds.items())
    svg = draw_timeline(timeline_row(network, Responses.from_ticks(1, 2, 1, MILLI), 1, ports), load_chip("truenorth"))
    shown = titles(svg, "frame")
    # streaming: everything of a frame happens in one tick, and edges come from the frame before
    assert "I samples frame n−1 in tick −1; it depends on nothing of the stimulus" in shown
    assert "I samples frame n in tick 0; it depends on all of the stimulus" in shown
    assert "A computes frame n in tick 0; it depends on nothing of the stimulus" in shown
    assert "A computes frame n+1 in tick 1; it depends on all of the stimulus" in shown
    assert "O computes frame n in tick 0; it depends on nothing of the stimulus" in shown
    assert "O computes frame n+1 in tick 1; it depends on a part of the stimulus" in shown
    assert "O computes frame n+2 in tick 2; it depends on all of the stimulus" in shown


def test_a_long_timeline_is_not_drawn():
    network = Network.from_edges([("I", "O")])
    ports = (NodePort("I", 1, "input", 0), NodePort("O", 1, "output", 0))
    assert (
        draw_timeline(timeline_row(network, Responses.from_ticks(9, 9, 9, MILLI), 9, ports), load_chip("truenorth"))
        is not None
    )
    assert (
        draw_timeline(
            timeline_row(network, Responses.from_ticks(900, 900, 900, MILLI), 900, ports), load_chip("truenorth")
        )
        is None
    )


# Small pieces.


def test_elements_escape_attributes_and_titles():
    made = element("g", title='<"&', class_='a"b')
    tree = ElementTree.fromstring(made)
    assert tree.get("class") == 'a"b'
    assert tree.findtext("title") == '<"&'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (3, "3"),
        (3.0, "3"),
        (1000 / 3, "333.3"),
        (0.5, "0.5"),
        (12345.678, "12346"),
        (61620.4, "61620"),
        (1e-9, "1.000e-09"),
    ],
)
def test_plain_numbers(value, text):
    assert plain(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (0, "0 s"), (2, "2 s"), (1e-3, "1 ms"), (0.0025, "2.5 ms"), (1e-6, "1 µs")]
)
def test_durations(value, text):
    assert seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (0, "0 J"), (6.4e-5, "64 µJ"), (2.3e-12, "2.3 pJ"), (9.3e-14, "9.3e-14 J")]
)
def test_energies(value, text):
    assert joules(value) == text


def test_counts_and_short_names():
    assert short_count(318) == "318"
    assert short_count(2**100) == "about 2^100.0"
    assert shorten("abcdef", 6) == "abcdef"
    assert shorten("abcdefg", 6) == "abcde…"
