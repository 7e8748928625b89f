"""ChipSpec: an immutable description of a chip.

Files under ``hardware_models/`` (or the user's own) are read by :mod:`neuromap.hardware.chip.chip_file`. Unpublished
figures are left out: absent is not zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.cores.core_kind import DEFAULT, CoreFigures, CoreKind, core_kind
from neuromap.errors import ChipError
from neuromap.files.messages import show
from neuromap.render.numbers import seconds
from neuromap.render.value import Card

# Defects of a chip or board: cores, routers and links that do not work.
Core = tuple[int, int]
Link = tuple[Core, Core]
_PAIR = "are coordinates [x, y], integers from 0"
_NEIGHBOURS = "are two cores side by side, [x, y] and [x', y']: x or y differs by 1"


@dataclass(frozen=True)
class Defects(Card):
    """Dead cores, routers and links, in coordinates of the whole board.

    Order and repetition do not matter: the tuples are sorted and deduplicated.

    Attributes
    ----------
    cores : tuple of (x, y)
        Dead cores: they hold no neurons, but their routers forward spikes.
    routers : tuple of (x, y)
        Dead routers: their cores are unusable too, and no route may start, end or pass there.
    links : tuple of ((x, y), (x', y'))
        Dead links between neighbouring routers. A link is dead in both directions; it is stored with the lesser
        coordinates first.

    Raises
    ------
    ChipError
        If an entry is not a pair of integers from 0, or a link joins cores that are not side by side. That entries
        lie on the board is checked when the defects are joined with a chip.
    """

    cores: tuple[Core, ...] = ()
    routers: tuple[Core, ...] = ()
    links: tuple[Link, ...] = ()

    def __post_init__(self) -> None:
        for key in ("cores", "routers"):
            entries = {_core(entry, key) for entry in _entries(getattr(self, key), key)}
            object.__setattr__(self, key, tuple(sorted(entries)))
        links = {_link(entry) for entry in _entries(self.links, "links")}
        object.__setattr__(self, "links", tuple(sorted(links)))

    def __bool__(self) -> bool:
        return bool(self.cores or self.routers or self.links)

    def require_on_board(self, columns: int, rows: int) -> None:
        """Refuse entries that lie beyond a board.

        Parameters
        ----------
        columns, rows : int
            Cores of the board along x and y.

        Raises
        ------
        ChipError
            Naming the first such entry.
        """
        for key, entries in (("cores", self.cores), ("routers", self.routers), ("links", self.links)):
            for entry in entries:
                # of a link, the second core is the farther one along both axes
                x, y = entry[1] if key == "links" else entry  # type: ignore[misc]
                if x >= columns or y >= rows:  # type: ignore[operator]
                    raise ChipError(
                        f"defects.{key}: found {show(entry)}; allowed are x from 0 to {columns - 1} and y from 0 to "
                        f"{rows - 1}, counted over the whole board; delete it or choose the board that it is about"
                    )


def _entries(value: Any, key: str) -> Iterable[Any]:
    plain = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(plain, str | bytes) or not isinstance(plain, Iterable):
        raise ChipError(f"defects.{key}: found {show(value)}; allowed is a list")
    return plain


def _core(value: Any, key: str) -> Core:
    if not _is_pair(value) or any(isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0 for n in value):
        raise ChipError(f"defects.{key}: found {show(value)}; allowed {_PAIR}")
    return int(value[0]), int(value[1])


def _link(value: Any) -> Link:
    if not _is_pair(value) or not all(map(_is_pair, value)):
        raise ChipError(f"defects.links: found {show(value)}; allowed {_NEIGHBOURS}")
    one, other = sorted(_core(end, "links") for end in value)
    if abs(one[0] - other[0]) + abs(one[1] - other[1]) != 1:
        raise ChipError(f"defects.links: found {show((one, other))}; allowed {_NEIGHBOURS}")
    return one, other


def _is_pair(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return bool(value.shape[:1] == (2,))
    return isinstance(value, Sequence) and not isinstance(value, str | bytes) and len(value) == 2


@dataclass(frozen=True)
class NeuronRules(Card):
    """Variants of the chip's neuron equations, where sources disagree (Cassidy et al. 2013)."""

    # of weights and leak: with 9 bits -255..255, or -256..255
    number_format: Literal["sign_magnitude", "twos_complement"] = "sign_magnitude"
    # behaviour of a potential at its rails, after every single event in ascending axon order
    overflow: Literal["saturate", "wrap"] = "saturate"
    negative_comparison: Literal["<", "<="] = "<"  # comparison with the negative threshold (step 5)
    # whether thresholds may be negative (RANC) or are unsigned (TrueNorth); then ``threshold_bits`` includes the sign
    signed_threshold: bool = False
    # whether synapses, leak and thresholds may be stochastic (TrueNorth); if not, programs must do without
    stochastic: bool = False


