"""Programs that are hard on an engine, and what an engine shares with the one in NumPy."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import strategies as st

from neuromap.simulation.engine.engine import BlockEngine, HostEvents, Spikes, make_engine
from neuromap.simulation.engine.engine_choice import EngineChoice

MODES = ("stochastic_weight", "stochastic_leak", "noise_bits")
# How large the values of a core are: at rest, small, past one byte, past the range of a narrow core, all there is.
SCALES = (0, 1, 6, 100, 300, 3000, 40_000, 2**31)
TRUENORTH = {"weight_bits": 9, "leak_bits": 9, "threshold_bits": 18}
WIDEST = {"weight_bits": 16, "leak_bits": 16, "threshold_bits": 32}
WIDTHS = {
    9: TRUENORTH,
    16: {**WIDEST, "threshold_bits": 17},
    17: TRUENORTH,
    20: TRUENORTH,
    30: {**WIDEST, "threshold_bits": 29},
    32: WIDEST,
    40: WIDEST,
}
RULES = st.fixed_dictionaries(
    {
        "overflow": st.sampled_from(["saturate", "wrap"]),
        "negative_comparison": st.sampled_from(["<", "<="]),
        "number_format": st.sampled_from(["sign_magnitude", "twos_complement"]),
        "signed_threshold": st.booleans(),
        "delay": st.sampled_from([(1, 1), (1, 15), (3, 8), (1, 255)]),
    }
)


@pytest.fixture(scope="session")
def chips(make_chip):
    """Chips with any rules, a strategy: ``chips(bits=that potentials may have, **core and grid)``."""

    def make(bits=tuple(WIDTHS), **given):
        return st.builds(
            lambda bits, rules: make_chip(**given, **WIDTHS[bits], potential_bits=bits, **rules),
            st.sampled_from(bits), RULES,
        )  # fmt: skip

    return make


@pytest.fixture(scope="session")
def torture_program(make_program):
    """A program whose every core has a character of its own, out of everything that a chip allows.

    Each parameter of a core is small, large or at the rails of its width, equal in all neurons or not; reset modes,
    leak reversal, kappa, stochastic modes, fan-in and targets are all, none or mixed. With ``calm`` no core has
    what keeps it on the wide path for good.
    """

    def make(rng, chip, n_cores, *, modes=MODES, calm=False):
        n_axons, n_neurons, n_types = chip.axons, chip.neurons, chip.axon_types
        shape = (n_cores, n_neurons)

        def draw(low, high, scales, more=()):
            low, high = max(low, -(2**31)), min(high, 2**31 - 1)
            size = (*shape, *more)
            one = (n_cores,) + (1,) * (len(size) - 1)
            scale = rng.choice(scales, one)
            values = rng.integers(np.maximum(low, -scale), np.minimum(high, scale), size, endpoint=True)
            rails = rng.random(size) < rng.choice([0, 0, 0, 0.02, 0.5], one) * (not calm)
            values = np.where(rails, rng.choice([low, high], size), values)
            uniform = rng.random(n_cores) < 0.5
            values[uniform] = values[uniform][:, :1]
            return values

        def flag(shares, more=()):
            size = (*shape, *more)
            return rng.random(size) < rng.choice(shares, (n_cores,) + (1,) * (len(size) - 1))

        scales = np.array(SCALES[:4] if calm else SCALES)
        some = scales[scales > 0]
        reset_mode = rng.integers(3, size=shape)
        uniform = rng.random(n_cores) < 0.5
        reset_mode[uniform] = reset_mode[uniform][:, :1]
        given = {
            "weights": draw(*chip.weight_range, scales, (n_types,)),
            "leak": draw(*chip.leak_range, scales[: 2 if calm else None]),
            "leak_reversal": flag([0] if calm else [0, 0, 0, 0.5, 1]),
            "threshold": draw(*chip.threshold_range, some),
            "negative_threshold": draw(*chip.threshold_range, some),
            "reset": draw(*chip.potential_range, scales),
            "reset_mode": reset_mode,
            "saturate_negative": flag([0, 0.5, 1]),
            "potential": draw(*chip.potential_range, scales),
        }
        wanted = {
            "stochastic_weight": flag([0, 0, 0.5, 1], (n_types,)),
            "stochastic_leak": flag([0, 0, 0.5, 1]),
            "noise_bits": rng.integers(0, 9, shape) * flag([0, 0, 0.5, 1]),
        }
        given |= {name: wanted[name] for name in modes}
        density = rng.choice([0, 0.02, 0.3, 1], (n_cores, 1, 1), p=[0.1, 0.4, 0.3, 0.2])
        program = make_program(
            replace(chip, rules=replace(chip.rules, stochastic=bool(modes))),
            rng.random((n_cores, n_axons, n_neurons)) < density,
            axon_types=rng.integers(n_types, size=(n_cores, n_axons)),
            **given,
        )
        has_target = flag([0, 0.3, 1])
        least, most = chip.delay
        delays = rng.integers(least, most + 1, shape)
        at_ends = rng.random(shape) < 0.3
        delays[at_ends] = rng.choice([least, most], at_ends.sum())
        return replace(
            program,
            coordinates=program.coordinates[rng.permutation(n_cores)],
            target_core=np.where(has_target, rng.integers(n_cores, size=shape), -1).astype(np.int32),
            target_axon=np.where(has_target, rng.integers(n_axons, size=shape), 0).astype(np.int32),
            delay=np.where(has_target, delays, 0).astype(np.uint8),
        )

    return make


@pytest.fixture(scope="session")
def random_events():
    """Host events of a run: ticks with none, few and many of them, some axons twice, no order within a tick."""

    def make(rng, program, n_ticks):
        n_cores, n_axons = program.axon_types.shape
        mean = rng.choice([0, 0.1, 2], n_ticks) * n_cores
        counts = rng.poisson(mean)
        place = rng.integers(n_cores * n_axons, size=counts.sum())
        place[1::7] = place[:-1:7]
        cores, axons = (part.astype(np.int32) for part in np.divmod(place, n_axons))
        return HostEvents(np.concatenate([[0], np.cumsum(counts)]), cores, axons)

    return make


@pytest.fixture(scope="session")
def parts_of():
    """A run's events as several runs: ``parts_of(events, cuts)`` ends one part at every tick in ``cuts``."""

    def make(events, cuts):
        cut = sorted({0, *cuts, events.n_ticks})
        for a, b in pairwise(cut):
            first, last = events.start[a], events.start[b]
            yield HostEvents(events.start[a : b + 1] - first, events.cores[first:last], events.axons[first:last])

    return make


