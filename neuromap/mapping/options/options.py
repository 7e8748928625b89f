"""Mapping options: strategies by name, limits and pins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.files.argument_checks import mapping_given, needs, path_given, whole_number
from neuromap.files.messages import show
from neuromap.options import Option, check_options, documented, option
from neuromap.registry import Registry
from neuromap.render.value import Card

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from neuromap.hardware.chip.chip_spec import ChipSpec

_STRATEGIES = "neuromap.mapping.place.place"
# Each is a :data:`neuromap.mapping.place.place.Strategy`.
PLACERS: Registry[Any] = Registry(
    "placer",
    "neuromap.placers",
    {
        "auto": f"{_STRATEGIES}:improved",
        "row-major": f"{_STRATEGIES}:row_major",
        "hilbert": f"{_STRATEGIES}:hilbert",
        "spectral": f"{_STRATEGIES}:spectral",
        "assignment": f"{_STRATEGIES}:assignment",
        "exchange": f"{_STRATEGIES}:improved",
    },
    InputError,
    kind=Callable,  # type: ignore[arg-type]
)
Splitters = Literal["slack", "anywhere", "never"]
SPLITTERS: tuple[Splitters, ...] = get_args(Splitters)
# Maximum number of ticks per update step: a delay of D ticks takes D / 15 relays per neuron on TrueNorth.
MOST_TICKS = 1024
# Seeds are whole numbers below this.
SEEDS = 2**63
Partitioner = Literal["auto", "blocks", "overlap", "metis"]
PARTITIONERS: tuple[Partitioner, ...] = get_args(Partitioner)
Phases = Literal["least", "cheapest", "fastest"]
PHASES: tuple[Phases, ...] = get_args(Phases)
Wide = Literal["refuse", "partial-sums"]
WIDE: tuple[Wide, ...] = get_args(Wide)
# Options that say how neurons share crossbars.
OF_CROSSBARS = ("splitters", "packing", "partitioner", "wide", "wide_ticks")
Objective = Literal["deliveries", "tick", "energy", "edp"]
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
# Least time limit in seconds, too short for any search to begin.
_MOMENT = 1e-6
# Maximum number of ticks of a partial sum.
MOST_WIDE_TICKS = 100_000


@dataclass(frozen=True)
class Pins(Card):
    """Mapping choices that the user fixes; the mapper decides the rest.

    Attributes
    ----------
    tiles : mapping of str to (int, int, int)
        Largest tile of a node per core, in rows, columns and features; tiles start at multiples of these.
    cores : mapping of str to int
        Least number of cores over which a node's neurons are spread evenly.
    regions : mapping of str to (int, int, int, int)
        Rectangle ``(x0, y0, x1, y1)`` of the board, corners included, within which a node's cores lie.
    splitters : frozenset of (str, str)
        Edges whose spikes go over splitters, regardless of ``MappingOptions.splitters``.
    neurons : mapping of str to array_like of int, shape (size,)
        For many-target cores: core of each neuron of a node, numbered row by row over the board (``x + columns * y``).
        Nodes may share a core if all its neurons are in such tables.

    Raises
    ------
    InputError
        If a value has the wrong type.
    """

    tiles: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    cores: Mapping[str, int] = field(default_factory=dict)
    regions: Mapping[str, tuple[int, int, int, int]] = field(default_factory=dict)
    splitters: frozenset[tuple[str, str]] = frozenset()
    neurons: Mapping[str, ArrayLike] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shown = (("tiles", "(4, 4, 16)"), ("cores", "4"), ("regions", "(0, 0, 7, 7)"), ("neurons", "[0, 0, 1, 1]"))
        for name, holds in shown:
            mapping_given(f"pins: {name}", getattr(self, name), f"{{'H1': {holds}}}")
            object.__setattr__(self, name, ReadOnlyMapping(getattr(self, name)))
        object.__setattr__(self, "neurons", ReadOnlyMapping({n: _numbers(n, t) for n, t in self.neurons.items()}))
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
        return bool(self.tiles or self.cores or self.regions or self.splitters or self.neurons)


def _numbers(node: str, table: ArrayLike) -> NDArray[np.int64]:
    import numpy as np

    from neuromap.arrays.frozen import frozen

    try:
        found = np.asarray(table)
    except ValueError:  # rows of different lengths
        found = np.asarray(None)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise InputError(
            f"pins: neurons.{node}: found {show(table)}; allowed is a list of whole numbers, one per neuron"
        )
    return frozen(found.astype(np.int64))


def _edges(edges: object) -> frozenset[tuple[str, str]]:
    found: list[Any] = list(edges) if isinstance(edges, Iterable) else [None]
    if not all(isinstance(edge, (tuple, list)) and len(edge) == 2 for edge in found):
        raise InputError(f"pins: splitters: found {show(edges)}; allowed are edges, such as {{('H1', 'H2')}}")
    return frozenset((str(u), str(v)) for u, v in found)


def _typed_names(said: Option, words: str) -> str:
    """Check that none of the comma-separated node names is empty."""
    if not all(name.strip() for name in words.split(",")):
        found = f"{said.flag} {words}: has an empty name" if words.strip() else f"{said.flag}: is empty"
        raise InputError(f"{found}; give names of nodes, such as H1,H2, or all")
    return words


@documented
@dataclass(frozen=True)
class MappingOptions(Card):
    """How a rollout is mapped.

    The same seed gives the same program, unless there is a limit on seconds: tiling, the choice of splitters, packing
    and placement then keep the best that each has found when its share is over
    (:mod:`neuromap.mapping.options.budget`), so that the result depends on the machine; a first legal mapping takes the
    time it takes. A part of a partial sum sends at most ``wide_ticks`` spikes in a frame, one per tick: more parts
    answer sooner (docs/wide-neurons.md, docs/time.md, :func:`neuromap.mapping.place.place.place`).

    Raises
    ------
    InputError
        On an unknown strategy or a value out of range.
    """

    _group: ClassVar = "mapping"
    placer: str = option(
        "NAME  How to place cores: auto, row-major, hilbert, spectral, assignment or exchange.",
        "auto",
        choices=PLACERS,
        groups=("neuromap.placers",),
    )
    splitters: Splitters = option(
        "WHERE  Where splitters may go: slack (where delays leave room, at no cost in ticks), anywhere (the schedule "
        "may grow by ticks) or never (copies give all fan-out).",
        "slack",
        choices=SPLITTERS,
    )
    packing: bool = option("--packing/--no-packing  Whether nodes may share a core.  [default: they may]", True)
    partitioner: Partitioner = option(
        "NAME  Order in which neurons fill cores: blocks, overlap, metis (extra partition), or auto for what costs "
        "least.",
        "auto",
        choices=PARTITIONERS,
    )
    pins: Pins = option("FILE  Fixed tile shapes, cores, regions, splitters and cores of neurons (TOML).", Pins())
    seed: int = option(
        "--mapping-seed N  Seed of placement, METIS and annealing; the same seed gives the same program.",
        0,
        within=(0, SEEDS - 1),
        must="must be 0 or more, below 2**63",
    )
    seconds: float | None = option("S  Time limit for mapping; searches end with the best so far.", above=0)
    ticks_per_step: int | None = option(
        "N  Ticks of an update step.  [default: as few as the delays need]", within=(1, MOST_TICKS)
    )
    keep: Sequence[str] = option(
        "NODES  Map these nodes whole even if they lead to no output, so that they can be recorded: names separated by "
        "commas, or all.",
        (),
        reads=_typed_names,
    )
    phases: Phases = option(
        "WHICH  When to compute nodes between inputs and outputs: least (as early as possible), cheapest (on the "
        "fewest cores, with the same frame period and responses) or fastest (with the least sum of first responses "
        "over all inputs and outputs, none later).",
        "least",
        choices=PHASES,
    )
    wide: Wide = option(
        "HOW  Neurons that read more than a core has axons: refuse them, or compute their sums exactly in parts, which "
        "takes ticks (partial-sums).",
        "refuse",
        choices=WIDE,
    )
    wide_ticks: int | None = option(
        "T  Ticks of a partial sum: fewer take more cores.  [default: as many as it counts, on fewest cores]",
        within=(1, MOST_WIDE_TICKS),
    )
    objective: Objective = option(
        "WHAT  What to minimise: deliveries; where ticks last as long as their work also tick (its mean time), energy, "
        "or edp (their product).",
        "deliveries",
        choices=OBJECTIVES,
    )
    max_cores: int | None = option(
        "N  With --objective tick, energy or edp: use at most N cores.  [default: all but dead ones]",
        within=(1, None),
    )
    activity: Path | None = option(
        "FILE  With --objective tick, energy or edp: input frames on which the work of the cores is counted.  "
        "[default: random ones]"
    )

    def meant_for(self, chip: ChipSpec) -> MappingOptions:
        """Return these options with defaults for those that do not apply to the chip's kind of core."""
        return replace(self, **{name: getattr(MappingOptions(), name) for name in self._foreign(chip)})

    def require_meant_for(self, chip: ChipSpec) -> None:
        """Refuse options that have no effect on the chip's kind of core.

        Raises
        ------
        InputError
            If such an option is not at its default.
        """
        for name in self._foreign(chip):
            raise InputError(
                f"{name} = {show(getattr(self, name))}: is about crossbar cores, and chip {chip.name} has "
                f"{chip.core_model} cores, on which it changes nothing; leave it out"
            )

    def _foreign(self, chip: ChipSpec) -> list[str]:
        known, plain = chip.kind.structure.OPTIONS, MappingOptions()
        return [name for name in OF_CROSSBARS if name not in known and getattr(self, name) != getattr(plain, name)]

    def after(self, spent_s: float) -> MappingOptions:
        """Return these options with the time limit, if any, reduced by ``spent_s``; it stays above 0."""
        return self if self.seconds is None else replace(self, seconds=max(_MOMENT, self.seconds - spent_s))

    def __post_init__(self) -> None:
        needs("pins", self.pins, Pins)
        check_options(self)
        object.__setattr__(self, "keep", _names(self.keep))
        if self.wide_ticks is not None and self.wide == "refuse":
            raise InputError(
                f'wide_ticks = {self.wide_ticks}: has no meaning where wide = "refuse"; ask for partial-sums'
            )
        if self.activity is not None:
            object.__setattr__(self, "activity", path_given("activity", self.activity))
        for name in ("max_cores", "activity"):
            if getattr(self, name) is not None and self.objective == "deliveries":
                raise InputError(
                    f"{name} = {getattr(self, name)}: has no meaning where few deliveries are asked for; choose the "
                    "objective tick, energy or edp"
                )


def _names(given: object) -> tuple[str, ...]:
    """Split node names given as one comma-separated string, or take them one by one."""
    names = given.split(",") if isinstance(given, str) else given
    found = tuple(names) if isinstance(names, Iterable) else (None,)
    if not all(isinstance(name, str) and name.strip() for name in found):
        raise InputError(f"keep {given!r}: must be names of nodes, such as ('H1', 'H2'), or 'all'")
    return tuple(str(name).strip() for name in found)
