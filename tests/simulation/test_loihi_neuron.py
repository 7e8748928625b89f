"""Loihi's neuron against what others say it is: emulators' equations and tests, and a trace from the chip itself.

The emulators' steps are written out here as their sources have them, bar learning and noise: Lava's bit-accurate LIF
(``lava/proc/lif/models.py``, lava-nc 0.11 in development), nengo-loihi's (``nengo_loihi/emulator/interface.py``, 1.1)
and Brian2Loihi's (``loihi_neuron_group.py``, 0.5). What the silicon differs in from Lava, lava-nc/lava#322, was not
published in numbers; the trace from the chip is.
"""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron
from neuromap.network.transforms import Dense
from neuromap.network.weights import StoredWeights
from neuromap.simulation.engine.engine import make_engine
from neuromap.simulation.engine.engine_choice import ENGINES, EngineChoice
from neuromap.simulation.reference_frames import start, step

TRACE = Path(__file__).with_name("nir_loihi_lif.txt")
N, N_TICKS = 400, 60
U, Q = 2**23, 2**21


def decayed(values, kept):
    return np.sign(values) * (np.abs(values) * kept >> 12)


def two_complement(values, bits):
    return (values + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


class Lava:
    """``du`` counts from 1, by ds_offset; a current wraps once, and only what is beyond +-2^23; no rest."""

    def __init__(self, k):
        self.k, self.edge = k, np.zeros(N, bool)
        self.u, self.v = np.zeros((2, N), np.int64)

    def step(self, activation):
        k = self.k
        u = decayed(self.u, 4096 - (k["current_decay"] - 1 + 1)) + activation
        self.edge |= np.abs(u) == U  # 25 bits: Lava keeps +2^23, and turns -2^23 into it
        self.u = np.where(u > U, u - 2 * U, np.where(u <= -U, u + 2 * U, u))
        self.v = np.clip(decayed(self.v, 4096 - k["voltage_decay"]) + self.u + k["bias"], 1 - U, U - 1)
        spikes = self.v > k["threshold"]
        self.v = np.where(spikes, 0, self.v)
        return spikes


class NengoLoihi:
    """Input of 22 bits, current and current + bias of 24; voltages from vmin on; a rest of ``ref`` counts the spike."""

    edge = np.zeros(N, bool)

    def __init__(self, k):
        self.k, self.ref_count = k, np.zeros(N, np.int64)
        self.u, self.v = np.zeros((2, N), np.int64)

    def step(self, activation):
        k, ref = self.k, self.k["refractory"] + 1
        q = two_complement(activation, 22)
        self.u = two_complement(decayed(self.u, 4096 - 1 - (k["current_decay"] - 1)) + q, 24)
        u2 = two_complement(self.u + k["bias"], 24)
        self.v = np.clip(decayed(self.v, 4096 - k["voltage_decay"]) + u2, -k["floor"], U - 1)
        self.v = np.where(self.ref_count > 0, 0, self.v)
        spikes = self.v > k["threshold"]
        self.v = np.where(spikes, 0, self.v)
        self.ref_count = np.maximum(np.where(spikes, ref, self.ref_count) - 1, 0)
        return spikes


class Brian2Loihi:
    """Forward Euler with decays rounded away from zero; no widths; a refractory time of 1 is none."""

    edge = np.zeros(N, bool)

    def __init__(self, k):
        self.k, self.since = k, np.full(N, 10**6)
        self.current, self.v = np.zeros((2, N))

    def step(self, activation):
        k = self.k
        current = self.current + activation  # synapses come before groups
        lost = [np.sign(x) * np.ceil(np.abs(x * k[decay] / 4096)) for x, decay in
                ((self.v, "voltage_decay"), (current, "current_decay"))]  # fmt: skip
        self.since = self.since + 1
        awake = self.since >= k["refractory"] + 1
        self.v = np.where(awake, self.v - lost[0] + current, self.v)
        self.u, self.current = current, current - lost[1]
        spikes = awake & (self.v > k["threshold"])
        self.v = np.where(spikes, 0, self.v)
        self.since = np.where(spikes, 0, self.since)
        return spikes


def parameters(rng, scale):
    """Values of N neurons: decays of nothing, part and nearly all, biases and thresholds as the chip has them."""
    bias = rng.integers(-4096, 4096, N) << rng.integers(0, 8, N)
    return {
        "current_decay": rng.choice([1, 2, 163, 2048, 4095, 4096], N),
        "voltage_decay": rng.choice([0, 1, 163, 2048, 4095], N),
        "threshold": (rng.integers(0, 2**17, N) >> rng.integers(0, 17, N)) * 64,
        "bias": np.where(rng.random(N) < 0.5, bias >> scale, 0),
        "refractory": rng.integers(0, 64, N) * (rng.random(N) < 0.5),
        "floor": 2 ** rng.integers(0, 24, N) - 1,
    }


WIDE = {"accumulator_bits": 22, "sum_wraps": 1}
# what each has of the neuron's values, the options that make ours the same, and the greatest input of a tick
EMULATORS = {
    "Lava": (Lava, ("bias",), {}, Q),
    "nengo-loihi": (NengoLoihi, ("bias", "refractory", "floor"), WIDE, 2 * Q),
    "nengo-loihi within its widths": (NengoLoihi, ("refractory", "floor"), {}, 2**13),
    "Brian2Loihi within the widths": (Brian2Loihi, ("refractory",), {}, 2**13),
}


@pytest.mark.parametrize("name", EMULATORS)
@given(seed=st.integers(0, 2**32 - 1), scale=st.integers(0, 12))
@settings(deadline=None, max_examples=12)
def test_neurons_step_as_those_of_emulators(name, seed, scale):
    emulator, values, options, most = EMULATORS[name]
    rng = np.random.default_rng(seed)
    k = parameters(rng, scale)
    k |= {key: np.zeros(N, np.int64) for key in ("bias", "refractory") if key not in values}
    common = {key: k[key] for key in ("threshold", "current_decay", "voltage_decay", *values)}
    neuron = CurrentNeuron(**common, **options).spread(N)
    other, state = emulator(k), start(neuron)
    for _ in range(N_TICKS):
        activation = rng.integers(-most, most, N) // 64 >> scale // 2 << 6
        activation *= rng.random(N) < 0.4
        state, spikes = step(neuron, state, activation[None])
        expected = other.step(activation)
        same = ~other.edge
        assert np.array_equal(spikes[same], expected[same])
        assert np.array_equal(state.current[0][same], other.u[same])
        assert np.array_equal(state.potential[same], other.v[same])
    assert same.mean() > 0.99


@pytest.mark.parametrize(("current", "bias", "activation"), [(0, 0, Q), (U - 1, 4095 << 7, 0)])
def test_the_options_are_where_emulators_differ(current, bias, activation):
    """Lava adds an input of 2^21, and a sum beyond 24 bits, as they are; nengo-loihi wraps both."""
    k = {"current_decay": 1, "voltage_decay": 0, "threshold": 64, "refractory": 0, "floor": U - 1, "bias": bias}
    for emulator, options, spikes in ((Lava, {}, True), (NengoLoihi, WIDE, False)):
        other = emulator(k)
        other.u = np.full(N, current)
        assert other.step(activation).all() == spikes
        neuron = CurrentNeuron(64, current_decay=1, voltage_decay=0, bias=bias, current=current, **options).spread(1)
        assert step(neuron, start(neuron), np.array([[activation]]))[1].all() == spikes


def lava_run(n_ticks, activation=0, **values):
    """Currents, voltages and spikes of one neuron; the activation arrives in the first step, 64-fold as in Lava."""
    neuron = CurrentNeuron(**values).spread(1)
    state, rows = start(neuron), []
    for tick in range(n_ticks):
        state, spikes = step(neuron, state, np.array([[64 * activation * (tick == 0)]]))
        rows.append((int(state.current[0, 0]), int(state.potential[0]), bool(spikes[0])))
    return list(zip(*rows, strict=True))


def test_what_lavas_own_tests_expect():
    """``tests/lava/proc/lif/test_models.py``, TestLIFProcessModelsFixed; du of Lava is ours less 1."""
    spikes = lava_run(10, threshold=8 * 64, current_decay=1, voltage_decay=0, bias=2 << 6)[2]
    assert [tick for tick, spike in enumerate(spikes) if spike] == [4, 9]
    currents = lava_run(8, 128, threshold=256 * 64, current_decay=2048, voltage_decay=0)[0]
    assert list(currents) == [1 << (13 - j) for j in range(8)]
    voltages = lava_run(8, 128, threshold=256 * 64, current_decay=1, voltage_decay=2048)[1]
    assert list(voltages) == [8192, 12286, 14331, 15351, 15859, 16111, 16235, 16295]
    bias = (2**12 - 1) << 5
    assert lava_run(1, threshold=2**17 * 64, current_decay=1, voltage_decay=0, bias=bias)[1] == (bias,)


def trace():
    """Input, spikes and voltages of the trace from the chip, one value per tick."""
    text = "\n".join(line for line in TRACE.read_text().splitlines() if not line.startswith("#"))
    fields = text.replace("\n", " ").split("voltages")
    ticks, voltages = fields[0].replace("input", "").split("spikes"), np.array(fields[1].split(), np.int64)
    given, spikes = (np.isin(np.arange(len(voltages)), np.array(words.split(), np.int64)) for words in ticks)
    return given, spikes, voltages


def test_a_trace_from_the_chip():
    """1,000 of 1,000 spikes and 996 voltages; the chip reads 128, a placeholder, in the tick of a spike."""
    given, spikes, voltages = trace()
    assert (len(voltages), given.sum(), spikes.sum()) == (1000, 34, 4)
    neuron = CurrentNeuron(threshold=25 * 64, voltage_decay=163)
    nodes = {"I": Node("I", (1, 1, 1)), "O": Node("O", (1, 1, 1), neuron=neuron)}
    edge = Edge("I", "O", Dense((1, 1, 1), (1, 1, 1), weights=StoredWeights(np.array([[10 * 64]]))))
    rollout = nm.Rollout(Network("lif", nodes, {("I", "O"): edge}), "streaming")
    frames = {"I": given[:, None]}
    assert np.array_equal(nm.reference(rollout, frames)["O"][:, 0], spikes)
    program = nm.map_rollout(rollout, "loihi1")
    assert nm.verify(rollout, program, frames=frames).verified
    (place,) = np.argwhere(program.neuron_node == 1)
    assert (int(program.host.arrival[0]), program.nodes[1].sample_tick) == (0, -1)  # frame i + 1 is tick i
    for engine in ENGINES:
        chip, found = make_engine(program, EngineChoice(engine, threads=1)), [0]
        for tick in range(999):
            chip.step(program.host.core[: int(given[tick])], program.host.axon[: int(given[tick])])
            found.append(int(chip.potentials[tuple(place)]))
        differs = np.flatnonzero(np.array(found) != voltages)
        assert np.array_equal(differs, np.flatnonzero(spikes))
        assert set(voltages[differs].tolist()) == {128}
