"""Run a program on input frames, on all ranks of an MPI run together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from neuromap.arrays.array_types import Bools, Ints
from neuromap.errors import InputError
from neuromap.files.argument_checks import path_given
from neuromap.hardware.checker import require_legal
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine import engine as engines
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.mpi import rank_engine
from neuromap.simulation.mpi.rank_engine import Exchange
from neuromap.simulation.run.simulate import Loaded, prepare_run, record_run, write_run
from neuromap.simulation.trace.checkpoint import Checkpoints
from neuromap.simulation.trace.recording import Recording
from neuromap.simulation.trace.trace import FrameCounts, Trace


def simulate_on_ranks(
    program: ChipProgram,
    frames: Mapping[str, ArrayLike],
    exchange: Exchange,
    *,
    engine: str = "fast",
    threads: int = 1,
    noise_seed: int = 0,
    record: Recording | None = None,
    progress: Callable[[int, int], object] | None = None,
    checkpoints: Checkpoints | None = None,
) -> Trace | None:
    """Run a program like :func:`neuromap.simulate`, with its cores divided among ranks; all ranks call this.

    Parameters
    ----------
    program, frames
        As in :func:`neuromap.simulate`; the same on every rank.
    exchange : Exchange
        Connection to the other ranks, such as :class:`neuromap.simulation.mpi.start_ranks.MpiExchange`.
    engine : {"fast", "numpy"}
        Engine that runs the cores of each rank.
    threads : int
        Number of threads per rank.
    noise_seed, record, progress, checkpoints
        As in :func:`neuromap.simulate`.

    Returns
    -------
    Trace or None
        The recorded trace, equal to that of a run on one machine; None on ranks other than 0.

    Raises
    ------
    StimulusError, InputError, ProgramError
        As :func:`neuromap.simulate`; also if there are more ranks than cores. A rank that fails leaves the others
        waiting: start scripts with ``python -m mpi4py``, which then ends all ranks.
    """
    load = _loader(exchange, EngineChoice(engine, threads, noise_seed))
    trace = record_run(program, frames, load, record, progress, checkpoints)
    return trace if exchange.rank == 0 else None


def simulate_on_ranks_to_file(
    path: str | Path, program: ChipProgram, frames: Mapping[str, ArrayLike], exchange: Exchange, **how: Any
) -> FrameCounts | None:
    """Run a program like :func:`simulate_on_ranks`; rank 0 writes the recording to a file during the run.

    Parameters
    ----------
    path : str or Path
        HDF5 file, which appears when the run is complete.
    program, frames, exchange, **how
        As in :func:`simulate_on_ranks`.

    Returns
    -------
    FrameCounts or None
        Spikes of the recorded nodes by frame; None on ranks other than 0.

    Raises
    ------
    StimulusError, InputError, ProgramError, NotSupportedError
        As :func:`neuromap.simulate_to_file`.
    """
    path = path_given("simulate_on_ranks_to_file", path)
    asked = dict(how)
    choice = EngineChoice(asked.pop("engine", "fast"), asked.pop("threads", 1), asked.pop("noise_seed", 0))
    load = _loader(exchange, choice)
    if exchange.rank > 0:
        for _ in prepare_run(program, frames, load, **asked).chunks:
            pass
        return None
    return write_run(path, lambda: prepare_run(program, frames, load, **asked))


def _loader(exchange: Exchange, choice: EngineChoice) -> Callable[[ChipProgram], Loaded]:
    """Make the function with which this rank loads a program: its own cores, fed by their rows of the host table."""

    def load(program: ChipProgram) -> Loaded:
        chip = RankEngine(program, exchange, choice)
        own = np.full(program.n_cores, -1, np.int64)
        own[chip.cores] = chip.cores
        fed = replace(program, host=rank_engine.rows_of_cores(program.host, own))
        return Loaded(chip, fed, choice.noise_seed, exchange.agree, exchange.rank == 0)

    return load


# The engine of one rank among several: each runs its own cores, and together they are one chip.
#
# Ranks that share memory exchange spikes in compiled code (``shared_engines.py``), others in messages
# (``rank_engine.py``). Here, input is split by rank, and the ranks' results are combined.


class RankEngine:
    """One rank's part of a chip that runs a program; an :class:`neuromap.simulation.engine.engine.Engine`."""

    # All ranks call every method and property, in the same order and with the same ticks. Rank 0 returns complete
    # results, other ranks their own part.
    # program: as given
    # cores: (n,): cores of this rank, as rows of the program

    def __init__(self, program: ChipProgram, exchange: Exchange, choice: EngineChoice) -> None:
        cut = cut_cores(program, exchange.size) if exchange.rank == 0 else np.zeros(0, np.int64)
        rank_of = exchange.share(cut)[0]
        self.program, self._exchange = program, exchange
        self.cores = np.flatnonzero(rank_of == exchange.rank)
        self._local = np.full(program.n_cores, -1, np.int32)
        self._local[self.cores] = np.arange(len(self.cores))
        wires = rank_engine.remote_wires(program, rank_of, exchange.rank)
        self._inside: engines.Engine | rank_engine.MessageEngine = _engine_of(
            rank_engine.program_of_cores(program, self.cores), wires, exchange, choice
        )

    @property
    def tick(self) -> int:
        """The tick that runs next; the first is 0."""
        return self._inside.tick

    def reset(self, noise_seed: int | None = None) -> None:
        """Reset to the state before tick 0; ``noise_seed``, if given, replaces the seed."""
        self._inside.reset(noise_seed)

    def fork(self) -> Self:
        """Make another engine at tick 0 that shares read-only data and the exchange with this one."""
        other = copy(self)
        other._inside = self._inside.fork()
        return other

    def step(self, host_cores: ArrayLike = (), host_axons: ArrayLike = ()) -> tuple[Ints, Ints]:
        """Run one tick on axons fed by the host; return cores and neurons that fired, in order."""
        spikes = self.run(engines.HostEvents.of_tick(host_cores, host_axons))
        return spikes.cores, spikes.neurons

    def run(self, events: engines.HostEvents, watched: Bools | None = None) -> engines.Sent:
        """Run ``events.n_ticks`` ticks from now on; see :meth:`neuromap.simulation.engine.engine.Engine.run`."""
        # each rank takes the events of its own cores; those of others may be missing
        engines.check_run(self.program, events, watched)
        spikes = self._inside.run(self._own(events), None if watched is None else watched[self.cores])
        values = engines.values_of(spikes)
        columns = [spikes.ticks, self.cores[spikes.cores], spikes.neurons, *([] if values is None else [values])]
        every = gathered_rows(self._exchange, np.stack(columns, axis=1))
        return engines.sent_of(*(np.ascontiguousarray(column) for column in every.T))

    def _own(self, events: engines.HostEvents) -> engines.HostEvents:
        """Select the events of this rank's cores, renumbered."""
        core = self._local[events.cores]
        kept = core >= 0
        values = None if events.values is None else events.values[kept]
        return engines.HostEvents(np.append(0, np.cumsum(kept))[events.start], core[kept], events.axons[kept], values)

    @property
    def potentials(self) -> Ints:
        """Copy of all potentials after the last tick, shape (C, N)."""
        return gathered_table(self._exchange, self._inside.potentials, self.cores, self.program.shape)

    def potentials_of(self, cores: Ints) -> Ints:
        """Copy of the potentials of some cores, in this order, shape (n, N)."""
        local = self._local[cores]
        mine = np.flatnonzero(local >= 0)
        table = self._inside.potentials_of(local[mine].astype(np.int64))
        return gathered_table(self._exchange, table, mine, (len(cores), self.program.chip.neurons))

    @property
    def totals(self) -> engines.Totals:
        """Activity since tick 0."""
        parts = self._exchange.gather(np.array(self._inside.totals)) or [np.array(self._inside.totals)]
        return engines.Totals(*np.sum(parts, axis=0).tolist())

    @property
    def pending(self) -> Ints:
        """Pending spikes or input, see :attr:`neuromap.simulation.engine.engine.Engine.pending`; only on rank 0."""
        state = self.state
        if self._exchange.rank > 0:
            return np.zeros((0, 3), np.int64)
        if state.currents is None:
            return state.spikes
        whole = engines.make_engine(self.program, EngineChoice("numpy"))
        whole.restore(state)
        return whole.pending

    @property
    def state(self) -> engines.EngineState:
        """Everything that future ticks depend on, except the noise seed."""
        return gathered_state(self._exchange, self._inside.state, self.cores, self.program.shape)

    def restore(self, state: engines.EngineState) -> None:
        """Continue from a state of this program, taken from any engine and any number of ranks."""
        engines.check_state(self.program, state)
        part = engines.state_of_cores(state, self.cores, state.totals if self._exchange.rank == 0 else (0, 0, 0))
        self._inside.restore(part)


