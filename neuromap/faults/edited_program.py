"""Apply faults and edits to a program, and adapt its state; run it for its output frames."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Floats, Ints
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.faults.options import EVERY_KIND, KINDS, Faults
from neuromap.files.argument_checks import needs, whole_number
from neuromap.hardware.chip.chip_spec import Defects, route_blocked
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.render.value import Card
from neuromap.simulation.engine.engine import (
    CurrentState,
    EngineState,
    HostEvents,
    Sent,
    joined,
    make_engine,
    sent_of,
    values_of,
)
from neuromap.simulation.engine.engine_choice import DEFAULT_ENGINE, EngineChoice
from neuromap.simulation.engine.numpy_engine import core_numbers, mix
from neuromap.simulation.noc.traffic import EAST, NORTH, SOUTH, WEST, Mesh, link_loads, ways_of
from neuromap.simulation.run.simulate_batch import BatchJob, simulate_batch
from neuromap.simulation.trace.recording import Recording

# Effects of faults on a program.


class Count(NamedTuple):
    """Number of failures."""

    struck: int  # parts that failed
    at_risk: int  # parts that could fail


class Struck(NamedTuple):
    """A program with faults."""

    program: ChipProgram  # the identical object if nothing failed
    counts: Mapping[str, Count]  # by kind, except dropped spikes, which depend on the run


def strike(program: ChipProgram, faults: Faults) -> Struck:
    """Apply faults to a program.

    Parameters
    ----------
    program : ChipProgram
        Program mapped for a chip without faults, or written by hand.
    faults : Faults
        Faults to apply. Dropped spikes do not change the program: they occur in runs
        (:mod:`neuromap.faults.edited_program`).

    Returns
    -------
    Struck
        The program that the chip now runs, and how many parts at risk failed: cores of the program, links that its
        spikes would cross, neurons in use, synapses. On crossbars a synapse at risk is a crossing of an axon in use
        with a neuron in use, set or not.

    Raises
    ------
    InputError
        If the arguments are not a program and faults.
    """
    needs("strike", program, ChipProgram)
    needs("strike: faults", faults, Faults)
    now, counts = program, {}
    for kind, effect in _EFFECTS.items():
        if kind in faults.rates:
            struck, counts[kind] = effect(now, program, faults)
            now = struck if counts[kind].struck else now
    return Struck(now, ReadOnlyMapping(counts))


def without_ways(program: ChipProgram, cut: Bools) -> ChipProgram:
    """Remove the marked targets of neurons."""
    # shapes: cut (n,)
    return program.chip.kind.faults.without_ways(program, cut)


def with_stuck(program: ChipProgram, stuck: Bools, *, fires: bool) -> ChipProgram:
    """Make neurons never fire, or fire in every tick, whatever their inputs."""
    # shapes: stuck (C, N)
    return program.chip.kind.faults.with_stuck(program, stuck, fires)


def _flipped(now: ChipProgram, before: ChipProgram, faults: Faults) -> tuple[ChipProgram, Count]:
    found, struck, at_risk = now.chip.kind.faults.flipped(now, core_numbers(before), faults)
    return found, Count(struck, at_risk)


def _stuck(
    now: ChipProgram, before: ChipProgram, faults: Faults, *, kind: str, fires: bool
) -> tuple[ChipProgram, Count]:
    used = before.neurons_in_use & ~before.further_compartments
    core, neuron = np.nonzero(used)
    stuck = np.zeros_like(used)
    stuck[core, neuron] = fails(faults, kind, core_numbers(before)[core], neuron)
    return with_stuck(now, stuck, fires=fires), Count(int(stuck.sum()), len(core))


def _dead_cores(now: ChipProgram, before: ChipProgram, faults: Faults) -> tuple[ChipProgram, Count]:
    """Silence all neurons of dead cores; spikes that reach them have no effect."""
    dead = fails(faults, "dead-cores", core_numbers(before))
    stuck = np.broadcast_to(dead[:, None], before.shape)
    return with_stuck(now, stuck, fires=False), Count(int(dead.sum()), len(dead))


def _dead_links(now: ChipProgram, before: ChipProgram, faults: Faults) -> tuple[ChipProgram, Count]:
    links = links_in_use(before)
    dead = fails(faults, "dead-links", links.x, links.y, links.upwards)
    cut = cut_ways(before, Links(*(column[dead] for column in links)))
    return without_ways(now, cut), Count(int(dead.sum()), len(dead))


# In the order of application: later faults override earlier ones. A dead core is silent.
_EFFECTS: Mapping[str, Callable[[ChipProgram, ChipProgram, Faults], tuple[ChipProgram, Count]]] = ReadOnlyMapping(
    {
        "flipped-synapses": _flipped,
        "firing-neurons": partial(_stuck, kind="firing-neurons", fires=True),
        "silent-neurons": partial(_stuck, kind="silent-neurons", fires=False),
        "dead-links": _dead_links,
        "dead-cores": _dead_cores,
    }
)
# Draws of faults depend only on seed, kind and place, so whatever fails at a rate fails at every higher one.
#
# Words are hashed in turn with ``mix`` of :mod:`neuromap.simulation.engine.numpy_engine`; the draw is the upper 53 bits
# of the last hash, divided by 2**53. A place fails if its draw is below the rate: never at 0, always at 1.
_GOLDEN = 0x9E3779B97F4A7C15


def draws(seed: int, kind: str, *words: NDArray[np.integer] | int) -> Floats:
    """Draw a number in [0, 1) for every place."""
    state = mix(mix(np.array([(seed + _GOLDEN) % 2**64], np.uint64)) ^ np.uint64(EVERY_KIND[kind].number))
    for word in words:
        state = mix(state ^ np.asarray(word).astype(np.uint64))
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53


def fails(faults: Faults, kind: str, *words: NDArray[np.integer] | int) -> Bools:
    """Return which places fail; see :func:`draws`."""
    return draws(faults.seed, kind, *words) < faults.rate(kind)


# Links between routers that a program's spikes cross, and the deliveries that dead links cut.


class Links(NamedTuple):
    """Links between neighbouring routers, both directions as one; arrays of int64, shape (n,)."""

    # x, y: the router with the smaller coordinates, on the board
    x: Ints
    y: Ints
    upwards: Ints  # 0 if the link leads to x + 1, 1 if it leads to y + 1


def links_in_use(program: ChipProgram) -> Links:
    """Find the links that spikes of any neuron would cross, first along x, then along y."""
    pairs = np.unique(np.stack([program.wires.core, program.wires.target_core]), axis=1)
    loads = link_loads(Mesh.of(program.chip), ways_of(program, pairs[0], pairs[1]))
    along_x, along_y = loads[EAST].copy(), loads[NORTH].copy()
    along_x[:, :-1] += loads[WEST][:, 1:]
    along_y[:-1] += loads[SOUTH][1:]
    (y, x), (other_y, other_x) = np.nonzero(along_x), np.nonzero(along_y)
    upwards = np.repeat([0, 1], [len(x), len(other_x)])
    return Links(np.concatenate([x, other_x]), np.concatenate([y, other_y]), upwards)


def cut_ways(program: ChipProgram, links: Links) -> Bools:
    """Return which wires of a program cross any of the links."""
    ends = zip(links.x.tolist(), links.y.tolist(), links.upwards.tolist(), strict=True)
    dead = Defects(links=tuple(((x, y), (x + 1 - up, y + up)) for x, y, up in ends))
    chip = program.chip
    across, up = chip.tile
    routers = replace(chip, cores=(chip.cores[0] // across, chip.cores[1] // up), tile=(1, 1), defects=dead)
    places, wires = program.coordinates // chip.tile, program.wires
    return route_blocked(routers, places[wires.core], places[wires.target_core])


def apply_edits(program: ChipProgram, edits: Sequence[Edit]) -> ChipProgram:
    """Apply edits to a program.

    Parameters
    ----------
    program : ChipProgram
        Program as mapped.
    edits : sequence of Edit
        In any order, except for repeated edits of one threshold or weight: thresholds add up, the last weight counts.

    Returns
    -------
    ChipProgram
        The identical object if there are no edits.

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
        ends = [(edit.x, edit.y, int(edit.upwards)) for edit in dead]
        links = Links(*(np.array(column, np.int64) for column in zip(*ends, strict=True)))
        used = links_in_use(program)
        there = set(zip(used.x.tolist(), used.y.tolist(), used.upwards.tolist(), strict=True))
        for edit, end in zip(dead, ends, strict=True):
            if end not in there:
                raise InputError(f"{edit.what.removesuffix(' is dead')}: no spike of program {program.name} crosses it")
        now = without_ways(now, cut_ways(program, links))
    silent = _silent(program, edits)
    return with_stuck(now, silent, fires=False) if silent.any() else now


