"""Rollouts that cores cannot tell apart are mapped once in a report: every row is as if it had been made alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.mapping.legalise.legalise import legalise
from neuromap.mapping.options.options import MappingOptions
from neuromap.mapping.partition.partition import digest_of
from neuromap.network.build import build_network
from neuromap.report import latency_report, to_dict
from neuromap.rollout.schedule.rollout import Rollout

EDGES = (("I", "A"), ("A", "B"), ("B", "O"), ("A", "O"), ("I", "O"), ("A", "A"), ("O", "A"))
SIZES = {"I": 5, "A": 6, "B": 4, "O": 3}


@st.composite
def networks(draw):
    """Four nodes with skips, cycles, and thresholds with and without a bias."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    edges = [*EDGES[:3], *(edge for edge in EDGES[3:] if draw(st.booleans()))]
    weights = {(u, v): rng.integers(-1, 2, (SIZES[v], SIZES[u])) for u, v in edges}
    low = draw(st.sampled_from([-2, 1]))
    nodes = {name: ((1, 1, n), None if name == "I" else rng.integers(low, 3, n)) for name, n in SIZES.items()}
    return build_network(nodes, weights, outputs=("O",))


@settings(deadline=None, max_examples=25)
@given(network=networks(), splitters=st.sampled_from(["never", "slack", "anywhere"]))
def test_rows_together_are_rows_apart(network, splitters):
    asked = {"n_frames": 6, "n_stimuli": 2, "engine": "numpy", "options": MappingOptions(splitters=splitters)}
    rows = to_dict(latency_report(network, **asked))["rows"]
    apart = [
        to_dict(latency_report(network, patterns=[row["pattern"]], executions=[row["execution"]], **asked))["rows"][0]
        for row in rows
    ]
    for row in (*rows, *apart):  # numbers of classes count those that are listed
        row.pop("behaviour_class", None)
    assert rows == apart


@settings(deadline=None, max_examples=40)
@given(network=networks(), data=st.data())
def test_alike_is_what_differs_by_a_shift_of_ticks(network, data):
    """Streaming is one program in both executions; with other delays it is another."""
    chip = load_chip("truenorth")
    names = st.sampled_from([(p, e) for p in ("streaming", "sequential") for e in ("windowed", "pipelined")])
    one, other = (Rollout(network, *data.draw(names)) for _ in range(2))
    try:
        alike = digest_of(legalise(one, chip)) == digest_of(legalise(other, chip))
    except DoesNotFitError:
        return
    event(f"alike: {alike}")
    if one.pattern.name == other.pattern.name == "streaming":
        assert alike
    inner = [edge for edge in network.edges if edge[0] != "I"]
    if [one.delays[edge] for edge in inner] != [other.delays[edge] for edge in inner]:
        assert not alike


def test_a_shared_mapping_has_clocks_of_its_own():
    network = build_network(
        {"I": ((1, 1, 2), None), "O": ((1, 1, 2), 1)}, {("I", "O"): np.eye(2, dtype=int)}, outputs=("O",)
    )
    report = latency_report(network, patterns=["streaming", "sequential"], n_frames=4, n_stimuli=1, engine="numpy")
    clocks = {(row.pattern, row.execution): row.ports[1].sample_tick for row in report.rows}
    assert clocks["streaming", "windowed"] != pytest.approx(clocks["streaming", "pipelined"])
    assert all(row.verified for row in report.rows)
