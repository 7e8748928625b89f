"""Small chips and hand-written programs."""

from dataclasses import replace

import numpy as np
import pytest

from neuromap.cores.crossbar.program import NeuronTable, Program
from neuromap.hardware.chip.chip_spec import ChipSpec, NeuronRules
from neuromap.hardware.program.ports import BIAS, HostTable, NodePort, OutputTable

TINY = ChipSpec(
    name="tiny",
    cores=(8, 8),
    chips=(1, 1),
    axons=10,
    neurons=12,
    axon_types=4,
    weight_bits=9,
    leak_bits=9,
    threshold_bits=18,
    potential_bits=20,
)
STOCHASTIC = {"stochastic_leak": bool, "noise_bits": np.uint8}


@pytest.fixture(scope="session")
def make_chip():
    """A tiny chip with some figures replaced; the rules of the neuron go by their own names."""

    def make(**changes):
        rules = {name: changes.pop(name) for name in list(changes) if hasattr(NeuronRules(), name)}
        return replace(TINY, rules=NeuronRules(**rules), **changes)

    return make


@pytest.fixture(scope="session")
def make_program():
    """A program of C cores from what differs from: no synapses, weights +1 +2 +3 ..., thresholds 1 and 0, reset to 0.

    ``synapses`` is Boolean (C, A, N); the chip's cores get A axons and N neurons. ``targets`` is a list of (core,
    neuron, target core, axon, delay). ``nodes`` is a list of (name, size, kind, sample tick). ``host`` is a list of
    (node, index, core, axon, arrival, first frame). ``outputs`` is a list of (node, index, core, neuron). All others
    are neuron parameters that broadcast to (C, N), stochastic modes too.
    """

    def make(
        chip, synapses, *, axon_types=0, weights=None, targets=(), nodes=(), host=(), outputs=(), period=1, **given
    ):
        synapses = np.asarray(synapses, dtype=bool)
        n_cores, n_axons, n_neurons = synapses.shape
        chip = replace(chip, axons=n_axons, neurons=n_neurons)
        if weights is None:
            weights = np.arange(1, chip.axon_types + 1)

        def table(name, dtype, default=0):
            return np.broadcast_to(given.get(name, default), (n_cores, n_neurons)).astype(dtype)

        stochastic = {name: table(name, dtype) for name, dtype in STOCHASTIC.items() if name in given}
        if "stochastic_weight" in given:
            modes = np.broadcast_to(given["stochastic_weight"], (n_cores, n_neurons, chip.axon_types))
            stochastic["stochastic_weight"] = modes.astype(bool)
        neurons = NeuronTable(
            weights=np.broadcast_to(weights, (n_cores, n_neurons, chip.axon_types)).astype(np.int16),
            leak=table("leak", np.int16),
            leak_reversal=table("leak_reversal", bool),
            threshold=table("threshold", np.int32, 1),
            negative_threshold=table("negative_threshold", np.int32),
            reset=table("reset", np.int32),
            reset_mode=table("reset_mode", np.uint8),
            saturate_negative=table("saturate_negative", bool),
            potential=table("potential", np.int32),
            **stochastic,
        )
        target_core = np.full((n_cores, n_neurons), -1, dtype=np.int32)
        target_axon = np.zeros((n_cores, n_neurons), dtype=np.int32)
        delay = np.zeros((n_cores, n_neurons), dtype=np.uint8)
        for core, neuron, *target in targets:
            target_core[core, neuron], target_axon[core, neuron], delay[core, neuron] = target
        h = np.array(host, dtype=np.int64).reshape(-1, 6).T
        o = np.array(outputs, dtype=np.int32).reshape(-1, 4).T
        coordinates = [(c % chip.columns, c // chip.columns) for c in range(n_cores)]
        return Program(
            name="by hand",
            chip=chip,
            coordinates=np.array(coordinates, dtype=np.int32).reshape(-1, 2),
            axon_types=np.broadcast_to(axon_types, (n_cores, n_axons)).astype(np.uint8),
            crossbar=np.packbits(synapses, axis=2, bitorder="little"),
            neurons=neurons,
            target_core=target_core,
            target_axon=target_axon,
            delay=delay,
            neuron_node=np.full((n_cores, n_neurons), -1, dtype=np.int32),
            neuron_index=np.zeros((n_cores, n_neurons), dtype=np.int32),
            is_relay=np.zeros((n_cores, n_neurons), dtype=bool),
            nodes=tuple(NodePort(*node) for node in nodes),
            period=period,
            ticks_per_step=1,
            host=HostTable(*h[:4].astype(np.int32), h[4], h[5].astype(np.int8)),
            outputs=OutputTable(*o),
        )

    return make


@pytest.fixture(scope="session")
def random_program(make_program):
    """A program with random synapses, neurons, targets and delays, for a chip; parameters fill the chip's widths.

    ``scale`` shrinks weights, leaks, thresholds and resets, so that neurons neither sit at the rails nor stay silent.
    """

    def make(rng, chip, n_cores, *, density=0.4, scale=20, one_source=False):
        n_axons, n_neurons = chip.axons, chip.neurons
        shape = (n_cores, n_neurons)
        places = (
            rng.permutation(n_cores * n_axons)
            if one_source
            else rng.integers(n_cores * n_axons, size=n_cores * n_neurons)
        )
        sources = [(c, n) for c in range(n_cores) for n in range(n_neurons) if rng.random() < 0.9]
        rng.shuffle(sources)
        least, most = chip.delay
        targets = [
            (*source, place // n_axons, place % n_axons, rng.integers(least, most + 1))
            for source, place in zip(sources, places, strict=False)
        ]

        def draw(low, high, size=shape):
            return rng.integers(max(low, -scale), min(high, scale) + 1, size)

        return make_program(
            chip,
            rng.random((n_cores, n_axons, n_neurons)) < density,
            axon_types=rng.integers(chip.axon_types, size=(n_cores, n_axons)),
            weights=draw(*chip.weight_range, (*shape, chip.axon_types)),
            leak=draw(*chip.leak_range),
            leak_reversal=rng.random(shape) < 0.5,
            threshold=draw(*chip.threshold_range),
            negative_threshold=draw(0, chip.threshold_range[1]),
            reset=draw(*chip.potential_range),
            reset_mode=rng.integers(3, size=shape),
            saturate_negative=rng.random(shape) < 0.5,
            potential=draw(*chip.potential_range),
            targets=targets,
        )

    return make


@pytest.fixture(scope="session")
def mixer(make_chip, make_program):
    """Two cores of a random program with memory between ticks; two inputs, two outputs, a hidden node with copies."""

    def make(seed, period):
        rng = np.random.default_rng(seed)
        synapses = rng.random((2, 8, 8)) < 0.4
        targets = [(0, n, 1, int(rng.integers(3, 8)), int(rng.integers(1, 4))) for n in range(3, 6)]
        program = make_program(
            make_chip(), synapses,
            axon_types=rng.integers(4, size=(2, 8)), weights=rng.integers(-2, 3, (2, 8, 4)),
            leak=rng.integers(-1, 2, (2, 8)), threshold=rng.integers(1, 4, (2, 8)),
            negative_threshold=3, reset_mode=1, saturate_negative=True,
            targets=targets,
            nodes=[
                ("I", 3, "input", 0), ("H", 2, "hidden", 1), ("J", 2, "input", 0),
                ("O", 3, "output", int(rng.integers(-period, 4))), ("P", 2, "output", 2),
            ],
            host=[
                *((0, k, 0, k, int(rng.integers(0, 3)), 0) for k in range(3)),
                *((2, k, 1, k, -period + int(rng.integers(0, 3 * period)), 1) for k in range(2)),
                (BIAS, 0, 0, 3, 0, 1),
            ],
            outputs=[(3, 0, 0, 0), (3, 2, 1, 1), (4, 0, 1, 0), (4, 1, 0, 1)],
            period=period,
        )  # fmt: skip
        label, index = program.neuron_node.copy(), program.neuron_index.copy()
        label[0, 3:6], index[0, 3:6] = 1, [0, 1, 1]  # H[1] has a copy
        return replace(program, neuron_node=label, neuron_index=index)

    return make


@pytest.fixture(scope="session")
def assert_same_trace():
    def check(found, expected):
        for name in ("tick", "node", "index", "core", "neuron", "value", "counts"):
            assert np.array_equal(getattr(found, name), getattr(expected, name)), name
        tables = [None if (table := trace.potential_table) is None else table.values for trace in (found, expected)]
        assert np.array_equal(*tables)
        assert (found.n_ticks, found.n_frames) == (expected.n_ticks, expected.n_frames)

    return check