def settled_state(program: ChipProgram, edits: Sequence[Edit], state: EngineState) -> EngineState:
    """Clear the state of silent neurons, so that they do not fire once more.

    Parameters
    ----------
    program : ChipProgram
        Program as mapped.
    edits : sequence of Edit
        Edits in force from now on.
    state : EngineState
        State of the chip.

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


# Edits of thresholds in a program.
_T = TypeVar("_T", bound=np.integer)


def moved(
    table: NDArray[_T], at: tuple[Ints, Ints], step: int, low: int, high: int, edit: ThresholdEdit
) -> NDArray[_T]:
    """Add ``step`` times the edit's change to entries of a table, refusing values out of bounds."""
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


# Edits of a connection's weight in a program.


def refusal(edit: WeightEdit, values: Sequence[int]) -> InputError:
    """Return the error for a weight that a connection cannot have; ``values`` are the possible ones."""
    if not values:
        return InputError(f"{edit.what}: no axon brings {edit.source}[{edit.source_index}] there; choose another pair")
    shown = ", ".join(map(str, values[:12])) + (", ..." if len(values) > 12 else "")
    return InputError(f"{edit.what}: the axons there can add up to {shown}; choose one of these")


# Locations of a node's neurons in a program, and the axons that feed them.


def position_of(program: ChipProgram, node: str, *, inside: bool) -> int:
    """Return the position of a node by its name."""
    for position, port in enumerate(program.nodes):
        if port.name == node and not (inside and port.kind == "input"):
            return position
    names = ", ".join(port.name for port in program.nodes if not (inside and port.kind == "input"))
    raise InputError(f"node {node!r:.60}: program {program.name} has {names}")


