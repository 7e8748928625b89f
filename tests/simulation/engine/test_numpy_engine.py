"""The engine against a plain-Python chip, and what must hold for every program."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from neuromap.errors import InputError, ProgramError, StimulusError
from neuromap.simulation.engine.engine import HostEvents
from neuromap.simulation.engine.numpy_engine import NumpyEngine
from neuromap.simulation.run.simulate import run_events

pytestmark = pytest.mark.law

LEAK, THRESHOLD = 2**32, 2**32 + 1


def mixed(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def random_byte(seed, tick, place, purpose, neuron):
    stream = mixed(mixed(mixed((seed + 0x9E3779B97F4A7C15) % 2**64) ^ tick) ^ place)
    x = ((mixed(stream ^ purpose) >> 32) + neuron * 0x9E3779B9) % 2**32
    x = (x ^ (x >> 16)) * 0x7FEB352D % 2**32
    x = (x ^ (x >> 15)) * 0x846CA68B % 2**32
    return (x ^ (x >> 16)) >> 24


def chance(s, rho):
    return (abs(s) >= rho) * ((s > 0) - (s < 0))


class PlainChip:
    """One neuron, one axon, one event at a time; due spikes are a set of (tick, core, axon)."""

    def __init__(self, program, seed=0):
        self.program = program
        self.seed = seed
        self.totals = [0, 0, 0]
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

    def rho(self, core, purpose, neuron):
        x, y = self.program.coordinates[core].tolist()
        columns = self.program.chip.cores[0] * self.program.chip.chips[0]
        return random_byte(self.seed, self.tick, x + columns * y, purpose, neuron)

    def event(self, core, axon, neuron):
        at = core, neuron, self.program.axon_types[core, axon]
        s, b = int(self.program.neurons.weights[at]), self.program.neurons.stochastic_weight
        return chance(s, self.rho(core, axon, neuron)) if b is not None and b[at] else s

    def leak(self, core, neuron):
        k = self.program.neurons
        leak, c = int(k.leak[core, neuron]), k.stochastic_leak
        return chance(leak, self.rho(core, LEAK, neuron)) if c is not None and c[core, neuron] else leak

    def eta(self, core, neuron):
        bits = self.program.neurons.noise_bits
        return 0 if bits is None else self.rho(core, THRESHOLD, neuron) % 2 ** int(bits[core, neuron])

    def step(self, events):
        p, k = self.program, self.program.neurons
        self.due |= {(self.tick, c, a) for c, a in events}
        now = sorted((c, a) for t, c, a in self.due if t == self.tick)
        self.due = {event for event in self.due if event[0] > self.tick}
        for c, a in now:
            for n in self.synapses[c][a]:
                self.v[c][n] = self.fit(self.v[c][n] + self.event(c, a, n))
        fired = []
        for c, n in itertools.product(range(len(self.v)), range(self.n_neurons)):
            v, reset = self.v[c][n], int(k.reset[c, n])
            alpha, beta, gamma = int(k.threshold[c, n]), int(k.negative_threshold[c, n]), k.reset_mode[c, n]
            direction = (v > 0) - (v < 0) if k.leak_reversal[c, n] else 1
            v = self.fit(v + direction * self.leak(c, n))
            eta, kappa = self.eta(c, n), k.saturate_negative[c, n]
            bound = -beta if kappa else -(beta + eta)
            if v >= alpha + eta:
                fired.append((c, n))
                v = (reset, v - (alpha + eta), v)[gamma]
            elif v < bound or (self.rules.negative_comparison == "<=" and v == bound):
                v = -beta if kappa else (-reset, v + (beta + eta), v)[gamma]
            self.v[c][n] = self.fit(v)
        for c, n in fired:
            if p.target_core[c, n] >= 0:
                self.due.add((self.tick + int(p.delay[c, n]), int(p.target_core[c, n]), int(p.target_axon[c, n])))
        self.tick += 1
        synapses = sum(len(self.synapses[c][a]) for c, a in now)
        self.totals = [total + n for total, n in zip(self.totals, (len(fired), len(now), synapses), strict=True)]
        return fired


MODES = ("stochastic_weight", "stochastic_leak", "noise_bits")


def noisy(program, **tables):
    """The program with stochastic modes; their values broadcast to the program's shape."""
    shapes = {"stochastic_weight": program.neurons.weights.shape}
    dtypes = {"noise_bits": np.uint8}
    full = {
        name: np.broadcast_to(values, shapes.get(name, program.neurons.leak.shape)).astype(dtypes.get(name, bool))
        for name, values in tables.items()
    }
    chip = dataclasses.replace(program.chip, rules=dataclasses.replace(program.chip.rules, stochastic=True))
    return dataclasses.replace(program, chip=chip, neurons=dataclasses.replace(program.neurons, **full))