def _engine_of(
    program: ChipProgram, wires: rank_engine.RemoteWires, exchange: Exchange, choice: EngineChoice
) -> engines.Engine | rank_engine.MessageEngine:
    """Load the program of a rank's cores; use memory shared by all ranks if available."""
    if exchange.size == 1:
        return engines.make_engine(program, choice)
    own = program.chip.kind.shared_engine if choice.engine == "fast" else None
    if own is not None:
        require_legal(program, mapped=False, indices_only=True)
        shared = own.make_shared_engine(program, wires, exchange, choice)
        if shared is not None:
            return shared
    return rank_engine.MessageEngine(program, wires, exchange, choice)


# Results of ranks combined on rank 0; other ranks keep their own part.
def gathered_rows(exchange: Exchange, rows: Ints) -> Ints:
    """Rows of all ranks on rank 0, sorted by the first column, then the second, and so on; none on other ranks."""
    # shapes: rows (n, k)
    parts = exchange.gather(rows.ravel())
    whole = np.concatenate([*parts, np.zeros(0, np.int64)]).reshape(-1, rows.shape[1])
    ordered: Ints = whole[np.lexsort(whole.T[::-1])]
    return ordered


def gathered_table(exchange: Exchange, part: Ints, rows: Ints, shape: tuple[int, int]) -> Ints:
    """Table combined from the rows of all ranks."""
    # shapes: part (n, N); rows (n,)
    values, places = exchange.gather(part.ravel()), exchange.gather(rows)
    table = np.zeros(shape, np.int64)
    for value, place in zip(values or [part], places or [rows], strict=True):
        table[place] = value.reshape(-1, shape[1])
    return table