@dataclass(frozen=True)
class ChipSpec(Card):
    """A chip (or board of equal chips) of neurosynaptic cores.

    Attributes
    ----------
    name : str
        Name of the chip.
    cores : tuple of int
        Columns and rows of cores on one chip.
    chips : tuple of int
        Columns and rows of chips on the board.
    tile : tuple of int
        Columns and rows of cores that share a router: hops are counted between tiles.
    axons, neurons, axon_types : int
        Per core; synapse-list cores have no axon types: 0.
    weight_bits, leak_bits, threshold_bits, potential_bits : int
        Widths; weights, leak and potential include the sign, thresholds are unsigned unless
        ``rules.signed_threshold``. Synapse-list cores have no leak: 0 bits.
    targets_per_neuron : int
        Axons that one neuron can reach.
    delay : tuple of int
        Least and greatest delay of a spike in ticks.
    tick_seconds : float
        Length of one tick; if ticks are timed, a nominal length until work has been counted.
    is_timed : bool
        Whether a tick lasts as long as its work and a barrier instead of ``tick_seconds``; see
        :func:`neuromap.hardware.chip.chip_spec.tick_costs`.
    barrier_seconds : tuple of (int, float)
        Time of the barrier by tiles in use: pairs of a number of tiles, ascending, and the seconds from that number on.
    reach : tuple of int or None
        Farthest target in cores along x and y; ``None`` where unlimited.
    rules : NeuronRules
        Variants of the neuron model.
    router, energy, timing : mapping of str to float
        Optional figures by their names in the chip file (``timing``: those of its table ``[time]``); absent figures are
        absent keys.
    energy_included : tuple of str
        Keys of ``energy`` whose share the other figures already include, so that they are never added.
    defects : Defects
        Cores, routers and links that do not work, in coordinates of the board.
    core_figures : CoreFigures or None
        Figures specific to its kind of core, such as the limits of synapse-list cores; ``None`` for crossbars.
    description, source : str
        Description of the chip, and sources of its figures.

    Raises
    ------
    ChipError
        If ``defects`` are not :class:`Defects`, or one lies beyond the board.
    """

    name: str
    cores: tuple[int, int]
    chips: tuple[int, int]
    axons: int
    neurons: int
    axon_types: int
    weight_bits: int
    leak_bits: int
    threshold_bits: int
    potential_bits: int
    targets_per_neuron: int = 1
    delay: tuple[int, int] = (1, 15)
    tick_seconds: float = 1e-3
    reach: tuple[int, int] | None = None
    rules: NeuronRules = NeuronRules()
    router: Mapping[str, float] = field(default_factory=dict)
    energy: Mapping[str, float] = field(default_factory=dict)
    energy_included: tuple[str, ...] = ()
    timing: Mapping[str, float] = field(default_factory=dict)
    tile: tuple[int, int] = (1, 1)
    is_timed: bool = False
    barrier_seconds: tuple[tuple[int, float], ...] = ()
    description: str = ""
    source: str = ""
    defects: Defects = field(default_factory=Defects)
    core_figures: CoreFigures | None = None

    def __post_init__(self) -> None:
        for name in ("router", "energy", "timing"):
            object.__setattr__(self, name, ReadOnlyMapping(getattr(self, name)))
        object.__setattr__(self, "energy_included", tuple(self.energy_included))
        if not isinstance(self.defects, Defects):
            raise ChipError(f"chip {self.name}: defects: found {self.defects!r:.60}; needs Defects, empty for none")
        if self.defects:
            self.defects.require_on_board(self.columns, self.rows)

    @property
    def core_model(self) -> str:
        """Name of its kind of core."""
        return DEFAULT if self.core_figures is None else self.core_figures.kind

    @property
    def kind(self) -> CoreKind:
        """Kind of core."""
        return core_kind(self.core_model)

    @property
    def lists(self) -> Any:
        """Limits of its synapse-list cores.

        Raises
        ------
        ChipError
            If its cores are of another kind.
        """
        limits = getattr(self.core_figures, "lists", None)
        if limits is None:
            raise ChipError(f"chip {self.name}: has {self.core_model} cores; what is asked needs synapse-list cores")
        return limits

    @property
    def columns(self) -> int:
        """Cores along x over the whole board."""
        return self.cores[0] * self.chips[0]

    @property
    def rows(self) -> int:
        """Cores along y over the whole board."""
        return self.cores[1] * self.chips[1]

    @property
    def routers(self) -> tuple[int, int]:
        """Routers along x and y over the whole board: one for every tile."""
        return self.columns // self.tile[0], self.rows // self.tile[1]

    @property
    def n_cores(self) -> int:
        """Cores of the whole board, dead ones included."""
        return self.columns * self.rows

    @property
    def n_usable_cores(self) -> int:
        """Cores that can hold neurons: neither the core nor its router is dead."""
        return self.n_cores - len({*self.defects.cores, *self.defects.routers})

    def with_defects(self, defects: Defects) -> Self:
        """Return a copy of this chip with these defects.

        Parameters
        ----------
        defects : Defects
            All its defects; ``Defects()`` for none.

        Returns
        -------
        ChipSpec

        Raises
        ------
        ChipError
            If a defect lies beyond the board.
        """
        return replace(self, defects=defects)

    def _facts(self) -> dict[str, object]:
        n_chips = self.chips[0] * self.chips[1]
        return {
            "name": self.name,
            "cores": f"{self.columns} x {self.rows} on {n_chips} chip{'s' * (n_chips != 1)}",
            "usable cores": self.n_usable_cores,
            "axons x neurons per core": f"{self.axons} x {self.neurons}",
            **({"axon types": self.axon_types} if self.axon_types else {"core model": self.core_model}),
            "weights": f"{self.weight_range[0]} to {self.weight_range[1]}",
            "delay": f"{self.delay[0]} to {self.delay[1]} ticks",
            "tick": "as long as its work" if self.is_timed else seconds(self.tick_seconds),
        }

    def _signed_range(self, bits: int) -> tuple[int, int]:
        top = 2 ** (bits - 1) - 1
        return (-top if self.rules.number_format == "sign_magnitude" else -top - 1, top)

    @property
    def weight_range(self) -> tuple[int, int]:
        """Least and greatest weight of one axon type."""
        return self._signed_range(self.weight_bits)

    @property
    def leak_range(self) -> tuple[int, int]:
        """Least and greatest leak per tick."""
        return self._signed_range(self.leak_bits)

    @property
    def threshold_range(self) -> tuple[int, int]:
        """Least and greatest threshold."""
        if self.rules.signed_threshold:
            return (-(2 ** (self.threshold_bits - 1)), 2 ** (self.threshold_bits - 1) - 1)
        return (0, 2**self.threshold_bits - 1)

    @property
    def potential_range(self) -> tuple[int, int]:
        """Rails of the potential (two's complement)."""
        return (-(2 ** (self.potential_bits - 1)), 2 ** (self.potential_bits - 1) - 1)