def with_noise(rng, program, modes=MODES):
    """The program with some of its synapses, leaks and thresholds made stochastic, on some of its cores."""
    shape = program.neurons.leak.shape
    tables = {
        "stochastic_weight": rng.random((*shape, program.chip.axon_types)) < 0.5,
        "stochastic_leak": rng.random(shape) < 0.5,
        "noise_bits": rng.integers(0, 9, shape),
    }
    for table in tables.values():
        table[rng.random(shape[0]) < 0.3] = 0
    return noisy(program, **{mode: tables[mode] for mode in modes})


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
    modes=st.sets(st.sampled_from(MODES)),
    noise_seed=st.integers(0, 2**64 - 1),
)
@settings(deadline=None, max_examples=200)
def test_engine_equals_a_plain_python_chip(
    make_chip, random_program, seed, n_cores, bits, overflow, comparison, number_format, delay, size, scale, signed,
    modes, noise_seed,
):  # fmt: skip
    chip = make_chip(
        axons=size[0], neurons=size[1], potential_bits=bits, delay=delay, overflow=overflow,
        negative_comparison=comparison, number_format=number_format, signed_threshold=signed,
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    program = with_noise(rng, random_program(rng, chip, n_cores, scale=scale), modes)
    engine, plain = NumpyEngine(program, noise_seed=noise_seed), PlainChip(program, noise_seed)
    for tick in range(20):
        events = host_events(rng, program, 0.3 if tick < 8 else 0)  # then the chip is left alone
        fired = plain.step(events)
        cores, neurons = engine.step(*zip(*events, strict=True)) if events else engine.step()
        assert list(zip(cores.tolist(), neurons.tolist(), strict=True)) == fired
        assert engine.potentials.tolist() == plain.v
        assert list(map(tuple, engine.pending.tolist())) == sorted(plain.due)
        assert list(engine.totals) == plain.totals
    assert engine.potentials_of(np.array([n_cores - 1, 0])).tolist() == [plain.v[-1], plain.v[0]]


@given(seed=st.integers(0, 2**32 - 1), n_cores=st.integers(2, 6), modes=st.sets(st.sampled_from(MODES)))
@settings(deadline=None, max_examples=25)
def test_the_order_of_cores_never_matters(make_chip, random_program, seed, n_cores, modes):
    rng = np.random.default_rng(seed)
    program = with_noise(rng, random_program(rng, make_chip(potential_bits=8), n_cores), modes)
    order = rng.permutation(n_cores)  # new core i was core order[i]
    new = np.argsort(order)
    rows = {
        name: getattr(program, name)[order]
        for name in ("coordinates", "axon_types", "crossbar", "target_axon", "delay", "neuron_node", "neuron_index")
    }
    tables = {k: v[order] for k, v in vars(program.neurons).items() if v is not None}
    neurons = dataclasses.replace(program.neurons, **tables)
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


def random_events(rng, program, n_ticks):
    """Events of a run, some of them twice."""
    n_cores, n_axons = program.axon_types.shape
    counts = rng.integers(0, 2 * n_cores, n_ticks)
    place = rng.integers(n_cores * n_axons, size=counts.sum())
    cores, axons = (part.astype(np.int32) for part in np.divmod(place, n_axons))
    return HostEvents(np.concatenate([[0], np.cumsum(counts)]), cores, axons)


@given(seed=st.integers(0, 2**32 - 1), modes=st.sets(st.sampled_from(MODES)), cut=st.integers(0, 12))
@settings(deadline=None, max_examples=25)
def test_a_run_gives_what_single_steps_give_and_a_reset_engine_repeats_it(make_chip, random_program, seed, modes, cut):
    rng = np.random.default_rng(seed)
    program = with_noise(rng, random_program(rng, make_chip(potential_bits=8), 3), modes)
    events = random_events(rng, program, 12)
    part = [(events.cores[a:b], events.axons[a:b]) for a, b in itertools.pairwise(events.start)]
    single = NumpyEngine(program, noise_seed=seed)
    expected = [
        (t, c, n) for t, now in enumerate(part) for c, n in zip(*(x.tolist() for x in single.step(*now)), strict=True)
    ]

    engine = NumpyEngine(program, noise_seed=seed)
    first = events.start[cut]
    halves = (
        HostEvents(events.start[: cut + 1], events.cores[:first], events.axons[:first]),
        HostEvents(events.start[cut:] - first, events.cores[first:], events.axons[first:]),
    )
    for _ in range(2):
        found = [spike for half in halves for spike in zip(*(x.tolist() for x in engine.run(half)), strict=True)]
        assert found == expected
        assert (engine.potentials == single.potentials).all()
        assert (engine.pending == single.pending).all()
        assert engine.tick == single.tick == 12
        assert engine.totals == single.totals
        engine.reset()
        assert (engine.potentials == program.neurons.potential).all()
        assert (engine.tick, len(engine.pending), *engine.totals) == (0, 0, 0, 0, 0)

    watched = rng.random(program.neurons.leak.shape) < 0.5
    assert [*zip(*(x.tolist() for x in engine.run(events, watched)), strict=True)] == [
        s for s in expected if watched[s[1:]]
    ]
    assert engine.totals == single.totals


def test_a_fork_starts_at_tick_0_and_leaves_the_first_engine_alone(make_chip, random_program):
    rng = np.random.default_rng(5)
    program = with_noise(rng, random_program(rng, make_chip(), 3))
    events = random_events(rng, program, 10)
    one, untouched = NumpyEngine(program, noise_seed=8), NumpyEngine(program, noise_seed=8)
    first = one.run(events)
    untouched.run(events)
    other = one.fork()
    assert (other.tick, other.program) == (0, program)
    for a, b in zip(other.run(events), first, strict=True):
        assert a.tolist() == b.tolist()
    other.run(events)
    assert (one.potentials == untouched.potentials).all()
    assert (one.pending == untouched.pending).all()
    assert [x.tolist() for x in one.run(events)] == [x.tolist() for x in untouched.run(events)]


def test_a_run_of_no_ticks(make_chip, random_program):
    engine = NumpyEngine(random_program(np.random.default_rng(0), make_chip(), 2))
    assert [(len(x), x.dtype) for x in engine.run(HostEvents.none(0))] == [(0, np.int64)] * 3
    assert engine.tick == 0


def test_tables_of_zeros_are_no_tables(make_chip, random_program):
    rng = np.random.default_rng(1)
    program = random_program(rng, make_chip(), 3)
    noisy = with_noise(rng, program)
    zeros = {mode: np.zeros_like(getattr(noisy.neurons, mode)) for mode in MODES}
    silent = dataclasses.replace(noisy, neurons=dataclasses.replace(noisy.neurons, **zeros))
    events = random_events(rng, program, 20)
    spikes = [[x.tolist() for x in NumpyEngine(p, noise_seed=3).run(events)] for p in (program, silent, noisy)]
    assert spikes[0] == spikes[1] != spikes[2]


def test_another_seed_is_another_run_and_a_bad_one_none(make_chip, random_program):
    rng = np.random.default_rng(1)
    program = with_noise(rng, random_program(rng, make_chip(), 3))
    events = random_events(rng, program, 20)
    runs = [[x.tolist() for x in NumpyEngine(program, noise_seed=seed).run(events)] for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]
    with pytest.raises(InputError, match="noise seed -1"):
        NumpyEngine(program, noise_seed=-1)


@pytest.mark.parametrize("bits", [1, 3, 8])
def test_a_core_with_threshold_noise_never_rests(make_chip, make_program, bits):
    # V stays at its threshold (gamma 2), so the neuron fires in the ticks whose noise is 0, and in no other.
    program = make_program(
        make_chip(), np.zeros((1, 1, 3)), threshold=5, potential=5, negative_threshold=5, reset_mode=2
    )
    program = noisy(program, noise_bits=bits)
    ticks, _, neurons = NumpyEngine(program, noise_seed=4).run(HostEvents.none(2000))
    expected = [(t, n) for t in range(2000) for n in range(3) if random_byte(4, t, 0, THRESHOLD, n) % 2**bits == 0]
    assert list(zip(ticks.tolist(), neurons.tolist(), strict=True)) == expected
    assert len(expected) > 10


@pytest.mark.parametrize("leak", [1, -1])
def test_a_core_with_a_stochastic_leak_never_rests(make_chip, make_program, leak):
    program = make_program(make_chip(), np.zeros((1, 1, 3)), threshold=1000, negative_threshold=1000, leak=leak)
    program = noisy(program, stochastic_leak=True)
    engine = NumpyEngine(program, noise_seed=4)
    engine.run(HostEvents.none(1000))
    expected = [leak * sum(random_byte(4, t, 0, LEAK, n) <= 1 for t in range(1000)) for n in range(3)]
    assert engine.potentials.tolist() == [expected]
    assert all(expected)


def test_cores_at_rest_wake_up_for_stochastic_synapses(make_chip, make_program):
    program = make_program(make_chip(), np.ones((2, 1, 1)), weights=255)
    program = noisy(program, stochastic_weight=True)
    fired = run_events(program, [50, 51, 90], [0, 0, 1], [0, 0, 0], 100)
    assert [x.tolist() for x in fired] == [[50, 51, 90], [0, 0, 1], [0, 0, 0]]


@pytest.mark.parametrize("weight", [0, 1, 12, 127, 254, 255, -1, -100, -255])
def test_the_mean_of_a_stochastic_synapse(make_chip, make_program, weight):
    # |s| + 1 of the 256 bytes let an event pass; the bounds are those that chance leaves once in a million.
    n_ticks, size = 40, (5, 10, 12)
    program = make_program(make_chip(), np.ones(size), weights=weight, threshold=10_000, negative_threshold=10_000)
    engine = NumpyEngine(noisy(program, stochastic_weight=True), noise_seed=2)
    cores, axons = np.nonzero(np.ones(size[:2]))
    for _ in range(n_ticks):
        engine.step(cores, axons)
    passed = int(np.sign(weight)) * int(engine.potentials.sum())
    trials = n_ticks * int(np.prod(size))
    low, high = binom.interval(1 - 1e-6, trials, (abs(weight) + 1) / 256) if weight else (0, 0)
    assert low <= passed <= high
    assert engine.totals.synaptic_events == trials
    # no two synapses draw the same all along
    assert weight in (0, 255, -255) or len(np.unique(engine.potentials)) > 1


@pytest.mark.parametrize("bits", [5, 20])
def test_many_events_on_stochastic_synapses_are_drawn_in_portions(make_chip, make_program, bits):
    # 20 cores x 256 events are more than are drawn at once; at 5 bits every neuron meets its rail.
    program = make_program(
        make_chip(potential_bits=bits), np.ones((20, 256, 3)), weights=[200, -200, 3, -3],
        axon_types=np.arange(256) % 4, threshold=1000, negative_threshold=1000,
    )  # fmt: skip
    program = noisy(program, stochastic_weight=[True, True, True, False])
    engine, plain = NumpyEngine(program), PlainChip(program)
    cores, axons = np.nonzero(np.ones((20, 256)))
    for _ in range(2):
        engine.step(cores, axons)
        plain.step([*zip(cores.tolist(), axons.tolist(), strict=True)])
        assert engine.potentials.tolist() == plain.v


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
def test_stochastic_synapses_meet_the_rails_event_by_event(make_chip, make_program, sign):
    # 5 bits: -16..15. A weight of 255 lets every event pass: twenty of one sign, then three of the other.
    program = make_program(
        make_chip(potential_bits=5), np.ones((1, 23, 2)), axon_types=[[0] * 20 + [1] * 3],
        weights=[sign * 255, -sign * 255, 0, 0], threshold=1000, negative_threshold=1000,
    )  # fmt: skip
    engine = NumpyEngine(noisy(program, stochastic_weight=True))
    engine.step([0] * 23, range(23))
    assert engine.potentials.tolist() == [[12 if sign > 0 else -13] * 2]


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
    ("ticks", "n_ticks", "found"),
    [
        ([0.5], 5, "ticks have dtype float64; must be whole numbers, give integers"),
        (["0"], 5, "ticks have dtype <U1; must be whole"),
        ([True], 5, "ticks have dtype bool; must be whole"),
        ([2.0**64], 5, "ticks have dtype float64"),
        ([float("nan")], 5, "ticks have dtype float64"),
        ([[0]], 5, r"ticks have shape \(1, 1\); give one number for each event"),
        ([[0], [1, 2]], 5, "ticks = .*; give a list of whole numbers"),
        (np.array([2**64 - 1], np.uint64), 5, "event 0 is at tick 18446744073709551615; allowed is 0 to 4"),
        ([0], 0, "event 0 is at tick 0; allowed is none"),
        ([0], 4.0, "n_ticks = 4.0: must be a whole number, not a float"),
        ([0], True, "n_ticks = True: must be a whole number"),
        ([0], -1, "n_ticks = -1; must be 0 or more"),
        ([0], 10**12, r"n_ticks = 1000000000000; at most 2\*\*28 = 268435456 are run"),
    ],
)
def test_events_at_what_is_no_whole_number_are_refused(make_chip, random_program, ticks, n_ticks, found):
    program = random_program(np.random.default_rng(0), make_chip(), 2)
    with pytest.raises(StimulusError, match=f"events: {found}"):
        run_events(program, ticks, [0], [0], n_ticks, engine="numpy")


def test_more_noise_bits_than_a_byte_has_are_refused(make_chip, make_program):
    program = make_program(make_chip(), np.zeros((2, 1, 3)))
    with pytest.raises(ProgramError, match="core 1, neuron 1: number of noise bits is 9; needs 0 to 8"):
        NumpyEngine(noisy(program, noise_bits=[[0, 8, 8], [0, 9, 0]]))


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