def places_of(program: ChipProgram, node: str, index: int | None) -> tuple[Ints, Ints]:
    """Find the cores and neurons that compute a node, or one neuron of it, including copies."""
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
    """Find the axons of a core that carry spikes of a neuron, from the host, its copies or its relays."""
    position = position_of(program, node, inside=False)
    host, wires = program.host, program.wires
    fed = (host.core == core) & (host.node == position) & (host.index == index)
    mine = wires.target_core == core
    source = wires.core[mine], wires.neuron[mine]
    sent = (program.neuron_node[source] == position) & (program.neuron_index[source] == index)
    return np.unique(np.concatenate([host.axon[fed].astype(np.int64), wires.target_axon[mine][sent]]))


# Edits as values.


_MOST = 2**31 - 1


@dataclass(frozen=True)
class ThresholdEdit(Card):
    """Raise or lower thresholds of a node's neurons, in all copies.

    Attributes
    ----------
    node : str
        A node inside the chip.
    by : int
        Change of the thresholds of the chip's neurons.
    index : int or None
        The neuron; None for all neurons of the node.

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
        The new weight.

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
    """A core whose neurons never fire; its router still forwards spikes.

    Attributes
    ----------
    core : int
        Its row in the program.

    Raises
    ------
    InputError
        If ``core`` is negative.
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
        The router with the smaller coordinates, on the board.
    upwards : bool
        Whether the link leads to y + 1; else to x + 1.

    Raises
    ------
    InputError
        If a coordinate is negative.
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


# Any edit.
Edit = ThresholdEdit | WeightEdit | SilentCore | DeadLink


def _bounded(name: str, value: object, least: int = 0) -> None:
    if not least <= whole_number(name, value) <= _MOST:
        raise InputError(f"{name} = {value}: must be {least} to {_MOST}")


