"""The independent checker: rules for all kinds of cores, on program and chip alone; no code of the mapper in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.packed_rows import ragged_ranges
from neuromap.arrays.parts_of_ticks import ticks_of_frames
from neuromap.arrays.times import largest_gap
from neuromap.arrays.value import Value
from neuromap.errors import ProgramError
from neuromap.files.argument_checks import needs
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram, xy_route
from neuromap.hardware.program.ports import BIAS
from neuromap.hardware.program.program_bytes import CHOSEN_PERIOD, MAX_TICKS, require_well_formed


def dead_cores(program: ChipProgram) -> Iterator[Finding]:
    """``dead-core``: no core of the program sits where the core or its router is dead."""
    defects = program.chip.defects
    if not (defects.cores or defects.routers):
        return
    dead = np.array(defects.cores + defects.routers, np.int64)
    wide = 2**32  # coordinates are 32-bit integers, so every place has a number of its own
    xy = program.coordinates.astype(np.int64)
    yield find(
        "dead-core",
        np.isin(xy[:, 0] * wide + xy[:, 1], dead[:, 0] * wide + dead[:, 1]),
        lambda c: (
            Place(core=c),
            (int(xy[c, 0]), int(xy[c, 1])),
            f"a core that works: on chip {program.chip.name} the core or its router is dead there",
            "coordinate",
        ),
    )


def dead_routes(program: ChipProgram) -> Iterator[Finding]:
    """``dead-route``: no route (x first, then y) to a target crosses a dead router or link, ends included."""
    chip, n_cores = program.chip, program.n_cores
    if not (chip.defects.routers or chip.defects.links):
        return
    xy = program.coordinates.astype(np.int64)
    on_board = np.all((xy >= 0) & (xy < [chip.columns, chip.rows]), axis=1)
    source, neuron, target = program.wires[:3]
    pair = source * n_cores + target
    valid = inside(target, n_cores) & on_board[source]
    # neurons of a core share targets, so each pair of cores is tested once. Sorting the targets core by core is many
    # times faster than sorting all pairs together, and leaves them sorted as a whole
    per_core = np.bincount(source, minlength=n_cores)
    ascending = np.full((n_cores, int(per_core.max(initial=0))), -1, np.int64)
    ascending[source, ragged_ranges(0, per_core)] = np.where(valid, pair, -1)
    ascending.sort(axis=1)
    first = ascending >= 0
    first[:, 1:] &= ascending[:, 1:] != ascending[:, :-1]
    pairs = ascending[first]
    pairs = pairs[on_board[pairs % n_cores]] if len(pairs) else pairs
    pairs = pairs[_blocked(chip, xy[pairs // n_cores], xy[pairs % n_cores])] if len(pairs) else pairs
    yield find(
        "dead-route",
        valid & _among(pair, pairs),
        lambda w: (
            Place(core=int(source[w]), neuron=int(neuron[w])),
            (*map(int, xy[source[w]]), *map(int, xy[target[w]])),
            f"a way, x first, without {_first_defect(chip, xy[source[w]], xy[target[w]])}",
            "route (x, y to x, y)",
        ),
    )


def _blocked(chip: ChipSpec, start: Ints, end: Ints) -> Bools:
    """Test which routes meet a defect, by a search in sorted lists of the defects of rows and columns."""
    # Along a row, routers have the even places (2 x) and links the odd ones (2 x + 1).
    rows, columns = [], []
    for x, y in chip.defects.routers:
        rows.append((y, 2 * x))
        columns.append((x, 2 * y))
    for (x, y), (to_x, to_y) in chip.defects.links:
        if y == to_y:
            rows.append((y, x + to_x))
        else:
            columns.append((x, y + to_y))
    (x, y), (to_x, to_y) = start.T, end.T
    return _meets(rows, 2 * chip.columns, y, x, to_x) | _meets(columns, 2 * chip.rows, to_x, y, to_y)


def _meets(defects: list[tuple[int, int]], length: int, line: Ints, start: Ints, end: Ints) -> Bools:
    dead = np.sort(np.array([number * length + place for number, place in defects], np.int64))
    first = line * length + 2 * np.minimum(start, end)
    last = line * length + 2 * np.maximum(start, end)
    return np.asarray(np.searchsorted(dead, first, side="left") < np.searchsorted(dead, last, side="right"))


def _among(values: Ints, chosen: Ints) -> Bools:
    """Test which values occur in ``chosen``, which is sorted."""
    if not len(chosen):
        return np.zeros(values.shape, bool)
    return np.asarray(chosen[np.minimum(np.searchsorted(chosen, values), len(chosen) - 1)] == values)


def _first_defect(chip: ChipSpec, start: Ints, end: Ints) -> str:
    """Name the first dead router or link on a route, walking it hop by hop."""
    routers, links = set(chip.defects.routers), set(chip.defects.links)
    before = None
    for place in xy_route((int(start[0]), int(start[1])), (int(end[0]), int(end[1]))):
        if before is not None and (min(before, place), max(before, place)) in links:
            return f"the dead link {before} - {place}"
        if place in routers:
            return f"the dead router {place}"
        before = place
    raise AssertionError("only blocked routes are described")


# Broken rules as data, and how rules report many at once.


@dataclass(frozen=True)
class Place:
    """A place in a program; fields that do not apply are ``None``, all of them for the program as a whole."""

    core: int | None = None  # row of ``Program.coordinates``
    # neuron, axon: within the core
    neuron: int | None = None
    axon: int | None = None
    axon_type: int | None = None  # axon type of a weight
    # host_row, output_row: row of the host or output table
    host_row: int | None = None
    output_row: int | None = None

    def __str__(self) -> str:
        return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in vars(self).items() if value is not None)


@dataclass(frozen=True)
class Violation:
    """One value of a program that breaks a rule of its chip."""

    rule: str  # name of the rule, as listed in ``docs/program-file.md``
    place: Place  # where
    found: int | tuple[int, ...]  # the value
    bound: str  # what is allowed
    message: str  # place, value, bound and rule in one line


@dataclass(frozen=True, eq=False)
class Finding(ReadOnly, Value):
    """All violations of one rule by one array: positions, and how to describe one of them."""

    rule: str  # name of the rule
    positions: Ints  # (n, axes): indices of the offending entries
    # from a position to its place, value, bound and name of the value
    describe: Callable[[tuple[int, ...]], tuple[Place, int | tuple[int, ...], str, str]]

    def __len__(self) -> int:
        return len(self.positions)

    def violation(self, i: int) -> Violation:
        """Describe the i-th offending entry."""
        place, found, bound, what = self.describe(tuple(int(k) for k in self.positions[i]))
        return Violation(
            rule=self.rule,
            place=place,
            found=found,
            bound=bound,
            message=f"{place}{': ' if str(place) else ''}{what} is {found}; needs {bound} (rule {self.rule})",
        )


_NOTHING = Finding("", np.empty((0, 0), np.int64), lambda position: (Place(), 0, "", ""))


def find(
    rule: str,
    offending: Bools,
    describe: Callable[..., tuple[Place, int | tuple[int, ...], str, str]],
) -> Finding:
    """Turn a mask into a finding; ``describe`` takes one index per axis of the mask."""
    if not offending.any():  # nearly always, and cheaper to test than to search
        return _NOTHING
    return Finding(rule, np.argwhere(offending).astype(np.int64), lambda position: describe(*position))


# Axes of program arrays, as fields of :class:`Place`.
CORES, NEURONS, AXONS, WEIGHTS = ("core",), ("core", "neuron"), ("core", "axon"), ("core", "neuron", "axon_type")
HOST_ROWS, OUTPUT_ROWS = ("host_row",), ("output_row",)


def find_values(
    rule: str, values: NDArray[Any], wrong: Bools, bound: str, what: str, axes: tuple[str, ...] = NEURONS
) -> Finding:
    """Report the values of an array with these axes that the mask ``wrong`` marks."""
    return find(rule, wrong, lambda *at: (Place(**dict(zip(axes, at, strict=True))), int(values[at]), bound, what))


def in_range(
    rule: str, values: NDArray[np.integer], bounds: tuple[int, int], what: str, axes: tuple[str, ...] = NEURONS
) -> Finding:
    """Report the values of an array with these axes that are out of range."""
    least, greatest = bounds
    return find_values(rule, values, (values < least) | (values > greatest), f"{least} to {greatest}", what, axes)


def inside(values: NDArray[np.integer], end: int | NDArray[np.int64]) -> Bools:
    """Test which values lie in 0 to ``end - 1``."""
    return np.asarray((values >= 0) & (values < end))


# From a well-formed program to findings.
Rule: TypeAlias = Callable[[Any], Iterator[Finding]]


class Rules(NamedTuple):
    """Rules for programs of one kind of core."""

    # If a rule of ``starts`` is broken, no other can be checked.

    starts: tuple[Rule, ...]
    indices: tuple[Rule, ...]
    chip: tuple[Rule, ...]
    mapped: tuple[Rule, ...]


# Labels and host tables: values that index something. Invalid ones would make an engine read past an array.


def labels(program: ChipProgram) -> Iterator[Finding]:
    """``neuron-label``: a label is -1 (then its index is 0), or a neuron of a node."""
    node, index = program.neuron_node, program.neuron_index
    wrong_node = (node < -1) | (node >= len(program.nodes))
    bound = f"-1 or a node 0 to {len(program.nodes) - 1}"
    yield find_values("neuron-label", node, wrong_node, bound, "node label")
    wrong_index = ~wrong_node & ~inside(index, _sizes(program, node, without=1))
    bound = "a neuron of its node, or 0 without a node"
    yield find_values("neuron-label", index, wrong_index, bound, "index label")


def kinds_of_relays(program: ChipProgram) -> Iterator[Finding]:
    """``splitter-label`` and ``part-label``: either carries a label and is a relay; counts of both rely on it."""
    both = ("splitter-label", "splitter", program.is_splitter), ("part-label", "part", program.is_part)
    for rule, kind, marks in both:
        if marks is not None:
            yield find(
                rule,
                marks & (~program.is_relay | (program.neuron_node < 0)),
                lambda c, n, kind=kind: (
                    Place(core=c, neuron=n),
                    (int(program.neuron_node[c, n]), int(program.is_relay[c, n])),
                    f"a node, and 1: a {kind} is a relay",
                    f"label (node, relay) of a {kind}",
                ),
            )


# Bound of the values of bias rows, which are 0 to one less.
_VALUES = 2**24


def host_rows(program: ChipProgram) -> Iterator[Finding]:
    """``host-row`` and ``host-arrival``: rows feed axons in use with neurons of nodes, at tick 0 or later."""
    host = program.host
    first = host.first_frame.astype(np.int64)
    wrong_node = (host.node < BIAS) | (host.node >= len(program.nodes))
    # where nodes send values, bias rows give the value in place of a neuron
    without, none = (1, "0") if program.value_ranges is None else (_VALUES, f"a value 0 to {_VALUES - 1}")
    wrong_index = ~wrong_node & ~inside(host.index, _sizes(program, host.node, without=without))
    columns: list[tuple[str, NDArray[np.signedinteger], NDArray[np.bool_], str]] = [
        ("node", host.node, wrong_node, "a position in nodes, or -1 for bias"),
        ("index", host.index, wrong_index, f"a neuron of its node, or {none} for bias"),
        ("core", host.core, ~inside(host.core, program.n_cores), f"a core 0 to {program.n_cores - 1}"),
        ("axon", host.axon, ~inside(host.axon, program.chip.axons), f"an axon 0 to {program.chip.axons - 1}"),
        ("first frame", host.first_frame, ~inside(first, 2), "0 or 1"),
    ]
    for what, values, wrong, bound in columns:
        yield find_values("host-row", values, wrong, bound, what, HOST_ROWS)
    # beyond int64 a product would wrap, so the two bounds are checked one after the other
    far = (host.arrival < -MAX_TICKS) | (host.arrival > MAX_TICKS)
    part = np.zeros(len(host), np.int64) if host.part is None else host.part
    earliest = np.where(far, 0, host.arrival) + ticks_of_frames(part, program.period, np.clip(first, 0, 1))
    bound = f"a tick {-MAX_TICKS} to {MAX_TICKS}"
    yield find_values("host-arrival", host.arrival, far, bound, "arrival", HOST_ROWS)
    what = "arrival of the first delivered frame"
    yield find_values("host-arrival", earliest, earliest < 0, "tick 0 or later", what, HOST_ROWS)


def output_rows(program: ChipProgram) -> Iterator[Finding]:
    """``output-row``: rows read neurons of cores in use as neurons of nodes, no two rows the same neuron."""
    outputs = program.outputs
    wrong_node = ~inside(outputs.node, len(program.nodes))
    wrong_index = ~wrong_node & ~inside(outputs.index, _sizes(program, outputs.node, without=0))
    neurons = program.chip.neurons
    columns = [
        ("node", outputs.node, wrong_node, "a position in nodes"),
        ("index", outputs.index, wrong_index, "a neuron of its node"),
        ("core", outputs.core, ~inside(outputs.core, program.n_cores), f"a core 0 to {program.n_cores - 1}"),
        ("neuron", outputs.neuron, ~inside(outputs.neuron, neurons), f"a neuron 0 to {neurons - 1}"),
    ]
    for what, values, wrong, bound in columns:
        yield find_values("output-row", values, wrong, bound, what, OUTPUT_ROWS)
    readers, what = _times_of_pair(outputs.core, outputs.neuron), "number of rows that read its neuron"
    yield find_values("output-row", readers, readers > 1, "1", what, OUTPUT_ROWS)


def row_kinds(program: ChipProgram) -> Iterator[Finding]:
    """``node-kind``: the host delivers frames of input nodes, and what is read out is an output node."""
    kinds = np.array([*(port.kind for port in program.nodes), ""])
    for rows, node, wanted in (
        (HOST_ROWS, program.host.node, "input"),
        (OUTPUT_ROWS, program.outputs.node, "output"),
    ):
        kind = kinds[np.where(inside(node, len(program.nodes)), node, -1)]
        wrong = np.asarray((kind != wanted) & (kind != ""))
        yield find_values("node-kind", node, wrong, f"a node of kind {wanted}", "node", rows)


def _sizes(program: ChipProgram, node: NDArray[np.int32], *, without: int) -> NDArray[np.int64]:
    """Size of each entry's node; ``without`` where it has none or names one that does not exist."""
    sizes = np.array([*(port.size for port in program.nodes), without], dtype=np.int64)
    return np.asarray(sizes[np.where(inside(node, len(program.nodes)), node, -1)])


