"""The paper's networks in hardware-legal versions: same structure, alive, and on one chip."""

from pathlib import Path

import numpy as np
import pytest

import neuromap as nm
from neuromap.mapping.options.options import MappingOptions
from neuromap.network.transforms import Conv
from neuromap.simulation.stimulus import random_frames

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("sr", *(f"dsr{n}" for n in range(7)))
AXONS = 256


def network(name):
    return nm.load_network(EXAMPLES / "on_chip" / f"{name}.toml")


@pytest.fixture(scope="module", params=NAMES)
def pair(request):
    """A network and the paper's structure of its name."""
    return network(request.param), nm.load_network(EXAMPLES / "structures" / f"{request.param}.toml")


def test_nodes_and_edges_are_those_of_the_structure(pair):
    ours, paper = pair
    assert list(ours.nodes) == list(paper.nodes)
    assert list(ours.edges) == list(paper.edges)
    assert (ours.outputs, ours.patterns) == (paper.outputs, paper.patterns)


def test_sizes_differ_by_a_factor_of_the_features_alone(pair):
    ours, paper = pair
    hidden = [n for n in paper.nodes if n not in ("I", "O")]
    assert ours.nodes["I"].shape == paper.nodes["I"].shape
    assert all(ours.nodes[n].shape[:2] == paper.nodes[n].shape[:2] for n in hidden)
    assert len({paper.nodes[n].shape[2] / ours.nodes[n].shape[2] for n in hidden}) == 1
    assert ours.nodes["O"].shape[2] % paper.nodes["O"].shape[2] == 0


def test_kernels_and_strides_are_those_of_the_structure(pair):
    ours, paper = pair
    for key, edge in paper.edges.items():
        assert type(ours.edges[key].transform) is type(edge.transform)
        if isinstance(edge.transform, Conv):
            found = ours.edges[key].transform
            assert (found.kernel, found.stride, found.padding) == (
                edge.transform.kernel,
                edge.transform.stride,
                edge.transform.padding,
            )


def test_every_neuron_fits_a_core_and_every_edge_has_one_sign(pair):
    ours, _ = pair
    fan_in = {n: np.zeros(node.size, np.int64) for n, node in ours.nodes.items()}
    for (_, v), edge in ours.edges.items():
        matrix = edge.matrix()
        assert set(np.unique(matrix.data)) in ({1}, {-1})
        fan_in[v] += np.diff(matrix.indptr)
    assert all(n.max() <= AXONS for n in fan_in.values())
    assert all(
        1 <= node.threshold.min() <= node.threshold.max() <= 255 for node in ours.nodes.values() if node.name != "I"
    )


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["streaming", "sequential"])
def test_every_node_is_alive(pair, pattern):
    ours, _ = pair
    spikes = nm.reference(nm.Rollout(ours, pattern), random_frames(ours, 32, seed=5))
    for name, frames in spikes.items():
        late = frames[16:]
        assert 0.1 < late.mean() < 0.9, name
        assert (late.any(axis=0) & ~late.all(axis=0)).mean() > 0.5, name  # most neurons switch


@pytest.mark.slow
def test_recipes_write_the_files_that_are_here(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES.parent))
    from examples.on_chip import make

    monkeypatch.setattr(make, "HERE", tmp_path)
    for name in ("sr", "dsr0"):
        make.write(name, make.fitted(name, make.RECIPES[name]))
        for suffix in (".toml", ".safetensors"):
            written = (tmp_path / f"{name}{suffix}").read_bytes()
            assert written == (EXAMPLES / "on_chip" / f"{name}{suffix}").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sr", pytest.param("dsr0", marks=pytest.mark.thorough)])
def test_four_rows_on_one_chip(name):
    # The smaller network is mapped as users map it; every other way to map than these saves cores and takes longer.
    options = None if name == "sr" else MappingOptions(partitioner="blocks", packing=False, placer="hilbert")
    executions = ("windowed", "pipelined")
    report = nm.latency_report(network(name), executions=executions, options=options, n_frames=8)
    assert [(row.pattern, row.execution) for row in report.rows] == [
        (pattern, execution) for pattern in ("streaming", "sequential") for execution in executions
    ]
    for row in report.rows:
        assert row.verified, row.message
        assert row.core_bound.total <= row.usage.cores <= report.chip.n_cores
        assert row.measured.first_response_ticks == row.predicted.first_response_ticks
        assert row.measured.full_response_ticks == row.predicted.full_response_ticks
    rows = {(row.pattern, row.execution): row for row in report.rows}
    streaming, sequential = rows["streaming", "windowed"], rows["sequential", "windowed"]
    assert streaming.frame_period_ticks == 1
    assert rows["sequential", "pipelined"].frame_period_ticks == 1
    assert sequential.frame_period_ticks == sequential.inference_factor > 1


def test_deeper_networks_respond_later_in_sequence_and_no_later_streaming():
    rollouts = [[nm.Rollout(network(f"dsr{n}"), pattern) for n in range(7)] for pattern in ("streaming", "sequential")]
    streaming, sequential = ([r.first_response("O") for r in row] for row in rollouts)
    assert set(streaming) == {4}
    assert sequential == [4, 5, 6, 7, 8, 9, 10]
