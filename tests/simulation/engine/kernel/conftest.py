"""Programs that are hard on a fast engine, what it shares with the one in NumPy, and one clean compile."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import hardware_models
import neuromap
from neuromap.simulation.engine.engine import HostEvents

MODES = ("stochastic_weight", "stochastic_leak", "noise_bits")
# How large the values of a core are: at rest, small, past one byte, past the range of a narrow core, all there is.
SCALES = (0, 1, 6, 100, 300, 3000, 40_000, 2**31)


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


PACKAGES = [Path(package.__file__).parent for package in (neuromap, hardware_models)]

# One small program, so that the leak is all that happens; then what was compiled and what came from the cache. One
# group of lanes is the least to compile. What comes from the cache has no code to show.
THREE_TICKS = """
import sys
import numpy as np
from dataclasses import replace
from pathlib import Path
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.bench.characterisation import characterisation_program
from neuromap.simulation.engine.engine import HostEvents
from neuromap.simulation.engine.fast_engine import FastEngine
from neuromap.simulation.engine.kernel.compiled import compiled

chip = replace(load_chip("truenorth"), axons=32, neurons=32)
program = characterisation_program(1, chip=chip, synapses=0)
silent = replace(program.neurons, potential=np.zeros_like(program.neurons.potential))
engine = FastEngine(replace(program, neurons=silent))
engine.run(HostEvents.none(3))
run = compiled().run
hits, misses = sum(run.stats.cache_hits.values()), sum(run.stats.cache_misses.values())
print(set(engine.potentials.reshape(-1).tolist()), hits, misses)
if len(sys.argv) > 1:
    [signature] = run.signatures
    Path(sys.argv[1], "kernel.s").write_text(run.inspect_asm(signature))
    Path(sys.argv[1], "kernel.ll").write_text(run.inspect_llvm(signature))
"""


def _copy(folder):
    for package in PACKAGES:
        shutil.copytree(package, folder / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def _run_python(folder, code, *words, **variables):
    clean = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    variables = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **variables}
    return subprocess.run(
        [sys.executable, "-c", code, *words], env=clean | variables, cwd=folder, capture_output=True, text=True
    )


@dataclass(frozen=True)
class OnceCompiled:
    """A copy of the packages with a cache of its own, and what its first run printed and compiled."""

    folder: Path
    printed: str

    @property
    def assembly(self):
        return (self.folder / "kernel.s").read_text()

    def run_again(self):
        return _printed(self.folder)


def _printed(folder, *words):
    run = _run_python(folder, THREE_TICKS, *words, NUMBA_CACHE_DIR=str(folder / "cache"))
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@pytest.fixture
def copied(tmp_path):
    """A copy of the packages that may be edited."""
    return _copy(tmp_path)


@pytest.fixture(scope="session")
def run_python():
    """Run code on a copy, whether it goes well or not: ``run_python(folder, code, **environment)``."""
    return _run_python


@pytest.fixture(scope="session")
def three_ticks():
    return THREE_TICKS


@pytest.fixture(scope="session")
def once_compiled(tmp_path_factory):
    """The kernel compiled for this processor with an empty cache: the tests of cache and instructions share it."""
    folder = _copy(tmp_path_factory.mktemp("compiled"))
    return OnceCompiled(folder, _printed(folder, str(folder)))