def _times_of_pair(one: NDArray[np.int32], other: NDArray[np.int32]) -> NDArray[np.int64]:
    """Count how often each pair occurs; 32-bit values are packed so that NumPy sorts numbers, not rows."""
    pairs = (one.astype(np.int64) << 32) | other.astype(np.uint32)
    _, inverse, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse])


# Rules for labels and host tables, which all programs have.
TABLES = (labels, kinds_of_relays, host_rows, output_rows, row_kinds)


# Places and routes on the board; invalid indices are skipped.


def coordinates(program: ChipProgram) -> Iterator[Finding]:
    """``coordinate-on-grid`` and ``coordinate-unique``: every core lies on the board, no two in one place."""
    chip, xy = program.chip, program.coordinates
    outside = np.any((xy < 0) | (xy >= np.array([chip.columns, chip.rows])), axis=1)

    grid, doubled = f"x 0 to {chip.columns - 1}, y 0 to {chip.rows - 1}", _times_of_pair(xy[:, 0], xy[:, 1]) > 1
    for rule, wrong, bound in (
        ("coordinate-on-grid", outside, grid),
        ("coordinate-unique", doubled, "a place of its own"),
    ):
        yield find(rule, wrong, lambda c, bound=bound: (Place(core=c), (*xy[c].tolist(),), bound, "coordinate"))