_FIGURES = {
    "access": "neuron_access_seconds",
    "update": "neuron_update_seconds",
    "fire": "fire_seconds",
    "spike": "spike_seconds",
    "arrival": "arrival_seconds",
    "event": "synaptic_event_seconds",
}


@dataclass(frozen=True)
class TickCosts(Card):
    """Seconds of each kind of work in a tick; figures of the tables ``[time]`` and ``[router]`` of a chip file.

    Attributes
    ----------
    access, update : float
        Access to a neuron in use, in every tick; extra time of an active one, whose potential is not 0, that has a
        bias, or that a synapse has reached.
    fire, spike, arrival, event : float
        A neuron that fires; a spike sent to one core; a spike that comes in on one axon; a synapse on that axon.
    hop_x, hop_y : float
        A link between two routers.
    barrier : tuple of (int, float)
        Tiles in use, ascending from 1, and the time of the barrier from that number on.
    """

    access: float
    update: float
    fire: float
    spike: float
    arrival: float
    event: float
    hop_x: float
    hop_y: float
    barrier: tuple[tuple[int, float], ...]

    def whole(self, unit: float) -> tuple[int, ...]:
        """Return all but the barrier as integer multiples of ``unit`` seconds, in the order above, for exact sums."""
        return tuple(round(figure / unit) for figure in astuple(self)[:-1])

    def barrier_of(self, n_tiles: int) -> float:
        """Return the barrier time of a program that uses ``n_tiles`` tiles, in seconds."""
        return max((seconds for tiles, seconds in self.barrier if tiles <= max(1, n_tiles)), default=0.0)


