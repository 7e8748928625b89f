"""What SANA-FE is given is the program: its cells, run by a little NumPy, fire like the chip; hops are links walked."""

import importlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.network import build_network

ROOT = Path(__file__).resolve().parents[2]
SHARED_FIXTURES = settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def modules(monkeypatch):
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip("benchmarks/ is not here: it is no part of the wheel")
    monkeypatch.syspath_prepend(str(ROOT))
    return [importlib.import_module(f"benchmarks.{name}") for name in ("peers.program_network", "sanafe.oracle")]


@st.composite
def runs(draw):
    """A network with a skip edge and a loop, thresholds of either sign, any execution; its program and frames."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    length = draw(st.sampled_from([1, 2, 4, 18]))  # the longest takes relays
    names = [f"H{k}" for k in range(length)]
    pairs = {*zip(["I", *names], [*names, "O"], strict=True), (names[0], "O"), (names[0], names[0])}
    size = draw(st.integers(1, 6))
    nodes = {"I": (size, None)} | {name: (size, rng.integers(-2, 4, size)) for name in [*names, "O"]}
    edges = {pair: rng.integers(-2, 3, (size, size)) for pair in sorted(pairs)}
    net = build_network(nodes, edges)
    pattern = draw(st.sampled_from(["streaming", "sequential"]))
    program = nm.map_rollout(nm.Rollout(net, pattern, execution=draw(st.sampled_from(["windowed", "pipelined"]))))
    return program, {"I": rng.random((draw(st.integers(2, 8)), size)) < 0.5}


def run_cells(network):
    """SANA-FE's order of things, in NumPy: leak and events, compare, reset; spikes as (tick, neuron)."""
    n_neurons, n_buffers = len(network.core), len(network.buffer_core)
    n_cells = n_neurons + n_buffers + len(network.generator_core)
    potential = np.zeros(n_neurons, np.int64)
    spiking = np.zeros(n_cells, bool)
    found = []
    for tick in range(network.n_ticks):
        spiking[n_neurons + n_buffers :] = False
        spiking[n_neurons + n_buffers + network.fed_generator[network.fed_tick == tick]] = True
        active = spiking[network.pre]
        heard = np.bincount(network.post[active], network.weight[active], n_cells).astype(np.int64)
        potential += network.leak + heard[:n_neurons]
        fires = potential >= network.threshold
        low = ~fires & (potential <= network.lower)
        after = np.choose(network.reset, [network.reset_to, potential - network.threshold, potential])
        potential = np.where(
            fires, after, np.where(low & (network.lower_reset == 0), network.lower_reset_to, potential)
        )
        spiking = np.concatenate([fires, heard[n_neurons : n_neurons + n_buffers] >= 1, np.zeros(n_cells, bool)])[
            :n_cells
        ]
        found += [(tick, neuron) for neuron in np.flatnonzero(fires).tolist()]
    return found


@SHARED_FIXTURES
@given(run=runs())
def test_the_cells_fire_like_the_chip(modules, run):
    cells, oracle = modules
    program, frames = run
    trace = nm.simulate(program, frames, engine="numpy", record=nm.Recording(spikes="all"))
    network = cells.translate(program, frames, trace.n_ticks)
    ours = oracle.expected(program, network, trace)
    assert ours.spikes.tolist() == [list(spike) for spike in run_cells(network)]


@SHARED_FIXTURES
@given(run=runs(), seed=st.integers(0, 2**32 - 1))
def test_hops_are_the_links_on_the_way(modules, run, seed):
    cells, oracle = modules
    program, frames = run
    width, height = program.chip.cores
    spots = np.random.default_rng(seed).permutation(width * height)[: program.n_cores]
    program = replace(program, coordinates=np.stack([spots // height, spots % height], axis=1).astype(np.int32))
    trace = nm.simulate(program, frames, record=nm.Recording(spikes="all"))
    ours = oracle.expected(program, cells.translate(program, frames, trace.n_ticks), trace)

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


@pytest.fixture
def small():
    net = build_network(
        {"I": (3, None), "H": (3, 1), "O": (2, 2)}, {("I", "H"): np.eye(3, dtype=int), ("H", "O"): np.ones((2, 3), int)}
    )
    return nm.map_rollout(nm.Rollout(net, "streaming")), {"I": np.ones((4, 3), bool)}


@pytest.mark.parametrize("part", ["spikes", "messages", "tick_hops"])
def test_one_thing_off_is_a_difference(modules, small, part):
    cells, oracle = modules
    program, frames = small
    trace = nm.simulate(program, frames, record=nm.Recording(spikes="all"))
    ours = oracle.expected(program, cells.translate(program, frames, trace.n_ticks), trace)
    assert oracle.compare(ours, ours) == ""
    shifted = getattr(ours, part).copy()
    shifted[-1] += 1
    for theirs in (replace(ours, **{part: shifted}), replace(ours, **{part: getattr(ours, part)[:-1]})):
        said = oracle.compare(ours, theirs)
        assert said.startswith({"spikes": "spikes", "messages": "messages", "tick_hops": "hops"}[part])
        assert "ours alone 1, first" in said
    twice = replace(ours, spikes=np.repeat(ours.spikes, 2, axis=0))
    assert "some twice" in oracle.compare(ours, twice)


def changed(program, name):
    """Make one property of a program one that SANA-FE has not."""
    neurons = program.neurons
    if name == "two sources":
        core, neuron = (index[:2] for index in np.nonzero(program.target_core >= 0))
        axon = program.target_axon.copy()
        axon[core[1], neuron[1]] = axon[core[0], neuron[0]]
        return replace(program, target_axon=axon)
    if name == "no synapse":
        return replace(program, crossbar=np.zeros_like(program.crossbar))
    changes = {
        "stochastic": {"noise_bits": np.ones_like(neurons.reset_mode)},
        "leak reversal": {"leak_reversal": np.ones_like(neurons.leak_reversal)},
        "before the first tick": {"potential": np.ones_like(neurons.potential)},
        "linear reset": {"reset_mode": np.ones_like(neurons.reset_mode)},
        "stay at 0": {"leak": np.ones_like(neurons.leak)},
    }
    return replace(program, neurons=replace(neurons, **changes[name]))


@pytest.mark.parametrize(
    "name",
    ["two sources", "no synapse", "stochastic", "leak reversal", "before the first tick", "linear reset", "stay at 0"],
)
def test_what_sanafe_has_not_is_refused(modules, small, name):
    cells, _ = modules
    program, frames = small
    with pytest.raises(cells.Unsuitable, match=name):
        cells.translate(changed(program, name), frames, 4)


def test_the_file_holds_all_of_it(modules, small, tmp_path):
    cells, _ = modules
    network = cells.translate(*small, 4)
    network.save(tmp_path / "network.npz")
    again = cells.ProgramNetwork.load(tmp_path / "network.npz")
    assert vars(again).keys() == vars(network).keys()
    assert all(np.array_equal(value, vars(again)[name]) for name, value in vars(network).items())


def test_without_sanafe_there_is_one_line_and_exit_code_2(modules, tmp_path, capsys):
    _, oracle = modules
    assert oracle.main(["--home", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert "benchmarks/peers/install.sh sanafe" in error
    assert error.count("\n") == 1
