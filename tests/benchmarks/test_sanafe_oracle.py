"""What SANA-FE is held to: hops are links walked, events synapses on axons that are due; one thing off shows."""

import importlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mapped_runs import mapped_runs

import neuromap as nm
from neuromap.network import build_network

ROOT = Path(__file__).resolve().parents[2]
SHARED_FIXTURES = settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def oracle(monkeypatch):
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip("benchmarks/ is not here: it is not part of the wheel")
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.sanafe.oracle")


def numbers_of(program):
    """Neurons in use by core, then row, as the export numbers them."""
    used = program.neuron_node >= 0
    return np.where(used, np.cumsum(used).reshape(used.shape) - 1, -1)


def test_neurons_are_found_by_their_place(oracle, small):
    program, frames = small
    csv = oracle.export_sanafe(program, frames=frames).contents["neurons.csv"]
    assert oracle.neuron_numbers(program, csv).tolist() == numbers_of(program).tolist()


@SHARED_FIXTURES
@given(run=mapped_runs(), seed=st.integers(0, 2**32 - 1))
def test_hops_are_the_links_on_the_way(oracle, run, seed):
    program, frames = run
    width, height = program.chip.cores
    spots = np.random.default_rng(seed).permutation(width * height)[: program.n_cores]
    program = replace(program, coordinates=np.stack([spots // height, spots % height], axis=1).astype(np.int32))
    trace = nm.simulate(program, frames, record=nm.Recording(spikes="all"))
    ours = oracle.expected(program, numbers_of(program), trace, frames, trace.n_ticks)

    links = np.zeros(trace.n_ticks, int)
    for tick, core, neuron in zip(trace.tick, trace.core, trace.neuron, strict=True):
        target = program.target_core[core, neuron]
        if target >= 0:
            here = program.coordinates[core].tolist()
            for axis in (0, 1):
                while here[axis] != program.coordinates[target, axis]:
                    here[axis] += 1 if here[axis] < program.coordinates[target, axis] else -1
                    links[tick] += 1
    assert ours.tick_hops.tolist() == links.tolist()
    assert ours.messages[:, 2].sum() == links.sum()
    # one tick more than the run: what is on its way to an axon in it, but not what the host would bring
    counted = nm.measure_activity(program, frames, n_ticks=trace.n_ticks + 1).counts.synaptic_events
    assert ours.events <= counted
    assert ours.events >= nm.measure_activity(program, frames, n_ticks=trace.n_ticks).counts.synaptic_events


@pytest.fixture
def small():
    net = build_network(
        {"I": (3, None), "H": (3, 1), "O": (2, 2)}, {("I", "H"): np.eye(3, dtype=int), ("H", "O"): np.ones((2, 3), int)}
    )
    return nm.map_rollout(nm.Rollout(net, "streaming")), {"I": np.ones((4, 3), bool)}


@pytest.mark.parametrize("part", ["spikes", "messages", "tick_hops"])
def test_one_thing_off_is_a_difference(oracle, small, part):
    program, frames = small
    trace = nm.simulate(program, frames, record=nm.Recording(spikes="all"))
    ours = oracle.expected(program, numbers_of(program), trace, frames, trace.n_ticks)
    assert oracle.compare(ours, ours) == ""
    shifted = getattr(ours, part).copy()
    shifted[-1] += 1
    for theirs in (replace(ours, **{part: shifted}), replace(ours, **{part: getattr(ours, part)[:-1]})):
        said = oracle.compare(ours, theirs)
        assert said.startswith({"spikes": "spikes", "messages": "messages", "tick_hops": "hops"}[part])
        assert "ours alone 1, first" in said
    twice = replace(ours, spikes=np.repeat(ours.spikes, 2, axis=0))
    assert "some twice" in oracle.compare(ours, twice)
    assert oracle.compare(ours, replace(ours, events=ours.events - 1)).startswith("synaptic events: ")


def test_without_sanafe_there_is_one_line_and_exit_code_2(oracle, tmp_path, capsys):
    assert oracle.main(["--home", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "benchmarks/peers/install.sh sanafe" in error
    assert error.count("\n") == 1