# Output frames of a program with faults, for many stimuli.


Frames = Mapping[str, NDArray[Any]]
# Kinds of faults that do not change the program: they affect spikes in flight.
ON_THE_WAY = ("dropped-spikes", "flipped-payloads")


class StruckFrames(NamedTuple):
    """Output frames of a program with faults."""

    program: ChipProgram  # with faults
    frames: Frames  # (S, n_frames, size): by output node; bool, or int32 for graded ones
    counts: Mapping[str, Count]  # number of failures, by kind


def struck_frames(
    program: ChipProgram, faults: Faults, stimuli: Mapping[str, NDArray[Any]], choice: EngineChoice = DEFAULT_ENGINE
) -> StruckFrames:
    """Run stimuli through a program with faults, each from the program's initial state.

    Parameters
    ----------
    program : ChipProgram
        Program without faults.
    faults : Faults
        Faults to apply.
    stimuli : mapping of str to ndarray of bool, shape (S, n_frames, size)
        Input frames by input node.
    choice : EngineChoice
        Engine that runs the ticks.

    Returns
    -------
    StruckFrames

    Raises
    ------
    StimulusError
        If the stimuli do not match the program's input nodes.
    ProgramError
        If the program has no output node, or its tables point out of range.
    """
    return frames_of(strike(program, faults), faults, stimuli, choice)


def frames_of(struck: Struck, faults: Faults, stimuli: Frames, choice: EngineChoice = DEFAULT_ENGINE) -> StruckFrames:
    """Run stimuli through a program to which faults were applied; see :func:`struck_frames`."""
    if "flipped-payloads" in faults.rates and struck.program.value_ranges is None:
        raise InputError(
            f"faults: flipped-payloads: program {struck.program.name} sends spikes, which carry nothing; choose of "
            f"{', '.join(KINDS)}"
        )
    if faults.rates.keys().isdisjoint(ON_THE_WAY):
        return StruckFrames(struck.program, output_frames(struck.program, stimuli, choice), struck.counts)
    frames, counts = _lossy_frames(struck.program, faults, stimuli, choice)
    return StruckFrames(struck.program, frames, {**struck.counts, **counts})


def output_frames(program: ChipProgram, stimuli: Frames, choice: EngineChoice = DEFAULT_ENGINE) -> Frames:
    """Run stimuli through a program unchanged; see :func:`struck_frames`."""
    batch = simulate_batch(program, stimuli, engine=choice.engine, threads=choice.threads, noise_seed=choice.noise_seed)
    return {port.name: batch.frames(port.name) for port in batch.nodes}


def _lossy_frames(
    program: ChipProgram, faults: Faults, stimuli: Mapping[str, NDArray[Any]], choice: EngineChoice
) -> tuple[Frames, dict[str, Count]]:
    job = BatchJob.of(program, Recording(), keep_frames=True)
    chip = LossyChip(program, faults, replace(choice, threads=1))  # one tick is too little work for several
    n_stimuli, n_frames = next(iter(stimuli.values())).shape[:2]
    n_ticks, watched = job.n_ticks(n_frames), list[Sent]()
    counts = {kind: Count(0, 0) for kind in ON_THE_WAY if kind in faults.rates}
    for k in range(n_stimuli):
        shown = {name: rows[k : k + 1] for name, rows in stimuli.items()}
        run = chip.run(job.feed.events(shown, n_frames, 0, n_ticks), k)
        mine = job.watched[run.spikes.cores, run.spikes.neurons]
        ticks, *columns = (column[mine] for column in run.spikes)
        watched.append(sent_of(ticks + k * n_ticks, *columns))
        here = {"dropped-spikes": run.dropped, "flipped-payloads": run.flipped}
        counts = {kind: Count(*map(sum, zip(count, here[kind], strict=True))) for kind, count in counts.items()}
    table = job.part(watched, n_stimuli, n_frames).frames
    ends = np.cumsum([port.size for port in job.neurons.nodes])[:-1]
    parts = [] if table is None else np.split(table, ends, axis=2)
    return dict(zip((port.name for port in job.neurons.nodes), parts, strict=True)), counts


