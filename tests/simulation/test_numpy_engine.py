"""The engine against a plain-Python chip, and what must hold for every program."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import ProgramError, StimulusError
from neuromap.simulation.numpy_engine import NumpyEngine, run_events


class PlainChip:
    """One neuron, one axon, one event at a time; due spikes are a set of (tick, core, axon)."""

    def __init__(self, program):
        self.program = program
        self.rules = program.chip.rules
        self.bits = program.chip.potential_bits
        n_cores, n_axons = program.axon_types.shape
        self.n_neurons = program.neurons.leak.shape[1]
        self.v = [[int(v) for v in row] for row in program.neurons.potential]
        self.due = set()
        self.tick = 0
        self.synapses = [
            [
                [n for n in range(self.n_neurons) if program.crossbar[c, a, n // 8] >> (n % 8) & 1]
                for a in range(n_axons)
            ]
            for c in range(n_cores)
        ]

    def fit(self, v):
        low, high = -(2 ** (self.bits - 1)), 2 ** (self.bits - 1) - 1
        if self.rules.overflow == "wrap":
            return (v - low) % 2**self.bits + low
        return min(max(v, low), high)

    def step(self, events):
        p, k = self.program, self.program.neurons
        self.due |= {(self.tick, c, a) for c, a in events}
        now = sorted((c, a) for t, c, a in self.due if t == self.tick)
        self.due = {event for event in self.due if event[0] > self.tick}
        for c, a in now:
            for n in self.synapses[c][a]:
                self.v[c][n] = self.fit(self.v[c][n] + int(k.weights[c, n, p.axon_types[c, a]]))
        fired = []
        for c, n in itertools.product(range(len(self.v)), range(self.n_neurons)):
            v, reset = self.v[c][n], int(k.reset[c, n])
            alpha, beta, gamma = int(k.threshold[c, n]), int(k.negative_threshold[c, n]), k.reset_mode[c, n]
            direction = (v > 0) - (v < 0) if k.leak_reversal[c, n] else 1
            v = self.fit(v + direction * int(k.leak[c, n]))
            if v >= alpha:
                fired.append((c, n))
                v = (reset, v - alpha, v)[gamma]
            elif v < -beta or (self.rules.negative_comparison == "<=" and v == -beta):
                v = -beta if k.saturate_negative[c, n] else (-reset, v + beta, v)[gamma]
            self.v[c][n] = self.fit(v)
        for c, n in fired:
            if p.target_core[c, n] >= 0:
                self.due.add((self.tick + int(p.delay[c, n]), int(p.target_core[c, n]), int(p.target_axon[c, n])))
        self.tick += 1
        return fired


def host_events(rng, program, density):
    n_cores, n_axons = program.axon_types.shape
    return [divmod(int(place), n_axons) for place in np.flatnonzero(rng.random(n_cores * n_axons) < density)]


@given(
    seed=st.integers(0, 2**32 - 1),
    n_cores=st.integers(1, 4),
    bits=st.sampled_from([5, 6, 9, 20]),
    overflow=st.sampled_from(["saturate", "wrap"]),
    comparison=st.sampled_from(["<", "<="]),
    number_format=st.sampled_from(["sign_magnitude", "twos_complement"]),
    delay=st.sampled_from([(1, 1), (1, 3), (2, 15)]),
    size=st.sampled_from([(10, 12), (3, 17), (8, 8), (1, 1)]),
    scale=st.sampled_from([4, 20, 255]),
    signed=st.booleans(),
)
@settings(deadline=None, max_examples=120)
def test_engine_equals_a_plain_python_chip(
    make_chip, random_program, seed, n_cores, bits, overflow, comparison, number_format, delay, size, scale, signed
):
    chip = make_chip(
        axons=size[0], neurons=size[1], potential_bits=bits, delay=delay, overflow=overflow,
        negative_comparison=comparison, number_format=number_format, signed_threshold=signed,
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    program = random_program(rng, chip, n_cores, scale=scale)
    engine, plain = NumpyEngine(program), PlainChip(program)
    for tick in range(20):
        events = host_events(rng, program, 0.3 if tick < 8 else 0)  # then the chip is left alone
        fired = plain.step(events)
        cores, neurons = engine.step(*zip(*events, strict=True)) if events else engine.step()
        assert list(zip(cores.tolist(), neurons.tolist(), strict=True)) == fired
        assert engine.potentials.tolist() == plain.v
        assert list(map(tuple, engine.pending.tolist())) == sorted(plain.due)


@given(seed=st.integers(0, 2**32 - 1), n_cores=st.integers(2, 6))
@settings(deadline=None, max_examples=25)
def test_the_order_of_cores_never_matters(make_chip, random_program, seed, n_cores):
    rng = np.random.default_rng(seed)
    program = random_program(rng, make_chip(potential_bits=8), n_cores)
    order = rng.permutation(n_cores)  # new core i was core order[i]
    new = np.argsort(order)
    rows = {
        name: getattr(program, name)[order]
        for name in ("coordinates", "axon_types", "crossbar", "target_axon", "delay", "neuron_node", "neuron_index")
    }
    neurons = dataclasses.replace(program.neurons, **{k: v[order] for k, v in vars(program.neurons).items()})
    target = program.target_core[order]
    target = np.where(target >= 0, new[target], -1).astype(np.int32)
    permuted = dataclasses.replace(program, neurons=neurons, target_core=target, **rows)
    one, other = NumpyEngine(program), NumpyEngine(permuted)
    for _ in range(15):
        cores, axons = np.nonzero(rng.random(program.axon_types.shape) < 0.2)
        fired = set(zip(*(x.tolist() for x in one.step(cores, axons)), strict=True))
        shuffled = rng.permutation(len(cores))
        c, n = other.step(new[cores[shuffled]], axons[shuffled])
        assert set(zip(order[c].tolist(), n.tolist(), strict=True)) == fired
        assert (other.potentials == one.potentials[order]).all()


@given(seed=st.integers(0, 2**32 - 1), overflow=st.sampled_from(["saturate", "wrap"]))
@settings(deadline=None, max_examples=20)
def test_raw_events_give_what_single_steps_give(make_chip, random_program, seed, overflow):
    rng = np.random.default_rng(seed)
    program = random_program(rng, make_chip(overflow=overflow, potential_bits=8), 3)
    events = rng.integers(0, [12, 3, 10], size=(40, 3))  # unsorted, with repetitions
    engine = NumpyEngine(program)
    expected = []
    for tick in range(12):
        now = events[events[:, 0] == tick]
        expected += [
            (tick, c, n) for c, n in zip(*(x.tolist() for x in engine.step(now[:, 1], now[:, 2])), strict=True)
        ]
    found = run_events(program, *events.T, 12)
    assert list(zip(*(x.tolist() for x in found), strict=True)) == expected


@pytest.mark.parametrize("delay", [1, 2, 15])
def test_a_spike_of_tick_t_reaches_its_axon_in_tick_t_plus_delay(make_chip, make_program, delay):
    # Core 0 neuron 0 relays axon 0 to core 1, whose neuron 0 fires as soon as its axon 3 is due.
    synapses = np.zeros((2, 4, 1))
    synapses[0, 0, 0] = synapses[1, 3, 0] = 1
    program = make_program(make_chip(), synapses, targets=[(0, 0, 1, 3, delay)])
    ticks, cores, _ = run_events(program, [2, 5], [0, 0], [0, 0], 30)
    assert list(zip(ticks.tolist(), cores.tolist(), strict=True)) == sorted(
        [(2, 0), (2 + delay, 1), (5, 0), (5 + delay, 1)]
    )


def test_two_spikes_on_one_axon_in_one_tick_are_one(make_chip, make_program):
    # Neurons 0 and 1 feed axon 2 with delays 3 and 1; neuron 2 counts what arrives there and never fires.
    synapses = np.zeros((1, 3, 3))
    synapses[0, 0, 0] = synapses[0, 1, 1] = synapses[0, 2, 2] = 1
    program = make_program(make_chip(), synapses, threshold=[[1, 1, 100]], targets=[(0, 0, 0, 2, 3), (0, 1, 0, 2, 1)])
    together, apart = NumpyEngine(program), NumpyEngine(program)
    for tick in range(6):
        together.step([0] * (tick in (0, 2)), [0 if tick == 0 else 1] * (tick in (0, 2)))
        apart.step([0] * (tick in (0, 3)), [0 if tick == 0 else 1] * (tick in (0, 3)))
    assert together.potentials[0, 2] == 1
    assert apart.potentials[0, 2] == 2
    twice = NumpyEngine(program)
    twice.step([0, 0], [2, 2])
    assert twice.potentials[0, 2] == 1


def test_a_core_at_rest_wakes_up_for_an_event(make_chip, make_program):
    synapses = np.ones((2, 1, 1))
    program = make_program(make_chip(), synapses, leak=-1, threshold=0, weights=1)
    fired = run_events(program, [50, 51, 90], [0, 0, 1], [0, 0, 0], 100)
    assert [x.tolist() for x in fired] == [[50, 51, 90], [0, 0, 1], [0, 0, 0]]


def test_a_neuron_that_fires_by_itself_never_rests(make_chip, make_program):
    # Fires in every tick although its potential after each tick is the same.
    program = make_program(make_chip(), np.zeros((1, 1, 1)), leak=1)
    assert run_events(program, [], [], [], 7)[0].tolist() == list(range(7))


def test_all_synapses_of_many_full_cores_are_counted(make_chip, make_program):
    # 256 events of one type overflow a byte; 300 cores of 256 rows are more than are unpacked at once.
    chip = make_chip(cores=(64, 64), axons=256, neurons=4)
    program = make_program(chip, np.ones((300, 256, 4)), weights=[1, 0, 0, 0], threshold=1000)
    engine = NumpyEngine(program)
    cores, axons = np.nonzero(np.ones((300, 256)))
    engine.step(cores, axons)
    assert (engine.potentials == 256).all()


@pytest.mark.parametrize("weight", [3, -3])
def test_potentials_stay_at_the_rails_event_by_event(make_chip, make_program, weight):
    # 5 bits: -16..15. Types alternate +w -w -w ... ; the running value is clipped, not the sum.
    chip = make_chip(potential_bits=5)
    program = make_program(
        chip, np.ones((1, 10, 1)), axon_types=[[0] * 7 + [1] * 3], weights=[weight, -weight, 0, 0],
        threshold=1000, negative_threshold=1000,
    )  # fmt: skip
    engine = NumpyEngine(program)
    engine.step([0] * 10, range(10))
    assert engine.potentials[0, 0] == (15 - 9 if weight > 0 else -16 + 9)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_rails_are_met_exactly(make_chip, make_program, sign):
    # Every potential of 5 bits, 1 to 10 equal events; the leak shows whether step 1 was fitted before step 2.
    start = np.arange(-16, 16)
    program = make_program(
        make_chip(potential_bits=5), np.ones((1, 10, 32)), weights=sign, leak=-sign, threshold=1000,
        negative_threshold=1000, potential=start,
    )  # fmt: skip
    for n in range(1, 11):
        engine = NumpyEngine(program)
        engine.step([0] * n, range(n))
        assert (engine.potentials[0] == np.clip(np.clip(start + sign * n, -16, 15) - sign, -16, 15)).all()


def test_the_program_is_not_changed(make_chip, random_program):
    program = random_program(np.random.default_rng(0), make_chip(), 2)
    before = program.neurons.potential.copy()
    engine = NumpyEngine(program)
    engine.step([0, 1], [0, 0])
    engine.potentials[:] = 99
    assert (program.neurons.potential == before).all()
    assert (engine.potentials != 99).any()


@pytest.mark.parametrize(
    ("events", "found"),
    [
        (([5], [0], [0]), "tick 5; allowed is 0 to 4"),
        (([-1], [0], [0]), "tick -1"),
        (([0], [2], [0]), "core 2; allowed is 0 to 1"),
        (([0, 0], [0, 0], [0, -3]), "event 1 is at axon -3; allowed is 0 to 9"),
        (([0, 1], [0], [0]), "2 ticks, 1 cores, 1 axons"),
    ],
)
def test_events_outside_the_run_are_refused(make_chip, random_program, events, found):
    program = random_program(np.random.default_rng(0), make_chip(), 2)
    with pytest.raises(StimulusError, match=found):
        run_events(program, *events, 5)


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ((2, 0, 1), "core 1, neuron 7: target core is 2; needs a core 0 to 1"),
        ((0, 10, 1), "target axon is 10; needs an axon 0 to 9"),
        ((0, -1, 1), "target axon is -1"),
        ((0, 0, 0), "core 1, neuron 7: delay is 0; needs 1 to 15 ticks"),
    ],
)
def test_targets_outside_the_program_are_refused(make_chip, make_program, target, found):
    program = make_program(make_chip(), np.zeros((2, 10, 12)), targets=[(1, 7, *target)])
    with pytest.raises(ProgramError, match=found):
        NumpyEngine(program)
