"""Choice of the engine that runs the ticks, with its threads and noise seed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar, NamedTuple

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.files.argument_checks import yes_or_no
from neuromap.options import option
from neuromap.registry import require_package
from neuromap.render.value import Card


class EngineKind(NamedTuple):
    """Properties of an engine, known before it is loaded."""

    has_threads: bool  # whether it runs on several threads; else on one
    is_compiled: bool  # whether Numba compiles it


# Names and kinds of the engines, the default first; ``engines.py`` of each kind of core makes them.
ENGINES: Mapping[str, EngineKind] = ReadOnlyMapping(
    {"fast": EngineKind(has_threads=True, is_compiled=True), "numpy": EngineKind(has_threads=False, is_compiled=False)}
)


# More threads than any machine has cores for.
MAX_THREADS = 1024


@dataclass(frozen=True)
class EngineChoice(Card):
    """What runs the ticks; every choice of engine and threads gives the same result, bit by bit."""

    _group: ClassVar = "engine"
    # compiled kernels, or the readable oracle
    engine: str = option(
        "NAME  What runs the ticks: fast or numpy; the results are the same.",
        "fast",
        choices=tuple(ENGINES),
        must=f"is not known; engines are {', '.join(ENGINES)}",
    )
    # for the fast engine; NumPy runs on one thread
    threads: int | None = option(
        "N  Threads to run on; the results are the same.  [default: the cores of the machine]",
        within=(1, MAX_THREADS),
        must=f"must be a whole number from 1 to {MAX_THREADS}",
    )
    # no effect without neurons with stochastic modes
    noise_seed: int = option(
        "N  Seed of neurons with stochastic modes.",
        0,
        within=(0, 2**64 - 1),
        must=f"is not allowed; give an integer from 0 to {2**64 - 1}",
    )
    # whether the fast engine runs the stimuli of a batch side by side, one bit each, on cores that allow it
    # (``docs/fast-engine.md``); ``None`` to do so if faster
    bit_slicing: bool | None = None

    def __post_init__(self) -> None:
        if self.threads is not None:
            object.__setattr__(self, "threads", thread_count(self.threads))
        object.__setattr__(self, "noise_seed", check_seed(self.noise_seed))
        if self.bit_slicing is not None:
            object.__setattr__(self, "bit_slicing", yes_or_no("bit_slicing", self.bit_slicing))
        if self.engine not in ENGINES:
            raise InputError(f"engine {self.engine}: is not known; engines are {', '.join(ENGINES)}")
        if self.kind.is_compiled:
            instead = "take the readable engine: engine numpy"
            require_package(f"engine {self.engine}", "numba", called="Numba", instead=instead, imports=False)

    @property
    def kind(self) -> EngineKind:
        """Threads and compiling."""
        return ENGINES[self.engine]

    @property
    def n_threads(self) -> int:
        """Threads on this machine."""
        return thread_count(self.threads)


def check_seed(seed: int) -> int:
    """Return a run's seed if it is valid."""
    if isinstance(seed, bool) or not isinstance(seed, Integral) or not 0 <= seed < 2**64:
        raise InputError(f"noise seed {seed!r:.40}: is not allowed; give an integer from 0 to {2**64 - 1}")
    return int(seed)


def thread_count(threads: int | None = None) -> int:
    """Return the number of threads to use; by default one per usable core of the machine."""
    if threads is None:
        return min(MAX_THREADS, _usable_cores())
    if isinstance(threads, bool) or not isinstance(threads, Integral) or not 1 <= threads <= MAX_THREADS:
        raise InputError(f"threads {threads}: must be a whole number from 1 to {MAX_THREADS}; {_usable_cores()} here")
    return int(threads)


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


DEFAULT_ENGINE = EngineChoice()
