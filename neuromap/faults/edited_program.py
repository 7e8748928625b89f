"""From a program and edits to the program that runs then, and the state that it goes on from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.errors import InputError
from neuromap.faults.struck_program import Links, cut_ways, links_in_use, with_stuck, without_ways
from neuromap.files.argument_checks import needs, whole_number
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.render.value import Card
from neuromap.simulation.engine.engine import CurrentState, EngineState


def apply_edits(program: ChipProgram, edits: Sequence[Edit]) -> ChipProgram:
    """Change a program by hand.

    Parameters
    ----------
    program : ChipProgram
        As it was mapped.
    edits : sequence of Edit
        In any order, but for two of one threshold or weight: thresholds add up, the last weight counts.

    Returns
    -------
    ChipProgram
        The very same where there are no edits.

    Raises
    ------
    InputError
        If the program has no such node, neuron, core or link, or the chip cannot hold the value.
    """
    needs("apply_edits", program, ChipProgram)
    now = program
    for edit in edits:
        if isinstance(edit, ThresholdEdit):
            now = now.chip.kind.faults.with_threshold(now, places_of(now, edit.node, edit.index), edit)
        elif isinstance(edit, WeightEdit):
            core, neuron = places_of(now, edit.target, edit.target_index)
            now = now.chip.kind.faults.with_weight(now, list(zip(core.tolist(), neuron.tolist(), strict=True)), edit)
    dead = [edit for edit in edits if isinstance(edit, DeadLink)]
    if dead:
        links = Links(*(np.array(column, np.int64) for column in zip(*map(_ends, dead), strict=True)))
        _require_links(program, dead)
        now = without_ways(now, cut_ways(program, links, program.wires))
    silent = _silent(program, edits)
    return with_stuck(now, silent, fires=False) if silent.any() else now


def settled_state(program: ChipProgram, edits: Sequence[Edit], state: EngineState) -> EngineState:
    """Take from silent neurons what they hold, so that they do not fire once more.

    Parameters
    ----------
    program : ChipProgram
        As it was mapped.
    edits : sequence of Edit
        Those that are in force from now on.
    state : EngineState
        What the chip holds.

    Returns
    -------
    EngineState
        For :meth:`neuromap.simulation.run.live_run.LiveRun.put`.
    """
    silent = _silent(program, edits)
    if not silent.any():
        return state
    held = state.currents
    if held is not None:
        kept = ~silent[held.due[:, 1], held.due[:, 2]]
        current, resting = (np.where(silent, 0, table) for table in (held.current, held.resting))
        held = CurrentState(current, resting, held.due[kept], held.amounts[kept])
    return replace(state, potentials=np.where(silent, 0, state.potentials), currents=held)


def _silent(program: ChipProgram, edits: Sequence[Edit]) -> Bools:
    silent = np.zeros(program.shape, np.bool_)
    for edit in edits:
        if isinstance(edit, SilentCore):
            if edit.core >= program.n_cores:
                raise InputError(f"core {edit.core}: program {program.name} has cores 0 to {program.n_cores - 1}")
            silent[edit.core] = True
    return silent


def _ends(link: DeadLink) -> tuple[int, int, int]:
    return link.x, link.y, int(link.upwards)


def _require_links(program: ChipProgram, dead: Sequence[DeadLink]) -> None:
    used = links_in_use(program)
    there = set(zip(used.x.tolist(), used.y.tolist(), used.upwards.tolist(), strict=True))
    for link in dead:
        if _ends(link) not in there:
            raise InputError(f"{link.what.removesuffix(' is dead')}: no spike of program {program.name} crosses it")


# Thresholds of neurons in a program, raised or lowered.
_T = TypeVar("_T", bound=np.integer)


def moved(
    table: NDArray[_T],
    at: tuple[Ints, Ints],
    step: int,
    low: int,
    high: int,
    edit: ThresholdEdit,
) -> NDArray[_T]:
    """Add ``step`` for every 1 of the edit, within bounds."""
    if not len(at[0]):
        return table
    held = table[at].astype(np.int64)
    values = held + step * edit.by
    if values.min() < low or values.max() > high:
        least, most = sorted(int(room / step) for room in (low - held.min(), high - held.max()))
        raise InputError(f"{edit.what}: the chip's neurons can change theirs by {least} to {most}; stay within")
    found = table.copy()
    found[at] = values
    return found


# The weight of one connection in a program, changed.


def refusal(edit: WeightEdit, values: Sequence[int]) -> InputError:
    """Make the refusal of a weight that a connection cannot have; ``values`` are those that it can."""
    if not values:
        return InputError(f"{edit.what}: no axon brings {edit.source}[{edit.source_index}] there; choose another pair")
    shown = ", ".join(map(str, values[:12])) + (", ..." if len(values) > 12 else "")
    return InputError(f"{edit.what}: the axons there can add up to {shown}; choose one of these")


# Where the neurons of a node are in a program, and what feeds them.


def position_of(program: ChipProgram, node: str, *, inside: bool) -> int:
    """Find a node by its name."""
    for position, port in enumerate(program.nodes):
        if port.name == node and not (inside and port.kind == "input"):
            return position
    names = ", ".join(port.name for port in program.nodes if not (inside and port.kind == "input"))
    raise InputError(f"node {node!r:.60}: program {program.name} has {names}")


def places_of(program: ChipProgram, node: str, index: int | None) -> tuple[Ints, Ints]:
    """Find cores and neurons that compute a node, or one neuron of it; copies each."""
    position = position_of(program, node, inside=True)
    mine = program.neuron_node == position
    if index is not None:
        mine &= program.neuron_index == index
    whose = f"node {node}" if index is None else f"{node}[{index}]"
    if program.is_part is not None and (mine & program.is_part).any():
        raise InputError(f"{whose}: its sum is cut into parts (docs/wide-neurons.md); edit a neuron that fits a core")
    core, neuron = np.nonzero(mine & ~program.is_relay)
    if not len(core):
        size = program.nodes[position].size
        raise InputError(f"{whose}: is not in program {program.name}; neurons of {node} are 0 to {size - 1}")
    return core, neuron


def axons_from(program: ChipProgram, node: str, index: int, core: int) -> Ints:
    """Find the axons of a core that carry spikes of a neuron: from the host, its copies or its relays."""
    position = position_of(program, node, inside=False)
    host, wires = program.host, program.wires
    fed = (host.core == core) & (host.node == position) & (host.index == index)
    mine = wires.target_core == core
    source = wires.core[mine], wires.neuron[mine]
    sent = (program.neuron_node[source] == position) & (program.neuron_index[source] == index)
    return np.unique(np.concatenate([host.axon[fed].astype(np.int64), wires.target_axon[mine][sent]]))


# Edits as values: what is changed, and where.


_MOST = 2**31 - 1


@dataclass(frozen=True)
class ThresholdEdit(Card):
    """Raise or lower thresholds of a node's neurons, in all copies of a neuron.

    Attributes
    ----------
    node : str
        A node inside the chip.
    by : int
        What is added to the thresholds that the chip's neurons have.
    index : int or None
        The neuron; None for all of the node.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    node: str
    by: int
    index: int | None = None

    def __post_init__(self) -> None:
        _bounded("threshold: by", self.by, -_MOST)
        if self.index is not None:
            _bounded("threshold: index", self.index)

    @property
    def what(self) -> str:
        """The edit in words."""
        whose = f"node {self.node}" if self.index is None else f"{self.node}[{self.index}]"
        return f"threshold of {whose} {self.by:+d}"