def reach(program: ChipProgram) -> Iterator[Finding]:
    """``target-reach``: no target lies farther away than the chip's spikes can address."""
    limit = program.chip.reach
    if limit is None:
        return
    wires = program.wires
    valid = inside(wires.target_core, program.n_cores)
    xy = program.coordinates.astype(np.int64)
    if not len(xy):
        return
    distance = np.abs(xy[np.where(valid, wires.target_core, 0)] - xy[wires.core])
    yield find(
        "target-reach",
        valid & np.any(distance > np.array(limit), axis=1),
        lambda w: (
            Place(core=int(wires.core[w]), neuron=int(wires.neuron[w])),
            (int(distance[w, 0]), int(distance[w, 1])),
            f"at most {limit[0]} along x and {limit[1]} along y",
            "distance to the target",
        ),
    )


# Rules for places and routes on the board, which all programs have.
BOARD = (reach, dead_cores, dead_routes)


# Rules that mapped programs keep so that the chip computes the rollout (``docs/mapping.md``). A handwritten program
# may break them and still run.


def bias_frames(program: ChipProgram) -> Iterator[Finding]:
    """``bias-frame``: bias spikes start with frame 1; in frame 0 every node but the inputs is 0."""
    first = program.host.first_frame
    wrong = (program.host.node == BIAS) & (first != 1)
    yield find_values("bias-frame", first, wrong, "1 on bias rows", "first frame", HOST_ROWS)