def tick_costs(chip: ChipSpec) -> TickCosts | None:
    """Return the time that each kind of work takes on a chip.

    Parameters
    ----------
    chip : ChipSpec
        Only its tables ``[time]`` and ``[router]`` matter.

    Returns
    -------
    TickCosts or None
        ``None`` if ticks are of fixed length. Figures that a file with timed ticks leaves out are 0.
    """
    if not chip.is_timed:
        return None
    figures = {name: chip.timing.get(key, 0.0) for name, key in _FIGURES.items()}
    if "neuron_access_seconds" not in chip.timing:  # then updates are those of all neurons in use
        figures |= {"access": figures["update"], "update": 0.0}
    hops = {f"hop_{axis}": chip.router.get(f"hop_{axis}_seconds", chip.router.get("hop_seconds", 0.0)) for axis in "xy"}
    return TickCosts(**figures, **hops, barrier=chip.barrier_seconds)


def tick_words(chip: ChipSpec) -> str:
    """Describe the length of a tick."""
    return "ticks as long as their work" if chip.is_timed else f"1 tick = {seconds(chip.tick_seconds)}"


# Unusable cores and blocked routes of a chip with defects.
#
# A spike travels along x first, then along y. :func:`route_blocked` tests millions of routes at once, with prefix sums
# along rows and columns; the checker has its own method (:mod:`neuromap.hardware.checker`).


@dataclass(frozen=True, eq=False)
class DefectMap(ReadOnly, Card):
    """Defects of a board as arrays, made by :func:`defect_map`, for repeated queries."""

    # (rows, columns): indexed ``[y, x]``: whether no neurons or axons may be placed there
    unusable: NDArray[np.bool_]
    # (rows, 2 * columns): dead routers and links of every row, counted from the left. Routers have the even places (2
    # x), the links between them the odd ones (2 x + 1); entry i counts the places before i
    along_x: NDArray[np.int32]
    along_y: NDArray[np.int32]  # (columns, 2 * rows): the same for every column, counted from y = 0

    def blocked(self, start: NDArray[np.integer], end: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Test which routes are blocked; see :func:`route_blocked`."""
        # shapes: start, end (k, 2); returns (k,)
        rows, columns = self.unusable.shape
        for places in map(np.asarray, (start, end)):
            if places.ndim != 2 or places.shape[1] != 2:
                raise ChipError(f"route: found coordinates of shape {places.shape}; needs (k, 2)")
            if not ((places >= 0) & (places < (columns, rows))).all():
                raise ChipError(f"route: start or end lies outside of the board of {columns} x {rows} cores")
        return meet_defects(self.along_x, self.along_y, np.asarray(start, np.int64), np.asarray(end, np.int64))


def meet_defects(
    along_x: NDArray[np.int32], along_y: NDArray[np.int32], start: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Test which routes meet a dead router or link, by the counts of a :class:`DefectMap`."""
    # shapes: start, end (k, 2); returns (k,)
    (x, y), (to_x, to_y) = start.T, end.T
    return np.asarray(_crosses(along_x, y, x, to_x) | _crosses(along_y, to_x, y, to_y))


def _crosses(
    counted: NDArray[np.int32], line: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Test for defects between two routers of a row or column, both included."""
    first, last = np.minimum(start, end), np.maximum(start, end)
    return np.asarray(counted[line, 2 * last + 1] != counted[line, 2 * first])


def defect_map(chip: ChipSpec) -> DefectMap:
    """Convert a chip's defects to arrays."""
    rows, columns = chip.rows, chip.columns
    in_rows, in_columns = np.zeros((rows, 2 * columns), bool), np.zeros((columns, 2 * rows), bool)
    for x, y in chip.defects.routers:
        in_rows[y, 2 * x] = in_columns[x, 2 * y] = True
    for (x, y), (_, to_y) in chip.defects.links:
        if y == to_y:
            in_rows[y, 2 * x + 1] = True
        else:
            in_columns[x, 2 * y + 1] = True
    return DefectMap(unusable(chip), _before(in_rows), _before(in_columns))


def _before(marks: NDArray[np.bool_]) -> NDArray[np.int32]:
    counts = np.zeros(marks.shape, np.int32)
    np.cumsum(marks[:, :-1], axis=1, out=counts[:, 1:])
    return counts


def unusable(chip: ChipSpec) -> NDArray[np.bool_]:
    """Mask the places where the core or its router is dead."""
    # shapes: returns (rows, columns)
    result = np.zeros((chip.rows, chip.columns), bool)
    places = np.array(chip.defects.cores + chip.defects.routers, np.int64).reshape(-1, 2)
    result[places[:, 1], places[:, 0]] = True
    return result


def route_blocked(chip: ChipSpec, start: NDArray[np.integer], end: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Test which routes, along x first and then along y, meet a dead router or link."""
    # Dead cores block nothing. A route from a core to itself visits its own router. For repeated queries, make one
    # :func:`defect_map`.
    # shapes: start, end (k, 2); returns (k,)
    return defect_map(chip).blocked(start, end)