@dataclass(frozen=True)
class WeightEdit(Card):
    """Set the weight of a connection between two neurons, in all copies of the target.

    Attributes
    ----------
    source, target : str
        Nodes.
    source_index, target_index : int
        Neurons within them.
    weight : int
        The weight from now on.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    source: str
    source_index: int
    target: str
    target_index: int
    weight: int

    def __post_init__(self) -> None:
        _bounded("weight: source_index", self.source_index)
        _bounded("weight: target_index", self.target_index)
        _bounded("weight: weight", self.weight, -_MOST)

    @property
    def what(self) -> str:
        """The edit in words."""
        return f"weight {self.source}[{self.source_index}] -> {self.target}[{self.target_index}] = {self.weight}"


@dataclass(frozen=True)
class SilentCore(Card):
    """A core none of whose neurons fires; its router still forwards.

    Attributes
    ----------
    core : int
        Its row in the program.

    Raises
    ------
    InputError
        If it is below 0.
    """

    core: int

    def __post_init__(self) -> None:
        _bounded("silent core: core", self.core)

    @property
    def what(self) -> str:
        """The edit in words."""
        return f"core {self.core} is silent"


@dataclass(frozen=True)
class DeadLink(Card):
    """A link between neighbouring routers that loses all spikes, in both directions.

    Attributes
    ----------
    x, y : int
        The router of the lesser coordinates, on the board.
    upwards : bool
        Whether the link leads to y + 1; else to x + 1.

    Raises
    ------
    InputError
        If a coordinate is below 0.
    """

    x: int
    y: int
    upwards: bool

    def __post_init__(self) -> None:
        _bounded("dead link: x", self.x)
        _bounded("dead link: y", self.y)
        if not isinstance(self.upwards, bool):
            raise InputError(f"dead link: upwards = {self.upwards!r:.40}: must be true or false")

    @property
    def what(self) -> str:
        """The edit in words."""
        return f"link ({self.x}, {self.y}) to ({self.x + (not self.upwards)}, {self.y + self.upwards}) is dead"


Edit = ThresholdEdit | WeightEdit | SilentCore | DeadLink
"""Any of them."""


def _bounded(name: str, value: object, least: int = 0) -> None:
    if not least <= whole_number(name, value) <= _MOST:
        raise InputError(f"{name} = {value}: must be {least} to {_MOST}")