def chosen_periods(program: ChipProgram) -> Iterator[Finding]:
    """``frame-period``: frames follow each other no closer than the execution's label says."""
    # They may be farther apart: splitters may need more update steps than were chosen.
    chosen = CHOSEN_PERIOD.fullmatch(program.execution)
    least = 1 if chosen is None else int(chosen[1]) * program.ticks_per_step
    yield find(
        "frame-period",
        np.asarray(program.period < least),
        lambda: (
            Place(),
            largest_gap(program.period),
            f"{least} ticks or more for {program.execution}",
            "frame period in ticks",
        ),
    )


def input_labels(program: ChipProgram) -> Iterator[Finding]:
    """``node-kind``: no neuron computes an input node."""
    label = program.neuron_node
    is_input = np.array([*(port.kind == "input" for port in program.nodes), False])
    wrong = is_input[np.where(inside(label, len(program.nodes)), label, -1)]
    bound = "a node that is not an input (the host delivers those)"
    yield find_values("node-kind", label, wrong, bound, "node label")


def output_labels(program: ChipProgram) -> Iterator[Finding]:
    """``output-label``: a row reads the neuron that carries its label, and no two rows read the same label."""
    outputs = program.outputs
    valid = inside(outputs.core, program.n_cores) & inside(outputs.neuron, program.chip.neurons)
    core, neuron = np.where(valid, outputs.core, 0), np.where(valid, outputs.neuron, 0)
    if not len(outputs) or not program.n_cores:
        return
    node, index = program.neuron_node[core, neuron], program.neuron_index[core, neuron]
    yield find(
        "output-label",
        valid & ((node != outputs.node) | (index != outputs.index) | program.is_relay[core, neuron]),
        lambda row: (
            Place(core=int(core[row]), neuron=int(neuron[row]), output_row=row),
            (int(node[row]), int(index[row])),
            f"({outputs.node[row]}, {outputs.index[row]}) and no relay",
            "label (node, index)",
        ),
    )
    rows, what = _times_of_pair(outputs.node, outputs.index), "number of rows for its node and index"
    yield find_values("output-label", rows, rows > 1, "1", what, OUTPUT_ROWS)


