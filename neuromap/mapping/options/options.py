"""What a user may ask of the mapper: strategies by name, limits, and pins."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.files.given import mapping_given, needs, real_number, whole_number, yes_or_no
from neuromap.files.messages import show
from neuromap.render.value import Card

__all__ = [
    "PARTITIONERS",
    "PHASES",
    "PLACERS",
    "SEEDS",
    "SPLITTERS",
    "WIDE",
    "MappingOptions",
    "Partitioner",
    "Phases",
    "Pins",
    "Placer",
    "Splitters",
    "Wide",
]

Placer = Literal["auto", "row-major", "hilbert", "spectral", "assignment", "exchange"]
PLACERS: tuple[Placer, ...] = get_args(Placer)
Splitters = Literal["slack", "anywhere", "never"]
SPLITTERS: tuple[Splitters, ...] = get_args(Splitters)
MOST_TICKS = 1024
"""Ticks of an update step, at most: a delay of D ticks takes D / 15 relays per neuron on TrueNorth."""
SEEDS = 2**63
"""Seeds are whole numbers below it."""
Partitioner = Literal["auto", "blocks", "overlap", "metis"]
PARTITIONERS: tuple[Partitioner, ...] = get_args(Partitioner)
Phases = Literal["least", "cheapest"]
PHASES: tuple[Phases, ...] = get_args(Phases)
Wide = Literal["refuse", "partial-sums"]
WIDE: tuple[Wide, ...] = get_args(Wide)
_MOMENT = 1e-6
"""Seconds in which no search begins."""
MOST_WIDE_TICKS = 100_000
"""Ticks of a partial sum, at most."""


@dataclass(frozen=True)
class Pins(Card):
    """What a user fixes about nodes; the mapper decides the rest.

    Attributes
    ----------
    tiles : mapping of str to (int, int, int)
        Rows, columns and features of a node that a core holds at most; cores start at multiples of them.
    cores : mapping of str to int
        Cores over which a node's neurons are spread evenly, at least.
    regions : mapping of str to (int, int, int, int)
        Rectangle ``(x0, y0, x1, y1)`` of the board, corners included, within which a node's cores lie.
    splitters : frozenset of (str, str)
        Edges whose spikes go over splitters, whatever ``MappingOptions.splitters`` says.

    Raises
    ------
    InputError
        If something is of another type.
    """

    tiles: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    cores: Mapping[str, int] = field(default_factory=dict)
    regions: Mapping[str, tuple[int, int, int, int]] = field(default_factory=dict)
    splitters: frozenset[tuple[str, str]] = frozenset()

    def __post_init__(self) -> None:
        for name, holds in (("tiles", "(4, 4, 16)"), ("cores", "4"), ("regions", "(0, 0, 7, 7)")):
            mapping_given(f"pins: {name}", getattr(self, name), f"{{'H1': {holds}}}")
            object.__setattr__(self, name, ReadOnlyMapping(getattr(self, name)))
        self._check_numbers()
        object.__setattr__(self, "splitters", _edges(self.splitters))

    def _check_numbers(self) -> None:
        for node, cores in self.cores.items():
            whole_number(f"pins: cores.{node}", cores)
        for name, count in (("tiles", 3), ("regions", 4)):
            for node, numbers in getattr(self, name).items():
                if not isinstance(numbers, Sequence) or len(numbers) != count:
                    raise InputError(f"pins: {name}.{node}: found {show(numbers)}; allowed are {count} whole numbers")
                for number in numbers:
                    whole_number(f"pins: {name}.{node}", number)

    def __bool__(self) -> bool:
        return bool(self.tiles or self.cores or self.regions or self.splitters)


def _edges(edges: object) -> frozenset[tuple[str, str]]:
    found: list[Any] = list(edges) if isinstance(edges, Iterable) else [None]
    if not all(isinstance(edge, (tuple, list)) and len(edge) == 2 for edge in found):
        raise InputError(f"pins: splitters: found {show(edges)}; allowed are edges, such as {{('H1', 'H2')}}")
    return frozenset((str(u), str(v)) for u, v in found)


@dataclass(frozen=True)
class MappingOptions(Card):
    """How a rollout is mapped.

    Attributes
    ----------
    placer : {"auto", "row-major", "hilbert", "spectral", "assignment", "exchange"}
        How cores are placed (:func:`neuromap.mapping.place.place.place`).
    splitters : {"slack", "anywhere", "never"}
        Where splitters may stand: on edges whose delay has room for them, where they cost no tick; on any
        edge, so that the schedule grows by ticks; nowhere, so that all fan-out is copies.
    packing : bool
        Whether tiles of several nodes may share a core.
    partitioner : {"auto", "blocks", "overlap", "metis"}
        In which order neurons fill cores: blocks of rows, columns and features; neurons that read the same
        sources next to each other; parts of a graph partition (extra ``partition``); or whatever costs least.
    pins : Pins
        What is fixed.
    seed : int
        Of everything that draws lots. The same seed gives the same program.
    seconds : float or None
        Limit on the time that tiling, the choice of splitters, packing and placement search, together; each keeps the
        best that it has found when its share is over (:mod:`neuromap.mapping.options.budget`), so that the result
        depends on the machine. A first legal mapping takes the time it takes.
    ticks_per_step : int or None
        Ticks of an update step where the user fixes them; else as few as the delays need.
    keep : sequence of str
        Nodes that are mapped whole, though they or some of their neurons lead to no output, so that they can be
        recorded; ``"all"`` is every node. A text is split at its commas.
    phases : {"least", "cheapest"}
        Whether every node is computed when the rollout says, as early as it can be; or when its delays and those of
        its sources take fewest neurons of the chip, inputs and outputs staying where they are (docs/time.md).
    wide : {"refuse", "partial-sums"}
        What becomes of nodes with neurons that read more than a core has axons: they are refused, or their sums are
        computed in parts, exactly, which takes ticks (docs/wide-neurons.md).
    wide_ticks : int or None
        Spikes that a part sends in a frame, at most, one per tick: more parts answer sooner. By default a part sends
        all it has, which takes fewest cores.

    Raises
    ------
    InputError
        On an unknown strategy or a value out of range.
    """

    placer: str = "auto"
    splitters: Splitters = "slack"
    packing: bool = True
    partitioner: Partitioner = "auto"
    pins: Pins = Pins()
    seed: int = 0
    seconds: float | None = None
    ticks_per_step: int | None = None
    keep: Sequence[str] = ()
    phases: Phases = "least"
    wide: Wide = "refuse"
    wide_ticks: int | None = None

    def after(self, spent_s: float) -> MappingOptions:
        """Give the same options with what is left of their seconds, if there is a limit; a moment at least."""
        return self if self.seconds is None else replace(self, seconds=max(_MOMENT, self.seconds - spent_s))

    def __post_init__(self) -> None:
        self._check_types()
        object.__setattr__(self, "keep", _names(self.keep))
        choices = (("splitters", SPLITTERS), ("partitioner", PARTITIONERS), ("phases", PHASES), ("wide", WIDE))
        for name, known in choices:
            value = getattr(self, name)
            if value not in known:
                raise InputError(f"{name} {value!r} is not known; choose one of {', '.join(known)}")
        if self.seconds is not None and not 0 < self.seconds < math.inf:
            raise InputError(f"seconds = {self.seconds}: must be above 0, and finite")
        if self.placer not in PLACERS:
            raise InputError(f"placer {self.placer!r} is not known; choose one of {', '.join(PLACERS)}")
        if self.ticks_per_step is not None and not 1 <= self.ticks_per_step <= MOST_TICKS:
            raise InputError(f"ticks_per_step = {self.ticks_per_step}: must be 1 to {MOST_TICKS}")
        if self.wide_ticks is not None and not 1 <= self.wide_ticks <= MOST_WIDE_TICKS:
            raise InputError(f"wide_ticks = {self.wide_ticks}: must be 1 to {MOST_WIDE_TICKS}")
        if self.wide_ticks is not None and self.wide == "refuse":
            raise InputError(
                f'wide_ticks = {self.wide_ticks}: has no meaning where wide = "refuse"; ask for partial-sums'
            )
        if not 0 <= self.seed < SEEDS:
            raise InputError(f"seed = {self.seed}: must be 0 or more, below 2**63")

    def _check_types(self) -> None:
        needs("pins", self.pins, Pins)
        object.__setattr__(self, "seed", whole_number("seed", self.seed))
        object.__setattr__(self, "packing", yes_or_no("packing", self.packing))
        if self.seconds is not None:
            real_number("seconds", self.seconds)
        for name in ("ticks_per_step", "wide_ticks"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, whole_number(name, getattr(self, name)))


def _names(given: object) -> tuple[str, ...]:
    """Take names of nodes as they are given: in one text, or one by one."""
    names = given.split(",") if isinstance(given, str) else given
    found = tuple(names) if isinstance(names, Iterable) else (None,)
    if not all(isinstance(name, str) and name.strip() for name in found):
        raise InputError(f"keep {given!r}: must be names of nodes, such as ('H1', 'H2'), or 'all'")
    return tuple(str(name).strip() for name in found)