# Runs in which spikes are lost in flight or carry a changed value: exact on every engine and all kinds of cores.
#
# The engine runs the program without its targets, tick by tick, and this module delivers the spikes. A spike is fed
# into its axon like one of the host, in the tick in which it is due, so a run without losses equals that of the engine
# alone, bit by bit. This costs one call of the engine per tick.


class LossyRun(NamedTuple):
    """Run of a chip that loses or changes spikes."""

    spikes: Sent  # all neurons that fired
    # lost spikes, and messages with a flipped bit, of those sent: one for every target of a neuron that fired
    dropped: Count
    flipped: Count


class LossyChip:
    """A chip that loses each spike, or changes each message, with the same probability."""

    def __init__(self, program: ChipProgram, faults: Faults, choice: EngineChoice = DEFAULT_ENGINE) -> None:
        self._program, self._faults = program, faults
        self._engine = make_engine(without_ways(program, np.ones(len(program.wires.core), np.bool_)), choice)
        self._places = core_numbers(program)
        self._noise_seed = choice.noise_seed

    def run(self, events: HostEvents, stimulus: int = 0) -> LossyRun:
        """Run from tick 0 on."""
        self._engine.reset((self._noise_seed + stimulus) % 2**64)
        due: dict[int, list[tuple[NDArray[Any], ...]]] = defaultdict(list)
        found: list[Sent] = []
        lost = flipped = at_risk = 0
        for tick in range(events.n_ticks):
            now = events.of_ticks(tick, 1)
            columns = (now.cores, now.axons, *([] if now.values is None else [now.values]))
            arriving = [columns, *due.pop(tick, ())] if len(now.cores) else due.pop(tick, [columns])
            fed = HostEvents.of_tick(*(np.concatenate(column) for column in zip(*arriving, strict=True)))
            found.append(sent := self._engine.run(fed))
            ways, values = self._program.sent_by(sent.cores, sent.neurons), values_of(sent)
            places = self._places[sent.cores[ways.spike]], sent.neurons[ways.spike], self._places[ways.core], ways.axon
            kept = ~fails(self._faults, "dropped-spikes", stimulus, tick, *places)
            lost += len(kept) - int(kept.sum())
            carried: list[NDArray[Any]] = []
            if values is not None:
                failed = fails(self._faults, "flipped-payloads", stimulus, tick, *places)
                bits = draws(self._faults.seed, "flipped-payloads", stimulus, tick, *places, 1)
                carried = [np.where(failed, self._flipped(sent, ways.spike, values, bits), values[ways.spike])]
                flipped += int(failed.sum())
                kept &= carried[0] != 0
            at_risk += len(kept)
            for delay in np.unique(ways.delay[kept]).tolist():
                here = kept & (ways.delay == delay)
                due[tick + delay].append(tuple(column[here] for column in (ways.core, ways.axon, *carried)))
        spikes = joined(found) if found else self._engine.run(HostEvents.none(0))
        return LossyRun(spikes, Count(lost, at_risk), Count(flipped, at_risk))

    def _flipped(self, sent: Sent, way: Ints, values: Ints, drawn: Floats) -> Ints:
        """Return the value of every message with one bit flipped, chosen by a number from 0 to 1."""
        # Bits are those that the neuron's range of values needs, in two's complement if it has negative ones; results
        # are clipped to the range.
        arriving = values[way]
        units = self._program.units  # type: ignore[attr-defined] # programs with values have it
        low, high = (bound[sent.cores[way], sent.neurons[way]].astype(np.int64) for bound in (units.low, units.high))
        most = np.maximum(high, -1 - low)
        n_bits = np.ceil(np.log2(most + 1)).astype(np.int64) + (low < 0)
        bit = (drawn * n_bits).astype(np.int64)
        is_sign = (bit == n_bits - 1) & (low < 0)
        width = np.where(is_sign, np.int64(1) << bit, 0)
        other = np.where(is_sign, arriving + np.where(arriving < 0, width, -width), arriving ^ (np.int64(1) << bit))
        return other.clip(low, high)