def check_program(program: ChipProgram, *, mapped: bool | None = None, most: int = 1000) -> list[Violation]:
    """List all violations of the rules of its chip by a program.

    Parameters
    ----------
    program : ChipProgram
    mapped : bool, optional
        Whether to check the rules of mapped programs too (an axon has one source, and so on;
        ``docs/program-file.md``). By default, only if the program names an execution: a handwritten program names
        none and may, for example, let several neurons spike on one axon.
    most : int
        Greatest number of violations listed per rule and array.

    Returns
    -------
    list of Violation
        Empty for a legal program.

    Raises
    ------
    ProgramError
        If the program is not well formed (wrong dtypes, shapes, labels or clocks), so that no rule can be checked.
    """
    needs("check_program", program, ChipProgram, ProgramError)
    return [
        finding.violation(i) for finding in _findings(program, mapped=mapped) for i in range(min(len(finding), most))
    ]


def require_legal(program: ChipProgram, *, mapped: bool | None = None, indices_only: bool = False) -> None:
    """Refuse a program that breaks a rule of its chip."""
    # Programs never change, so passed rules are remembered: engines check again what the mapper has checked.
    asked = frozenset(_rules(program, mapped=mapped, indices_only=indices_only))
    kept: frozenset[Rule] | None = vars(program).get("_kept_rules")
    if kept is not None and asked <= kept:
        return
    broken = [f for f in _findings(program, mapped=mapped, indices_only=indices_only) if len(f)]
    if not broken:
        vars(program)["_kept_rules"] = asked | (kept or frozenset())
        return
    number = sum(len(finding) for finding in broken)
    more = f"; {number - 1} more violations" if number > 2 else "; 1 more violation" if number == 2 else ""
    raise ProgramError(f"program {program.name} on chip {program.chip.name}: {broken[0].violation(0).message}{more}")


def _rules(program: ChipProgram, *, mapped: bool | None, indices_only: bool) -> tuple[Rule, ...]:
    """Return the rules to check once a program keeps those of ``starts``."""
    of_kind = program.chip.kind.rules.RULES
    if indices_only:
        return of_kind.indices
    is_mapped = program.execution != "" if mapped is None else mapped
    return of_kind.indices + of_kind.chip + (of_kind.mapped if is_mapped else ())


def _findings(program: ChipProgram, *, mapped: bool | None, indices_only: bool = False) -> Iterator[Finding]:
    require_well_formed(program)
    broken = [f for rule in program.chip.kind.rules.RULES.starts for f in rule(program) if len(f)]
    if broken:
        yield from broken
        return
    for rule in _rules(program, mapped=mapped, indices_only=indices_only):
        yield from rule(program)
