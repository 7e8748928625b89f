"""Protocol of every engine: the same program, the same events, the same spikes.

An engine is the only place with mutable state. All implementations, in NumPy or compiled, on one thread or many,
return bit-identical values; ``tests/simulation`` holds all engines to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.frozen import ReadOnly, freeze_arrays
from neuromap.arrays.value import Value
from neuromap.errors import InputError, StimulusError
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine_choice import DEFAULT_ENGINE, EngineChoice


@dataclass(frozen=True, eq=False)
class HostEvents(ReadOnly, Value):
    """Axons that the host feeds in a run of ticks, ordered by tick."""

    start: Ints  # (n_ticks + 1,): events ``start[t]`` to ``start[t + 1] - 1`` are fed in the run's tick t
    # cores, axons: (n,): the axons. Two spikes on one axon in one tick count as one
    cores: NDArray[np.int32]
    axons: NDArray[np.int32]
    values: NDArray[np.int32] | None = None  # (n,): value of each event, never 0; None for spikes

    @classmethod
    def none(cls, n_ticks: int) -> Self:
        """No events in ``n_ticks`` ticks."""
        return cls(np.zeros(n_ticks + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int32))

    @classmethod
    def of_tick(cls, cores: ArrayLike, axons: ArrayLike, values: NDArray[np.int32] | None = None) -> Self:
        """Events of a single tick; cores and axons broadcast."""
        columns = [np.asarray(column, dtype=np.int64).reshape(-1) for column in (cores, axons)]
        try:
            core, axon = np.broadcast_arrays(*columns)
        except ValueError:
            raise StimulusError(
                f"events: {len(columns[0])} cores and {len(columns[1])} axons; give as many of each"
            ) from None
        least, most = np.iinfo(np.int32).min, np.iinfo(np.int32).max  # refused later, as outside the program
        core, axon = (c.clip(least, most).astype(np.int32) for c in (core, axon))
        return cls(np.array([0, len(core)]), core, axon, values)

    @property
    def n_ticks(self) -> int:
        """Ticks of the run."""
        return len(self.start) - 1

    def of_ticks(self, first: int, n_ticks: int) -> HostEvents:
        """Select the events of some ticks of the run."""
        start = self.start[first : first + n_ticks + 1]
        mine = slice(int(start[0]), int(start[-1]))
        values = None if self.values is None else self.values[mine]
        return HostEvents(start - start[0], self.cores[mine], self.axons[mine], values)


@dataclass(frozen=True, eq=False)
class FeedPlan(ReadOnly, Value):
    """Axons that a stimulus may feed, ordered by tick, and the values that decide it."""

    start: Ints  # (n_ticks + 1,): rows ``start[t]`` to ``start[t + 1] - 1`` are those of tick t
    # cores, axons: (n,): the axons
    cores: NDArray[np.int32]
    axons: NDArray[np.int32]
    # (n,): index of the value that decides whether the axon is fed, in the stimulus's frames laid side by side; -1 if
    # it is always fed
    columns: NDArray[np.int32]

    @property
    def n_ticks(self) -> int:
        """Ticks of a run."""
        return len(self.start) - 1


class Spikes(NamedTuple):
    """Neurons that fired, ordered by tick, then core, then neuron; all of shape (n,), int64."""

    ticks: Ints
    cores: Ints
    neurons: Ints


class Messages(NamedTuple):
    """Graded neurons that sent a value, which is never 0; ordered and shaped as :class:`Spikes`."""

    ticks: Ints
    cores: Ints
    neurons: Ints
    values: Ints


# Output of engines: spikes, or the messages of graded neurons.
Sent: TypeAlias = Spikes | Messages


def values_of(sent: Sent) -> Ints | None:
    """Values of messages; ``None`` for spikes."""
    return sent.values if isinstance(sent, Messages) else None


def sent_of(ticks: Ints, cores: Ints, neurons: Ints, values: Ints | None = None) -> Sent:
    """Make spikes, or messages if there are values."""
    return Spikes(ticks, cores, neurons) if values is None else Messages(ticks, cores, neurons, values)


_S = TypeVar("_S", bound=Sent)
NO_SPIKES = Spikes(*np.zeros((3, 0), np.int64))


def joined(parts: Sequence[_S]) -> _S:
    """Concatenate the parts of a run, at least one."""
    return parts[0] if len(parts) == 1 else type(parts[0])(*map(np.concatenate, zip(*parts, strict=True)))


def check_run(program: ChipProgram, events: HostEvents, watched: Bools | None = None) -> None:
    """Refuse events or a mask that do not fit a program."""
    n = len(events.cores)
    start = events.start
    if len(events.axons) != n or len(start) == 0 or start[0] < 0 or start[-1] > n or (np.diff(start) < 0).any():
        raise StimulusError(
            f"events: start must rise from 0 or more to at most {n}, with a core and an axon for each event"
        )
    if events.values is not None and events.values.shape != (n,):
        raise StimulusError(f"events: found values of shape {events.values.shape}; give one for each of the {n} events")
    require_inside("core", events.cores, program.n_cores)
    require_inside("axon", events.axons, program.axon_counts[events.cores])
    if watched is not None and (watched.shape != program.shape or watched.dtype != np.bool_):
        raise InputError(
            f"watched: found {watched.dtype} of shape {watched.shape}; needs bool of shape {program.shape}"
        )


def require_inside(name: str, column: NDArray[np.integer], bound: Ints | int) -> None:
    """Refuse events with a number below 0, or not below its bound."""
    # shapes: column (n,); bound (n,)
    wrong = np.flatnonzero((column < 0) | (column >= bound))
    if len(wrong):
        first = int(wrong[0])
        most = int(np.broadcast_to(bound, column.shape)[first]) - 1
        allowed = "none" if most < 0 else f"0 to {most}"
        raise StimulusError(f"events: event {first} is at {name} {column[first]}; allowed is {allowed}")


class Totals(NamedTuple):
    """Activity counted by an engine since tick 0."""

    spikes: int  # neurons that fired, counted once per tick
    axon_events: int  # axons that were due, counted once per tick
    synaptic_events: int  # synapses on those axons


class Footprint(NamedTuple):
    """Memory of a program in the engine."""

    hot_bytes: int  # memory that ticks may touch: crossbars, parameters, targets, potentials, due axons
    visit_bytes: int  # moved between memory and processor per visit of a core in a tick, averaged over the cores
    # event_bytes, spike_bytes: moved for one due axon, and for one spike
    event_bytes: int
    spike_bytes: int


class Engine(Protocol):
    """A chip that runs a program."""

    @property
    def program(self) -> ChipProgram:
        """The loaded program."""

    @property
    def tick(self) -> int:
        """The tick that runs next; the first is 0."""

    @property
    def potentials(self) -> Ints:
        """Copy of all potentials after the last tick, shape (C, N); voltages for neurons with currents."""

    def potentials_of(self, cores: Ints) -> Ints:
        """Copy of the potentials of some cores, in this order, shape (n, N)."""

    @property
    def pending(self) -> Ints:
        """Pending spikes or synaptic input as sorted rows (due tick, core, place), shape (n, 3)."""
        # For crossbars, spikes and the axons they will reach. For synapse lists, whose delays lie behind the axons,
        # neurons whose currents will receive input.

    @property
    def totals(self) -> Totals:
        """Activity since tick 0."""

    def step(self, host_cores: ArrayLike = (), host_axons: ArrayLike = ()) -> tuple[Ints, Ints]:
        """Run one tick on axons fed by the host; return cores and neurons that fired, in order."""

    def run(self, events: HostEvents, watched: Bools | None = None) -> Sent:
        """Run ``events.n_ticks`` ticks from the present one; graded engines return messages."""
        # shapes: watched (C, N)

    @property
    def state(self) -> EngineState:
        """Everything that future ticks depend on, except the noise seed."""

    def restore(self, state: EngineState) -> None:
        """Continue from a state of this program, taken from any engine."""

    def reset(self, noise_seed: int | None = None) -> None:
        """Reset to the state before tick 0; ``noise_seed``, if given, replaces the seed."""

    def fork(self) -> Self:
        """Make another engine at tick 0 that shares read-only data (parameters, crossbars) with this one."""


@runtime_checkable
class BlockEngine(Protocol):
    """An engine that executes many short runs at once, without returning to Python between them."""

    def run_each(
        self,
        events: HostEvents,
        n_runs: int,
        watched: Bools | None = None,
        noise_seed: int = 0,
        is_called_off: Callable[[], bool] = ...,
    ) -> Sent:
        """Execute runs of equal length one after the other, each from the state before tick 0, on this thread only."""
        # Afterwards the engine is in the state after the last run.
        # shapes: watched (C, N)


@runtime_checkable
class HoldingEngine(Protocol):
    """An engine that reports, for many ticks at once, which neurons hold a potential as each tick begins."""

    def run_holding(self, events: HostEvents) -> tuple[Sent, Bools]:
        """Run ``events.n_ticks`` ticks from the present one; also return which neurons held a potential."""
        # shapes: returns Sent, (n_ticks, C, N)


# State of an engine between two ticks, as a value: any engine can continue from the state of another.


@dataclass(frozen=True, eq=False)
class CurrentState(ReadOnly, Value):
    """State of synapse-list cores beyond voltages."""

    current: Ints  # (C, N): u of every neuron
    resting: Ints  # (C, N): remaining refractory ticks
    # (m, 3): neurons whose currents will receive input from synapses of reached axons, as sorted rows (tick, core,
    # neuron)
    due: Ints
    amounts: Ints  # (m,): the input, wrapped to the width of currents; never 0


@dataclass(frozen=True, eq=False)
class EngineState(Value):
    """A chip between two ticks; equal for all engines, numbers of threads and numbers of ranks."""

    tick: int  # the tick that runs next
    potentials: Ints  # (C, N): after the last tick; voltages for neurons with currents
    # (n, 3): spikes that have not reached their axons, as sorted rows (due tick, core, axon)
    spikes: Ints
    totals: tuple[int, int, int]  # the fields of :class:`~neuromap.simulation.engine.engine.Totals`
    currents: CurrentState | None = None  # of synapse-list cores
    values: Ints | None = None  # (n,): value of each row of ``spikes``; None unless neurons send values

    def __post_init__(self) -> None:
        freeze_arrays(self)
        object.__setattr__(self, "totals", tuple(self.totals))

    @property
    def under_way(self) -> Ints:
        """``spikes``, with a fourth column of values if they carry values."""
        return self.spikes if self.values is None else np.append(self.spikes, self.values[:, None], axis=1)

    def with_under_way(self, rows: Ints) -> EngineState:
        """Replace the pending spikes by rows as in :attr:`under_way`."""
        values = None if self.values is None else np.ascontiguousarray(rows[:, 3])
        return replace(self, spikes=np.ascontiguousarray(rows[:, :3]), values=values)


def check_state(program: ChipProgram, state: EngineState) -> None:
    """Refuse a state of another program, or one that no run can reach."""
    low, high = program.chip.potential_range
    tables = [state.potentials]
    if state.currents is not None:
        tables += [state.currents.current, state.currents.resting]
    if any(table.shape != program.shape for table in tables):
        found = next(table.shape for table in tables if table.shape != program.shape)
        raise InputError(f"state: found values of shape {found}; program {program.name} needs {program.shape}")
    if (state.currents is None) == program.chip.kind.structure.DELAYS_BEHIND_AXONS:
        raise InputError(f"state: is not one of {program.chip.core_model} cores; restore that of the same program")
    if state.tick < 0 or state.potentials.min(initial=0) < low or state.potentials.max(initial=0) > high:
        raise InputError(f"state: holds potentials outside {low} to {high}, or a tick below 0; simulate from tick 0")
    if (state.values is None) != (program.value_ranges is None) or len(state.spikes) != len(
        state.spikes if state.values is None else state.values
    ):
        raise InputError(f"state: needs values where {program.name} sends some, one for each; restore its own state")
    if state.values is not None and program.value_ranges is not None:
        ranges = np.array([*program.value_ranges.values()])
        least, greatest = int(ranges.min()), int(ranges.max())
        amounts = np.zeros(0, np.int64) if state.currents is None else state.currents.amounts
        if not (state.values.all() and ((state.values >= least) & (state.values <= greatest)).all()):
            raise InputError(f"state: carries 0, or a value outside {least} to {greatest}; simulate from tick 0")
        if amounts.min(initial=0) < low or amounts.max(initial=0) > high:
            raise InputError(f"state: holds sums outside {low} to {high}; simulate from tick 0")
    _check_under_way(state.spikes, state.tick, int(program.wires.delay.max(initial=0)), program.axon_counts)
    if state.currents is not None:
        n_neurons = np.full(program.n_cores, program.chip.neurons)
        _check_under_way(state.currents.due, state.tick, program.greatest_delay - program.chip.delay[0], n_neurons)


def _check_under_way(rows: Ints, tick: int, delay: int, places: Ints) -> None:
    due, core, place = rows.T
    inside = (due >= tick) & (due < tick + delay) & (core >= 0) & (core < len(places)) & (place >= 0)
    inside[inside] &= place[inside] < places[core[inside]]
    if not inside.all():
        first = rows[np.argmin(inside)].tolist()
        raise InputError(
            f"state: what is under way (such as tick {first[0]}, core {first[1]}, place {first[2]}) lies outside the "
            "program; restore the state of the same program"
        )


def state_of_cores(state: EngineState, cores: Ints, totals: tuple[int, int, int]) -> EngineState:
    """Extract the state of some cores, renumbered from 0."""
    # shapes: cores (n,)
    part = replace(state, potentials=state.potentials[cores], totals=totals)
    part = part.with_under_way(_rows_of(state.under_way, cores))
    whole = state.currents
    if whole is None:
        return part
    due, amounts = _rows_of(whole.due, cores), whole.amounts[np.isin(whole.due[:, 1], cores)]
    return replace(part, currents=CurrentState(whole.current[cores], whole.resting[cores], due, amounts))


def _rows_of(rows: Ints, cores: Ints) -> Ints:
    some = rows[np.isin(rows[:, 1], cores)]
    some[:, 1] = np.searchsorted(cores, some[:, 1])
    return some


def make_engine(program: ChipProgram, choice: EngineChoice = DEFAULT_ENGINE) -> Engine:
    """Load a program into an engine; into the equivalent readable one if its kind of core has no other."""
    made = program.chip.kind.engines.ENGINES
    return made.get(choice.engine, made["numpy"])(program, choice)