def gathered_state(
    exchange: Exchange, part: engines.EngineState, cores: Ints, shape: tuple[int, int]
) -> engines.EngineState:
    """State of a chip combined from the states of all ranks."""
    # shapes: cores (n,)
    totals, currents = exchange.gather(np.array(part.totals)), part.currents
    rows = gathered_rows(exchange, _renumbered(part.under_way, cores))
    if currents is not None:
        due = np.append(_renumbered(currents.due, cores), currents.amounts[:, None], axis=1)
        due = gathered_rows(exchange, due)
        tables = [gathered_table(exchange, table, cores, shape) for table in (currents.current, currents.resting)]
        currents = engines.CurrentState(tables[0], tables[1], due[:, :3], due[:, 3])
    return replace(
        part.with_under_way(rows),
        potentials=gathered_table(exchange, part.potentials, cores, shape),
        totals=tuple(np.sum(totals, axis=0).tolist()) if totals else part.totals,
        currents=currents,
    )


def _renumbered(rows: Ints, cores: Ints) -> Ints:
    renumbered: Ints = rows.copy()
    renumbered[:, 1] = cores[rows[:, 1]]
    return renumbered


# Division of cores among ranks: equal work, few wires between ranks, and neighbours on the board together.
# Pairs of cores, shape (n, 2), and their numbers of wires.
_Wires = tuple[Ints, Ints]
# Cost of visiting a core, in units of one fed axon.
_VISIT = 64
# Fraction of the work by which a cut may miss its share, to cross fewer wires.
_SLACK = 0.02