@pytest.fixture(scope="session")
def assert_same_state():
    """Potentials, spikes under way, totals and the tick of two engines are equal."""

    def check(fast, oracle):
        different = np.argwhere(fast.potentials != oracle.potentials)
        assert len(different) == 0, f"potentials differ, first at core and neuron {different[0].tolist()}"
        assert np.array_equal(fast.pending, oracle.pending)
        assert (fast.totals, fast.tick) == (oracle.totals, oracle.tick)
        cores = np.arange(fast.program.n_cores)[::-3]
        assert np.array_equal(fast.potentials_of(cores), oracle.potentials_of(cores))

    return check


@pytest.fixture(scope="session")
def assert_same_spikes():
    """Ticks, cores and neurons of two runs are equal, dtypes too."""

    def check(found, expected):
        for a, b in zip(found, expected, strict=True):
            assert a.dtype == b.dtype == np.int64
            assert np.array_equal(a, b)

    return check


@pytest.fixture(scope="session")
def assert_same_run(parts_of, assert_same_spikes, assert_same_state):
    """Run the events on both engines from where they are, split into runs and single steps, some of them watched."""

    def check(rng, fast, oracle, events):
        shape = fast.program.neurons.leak.shape
        for part in parts_of(events, rng.integers(0, events.n_ticks + 1, 3).tolist()):
            kind = rng.integers(3)
            if kind == 0:
                for a, b in zip(part.start[:-1], part.start[1:], strict=True):
                    now = part.cores[a:b], part.axons[a:b]
                    assert_same_spikes(fast.step(*now), oracle.step(*now))
            else:
                watched = None if kind == 1 else rng.random(shape) < rng.choice([0, 0.01, 0.5])
                assert_same_spikes(fast.run(part, watched), oracle.run(part, watched))
            assert_same_state(fast, oracle)

    return check


def _fed_at_random(rng, program, n_ticks):
    """Host events of a run, whatever the kind of core; some axons twice."""
    place = np.concatenate([np.stack([np.full(n, c), np.arange(n)]) for c, n in enumerate(program.axon_counts)], axis=1)
    counts = rng.poisson(rng.choice([0, 0.3, 3], n_ticks) * program.n_cores) * bool(place.size)
    cores, axons = place[:, rng.integers(max(1, place.shape[1]), size=counts.sum())].astype(np.int32)
    return HostEvents(np.append(0, np.cumsum(counts)), cores, axons)


def _assert_equal_states(fast, oracle):
    a, b = fast.state, oracle.state
    assert (a.tick, a.totals) == (b.tick, b.totals)
    tables = [(a.potentials, b.potentials), (a.spikes, b.spikes)]
    if b.currents is not None:
        tables += [(getattr(a.currents, k), getattr(b.currents, k)) for k in ("current", "resting", "due", "amounts")]
    assert all(np.array_equal(*pair) for pair in tables)


@pytest.fixture(scope="session")
def assert_runs_in_one_call(parts_of, assert_same_spikes):
    """Runs in a row on the fast engine are what the one in NumPy makes of each of them alone; called off or not."""

    def check(rng, program, n_runs, n_ticks, noise_seed, threads):
        fast = make_engine(program, EngineChoice("fast", threads=threads))
        oracle = make_engine(program, EngineChoice("numpy"))
        assert isinstance(fast, BlockEngine)
        assert not isinstance(oracle, BlockEngine)
        events = _fed_at_random(rng, program, n_runs * n_ticks)
        watched = None if rng.random() < 0.3 else rng.random(program.shape) < rng.choice([0, 0.05, 0.6])
        expected = []
        for run, part in enumerate(parts_of(events, range(0, events.n_ticks, n_ticks))):
            oracle.reset((noise_seed + run) % 2**64)
            spikes = oracle.run(part, watched)
            expected.append(spikes._replace(ticks=spikes.ticks + run * n_ticks))
        expected = Spikes(*(np.concatenate(column) for column in zip(*expected, strict=True)))

        called_off = iter([*[False] * int(rng.integers(0, 4)), *[True] * 1000])
        some = fast.run_each(events, n_runs, watched, noise_seed, lambda: next(called_off))
        assert_same_spikes(some, Spikes(*(column[: len(some.ticks)] for column in expected)))
        for engine in (fast.fork(), fast):
            assert_same_spikes(engine.run_each(events, n_runs, watched, noise_seed), expected)
            _assert_equal_states(engine, oracle)
        more = _fed_at_random(rng, program, 9)
        assert_same_spikes(fast.run(more), oracle.run(more))
        _assert_equal_states(fast, oracle)

    return check