def cut_cores(program: ChipProgram, n_ranks: int) -> Ints:
    """Assign every core to a rank by recursive bisection of the board."""
    # Each cut goes through the rows or the columns of the board, whichever fewer wires cross; placement has put
    # communicating cores side by side. The result depends only on the program and the number of ranks.
    # shapes: returns (C,)
    if not 1 <= n_ranks <= program.n_cores:
        raise InputError(
            f"ranks: {n_ranks} for the {program.n_cores} cores of program {program.name}; each needs one, start "
            f"{program.n_cores} or fewer"
        )
    ends, n_wires = _pairs(program)
    fed = np.bincount(ends[:, 1], n_wires, program.n_cores).astype(np.int64)
    fed += np.bincount(program.host.core, minlength=program.n_cores)
    rank = np.zeros(program.n_cores, np.int64)
    places = program.coordinates.astype(np.int64)
    _divide(rank, np.arange(program.n_cores), n_ranks, places, fed + _VISIT, (ends, n_wires))
    return rank


def _pairs(program: ChipProgram) -> _Wires:
    """List the pairs of cores (from, to) with wires, and count the wires; some cores at a time."""
    neurons, pairs, counts = np.arange(program.chip.neurons), [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for start in range(0, program.n_cores, rank_engine.AT_ONCE):
        cores = np.arange(start, min(start + rank_engine.AT_ONCE, program.n_cores))
        sent = program.sent_by(np.repeat(cores, len(neurons)), np.tile(neurons, len(cores)))
        found = np.unique((sent.spike // len(neurons) + start) * program.n_cores + sent.core, return_counts=True)
        pairs.append(found[0])
        counts.append(found[1])
    return np.stack(np.divmod(np.concatenate(pairs), program.n_cores), axis=1), np.concatenate(counts)


def _divide(rank: Ints, cores: Ints, n_ranks: int, places: Ints, work: Ints, wires: _Wires) -> None:
    """Divide some cores among ``n_ranks`` ranks, from their present rank on; changes ``rank``."""
    if n_ranks == 1:
        return
    first = n_ranks // 2
    mine = np.zeros(len(rank), np.bool_)
    mine[cores] = True
    between = mine[wires[0]].all(axis=1)
    inside = wires[0][between], wires[1][between]
    orders = [cores[np.lexsort((places[cores, 1 - axis], places[cores, axis]))] for axis in (0, 1)]
    cuts = [_cut(ordered, first, n_ranks, work, inside) for ordered in orders]
    _, ordered, position = min(cuts, key=lambda cut: cut[0])
    parts = (np.sort(ordered[:position]), np.sort(ordered[position:]))
    rank[parts[1]] += first
    for part, share in zip(parts, (first, n_ranks - first), strict=True):
        _divide(rank, part, share, places, work, inside)


def _cut(ordered: Ints, first: int, n_ranks: int, work: Ints, wires: _Wires) -> tuple[int, Ints, int]:
    """Cut ordered cores near the share of ``first`` ranks; return crossing wires, the order and the cut's position."""
    done = np.append(0, np.cumsum(work[ordered]))
    aim, room = done[-1] * first / n_ranks, done[-1] * _SLACK
    allowed = np.arange(first, len(ordered) - (n_ranks - first) + 1)  # every rank needs a core
    missed = np.abs(done[allowed] - aim)
    allowed = allowed[missed <= max(room, missed.min())]
    # wires across every cut of the order
    position = np.zeros(int(ordered.max()) + 1, np.int64)
    position[ordered] = np.arange(len(ordered))
    low, high = np.sort(position[wires[0]], axis=1).T
    begin, end = (np.bincount(at + 1, wires[1], len(ordered) + 2).astype(np.int64) for at in (low, high))
    crossing = np.cumsum(begin - end)[allowed]
    best = np.lexsort((np.abs(done[allowed] - aim), crossing))[0]
    return int(crossing[best]), ordered, int(allowed[best])
