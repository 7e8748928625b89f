"""Work of a frame by node, and the resulting seconds of rollouts on any number of cores, before mapping.

Every core holds an equal part of every node, neurons side by side, nodes in the order of the network. The model counts
the spikes of the reference, the synapses they reach and the cores they go to, and takes seconds from the chip file. As
in ``tick_times.py``, a core sends and receives in parallel, and can receive from a node once that node's turn has come;
a tick lasts as long as the slowest core, and the work that a spike causes belongs to the tick in which it is fired.
Travel times of spikes are not counted: they depend on the placement.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from neuromap.arrays.array_types import Floats, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.times import tick_of_frame
from neuromap.errors import InputError, NotSupportedError
from neuromap.files.argument_checks import needs, whole_number
from neuromap.hardware.chip.chip_spec import ChipSpec, tick_costs
from neuromap.network.build import require_weights
from neuromap.network.network import Network
from neuromap.render.value import Card
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.rollout.schedule.tick_seconds import FIGURES, Seconds, TickWork, seconds_of_ticks
from neuromap.simulation.choose_frames import DEFAULT_FRAMES, RandomFrames, choose_frames
from neuromap.simulation.reference_frames import reference


@dataclass(frozen=True, eq=False)
class FrameWork(ReadOnly, Card):
    """Work of frames for every node of a network on a chip.

    Attributes
    ----------
    network : Network
        The network.
    chip : ChipSpec
        Chip whose timing figures are used.
    frames : mapping of str to ndarray of bool, shape (n_frames, size)
        Spikes of all nodes.
    """

    network: Network
    chip: ChipSpec
    frames: Mapping[str, NDArray[np.bool_]]

    def _facts(self) -> dict[str, object]:
        return {
            "network": self.network.name,
            "chip": self.chip.name,
            "spikes per frame": round(sum(self.spikes.values()), 1),
            "synaptic events per frame": round(self.synaptic_events, 1),
            "least cores": self.least_cores,
        }

    @cached_property
    def spikes(self) -> Mapping[str, float]:
        """Mean spikes per frame of every node."""
        return ReadOnlyMapping({name: float(rows.sum() / len(rows)) for name, rows in self.frames.items()})

    @cached_property
    def synaptic_events(self) -> float:
        """Mean synaptic events per frame."""
        sums = (running for source in self._sources.values() for _, running in source.events)
        return sum(float(running[:, -1].mean()) for running in sums)

    @cached_property
    def _sources(self) -> Mapping[str, _Source]:
        found = {}
        for name, rows in self.frames.items():
            spikes, synapses, events = rows.astype(float), [], []
            for (u, v), edge in self.network.edges.items():
                for term in edge.terms if u == name else ():
                    by_source = term.matrix.tocsc().sorted_indices().tocoo()
                    row, column = (np.asarray(part, np.int32) for part in by_source.coords)
                    synapses.append((v, row, column))
                    reached = abs(term.matrix).sign() @ spikes.T
                    events.append((v, _running(reached.T)))
            found[name] = _Source(spikes, tuple(synapses), tuple(events))
        return ReadOnlyMapping(found)

    @property
    def n_neurons(self) -> int:
        """Number of neurons in all computed nodes, also of those that the mapper leaves out."""
        return sum(node.size for name, node in self.network.nodes.items() if name not in self.network.inputs)

    @property
    def least_cores(self) -> int:
        """Number of cores that the neurons fill."""
        return max(1, -(-self.n_neurons // self.chip.neurons))

    @property
    def most_cores(self) -> int:
        """Number of cores on the board."""
        return math.prod(self.chip.cores) * math.prod(self.chip.chips)

    def on(self, n_cores: int) -> tuple[TickWork, TickWork]:
        """Work of sending and of receiving on a number of cores: means over frames, for the closed forms.

        Parameters
        ----------
        n_cores : int
            N, 1 or more: a spike goes once to every core that reads it, so the number of messages depends on N.

        Returns
        -------
        tuple of TickWork
            With ticks of fixed length there is no work, and the barrier is the tick.

        Raises
        ------
        InputError
            If ``n_cores`` is below 1.
        """
        costs = tick_costs(self.chip)
        loads = _loads(self, whole_number("n_cores", n_cores))
        if costs is None:
            fixed = TickWork({}, barrier=self.chip.tick_seconds)
            return fixed, fixed
        sums = {name: load.sum(axis=2).mean(axis=1).tolist() for name, load in loads.items()}
        tile = math.prod(self.chip.tile)  # cores fill one tile after the other
        barrier = [(1 + (first - 1) * tile, costs.barrier_of(first)) for first, _ in costs.barrier]
        sending, receiving = ({name: pair[k] for name, pair in sums.items()} for k in (0, 1))
        return TickWork(sending, self.n_neurons * costs.access, barrier), TickWork(receiving, 0.0, barrier)

    def seconds(self, rollout: Rollout, n_cores: int, output: str | None = None) -> Seconds:
        """Compute the times of an output of a rollout on a number of cores.

        Parameters
        ----------
        rollout : Rollout
            A rollout of the network.
        n_cores : int
            N, 1 or more.
        output : str, optional
            The output; may be omitted if there is only one.

        Returns
        -------
        Seconds
            Means over the frames.

        Raises
        ------
        InputError
            If there is no such output, or ``n_cores`` is below 1.
        """
        return seconds_of_ticks(rollout, self.tick_seconds(rollout, n_cores), output)

    def tick_seconds(self, rollout: Rollout, n_cores: int) -> tuple[float, ...]:
        """Length of every tick of a schedule until it repeats: mean over frames of the slowest core.

        Parameters
        ----------
        rollout : Rollout
            A rollout of the network.
        n_cores : int
            N, 1 or more.

        Returns
        -------
        tuple of float
            Seconds of ticks 0, 1, ...

        Raises
        ------
        InputError
            If ``n_cores`` is below 1.
        """
        costs, period = tick_costs(self.chip), rollout.frame_period
        loads = _loads(self, whole_number("n_cores", n_cores))
        if costs is None:
            return (self.chip.tick_seconds,) * period.numerator
        order = sorted(loads, key=lambda name: name not in self.network.inputs)  # host spikes arrive at once
        shape = next(iter(loads.values())).shape[1:]
        first_spike = costs.access + costs.update + costs.fire + costs.spike
        sent, done = (np.zeros((period.numerator, *shape)) for _ in range(2))
        for name in order:
            for frame in range(period.denominator):
                tick = tick_of_frame(rollout.phases[name], period, frame) + (name in self.network.inputs)
                tick %= period.numerator
                # the work its spikes cause begins when the first is sent
                begin = sent[tick] + first_spike if name not in self.network.inputs else 0.0
                work = loads[name][1]
                done[tick] = np.where(work > 0, np.maximum(done[tick], begin) + work, done[tick])
                sent[tick] += loads[name][0]
            if name not in self.network.inputs:  # a core accesses all of its neurons in every tick
                sent += costs.access * np.diff(_ends(self.network.nodes[name].size, n_cores))
        n_tiles = -(-n_cores // math.prod(self.chip.tile))
        lengths = np.maximum(sent, done).max(axis=2).mean(axis=1) + costs.barrier_of(n_tiles)
        return tuple(lengths.tolist())

    def ahead(
        self, rollout: Rollout, other: Rollout, figure: str = "first", output: str | None = None
    ) -> tuple[tuple[int, int], ...]:
        """Find the numbers of cores on which a rollout is strictly ahead of another.

        Parameters
        ----------
        rollout, other : Rollout
            Rollouts of the network.
        figure : {"first", "full", "period", "reaction"}
            Figure to compare.
        output : str, optional
            The output; may be omitted if there is only one.

        Returns
        -------
        tuple of (int, int)
            First and last number of every range, from :attr:`least_cores` to :attr:`most_cores`. Unlike for
            :func:`neuromap.rollout.schedule.tick_seconds.crossing`, there may be several ranges, because of messages
            and two kinds of work.

        Raises
        ------
        InputError
            If there is no such figure or output.
        """
        if figure not in FIGURES:
            raise InputError(f"figure {figure!r:.40}: unknown; choose one of {', '.join(FIGURES)}")
        [[found]] = self.leads(rollout, [other], [figure], output)
        return found

    def leads(
        self, rollout: Rollout, others: Sequence[Rollout], figures: Sequence[str], output: str | None = None
    ) -> list[list[tuple[tuple[int, int], ...]]]:
        """Find the numbers of cores on which a rollout is strictly ahead of each other one: a list per figure."""
        least, most = self.least_cores, max(self.least_cores, self.most_cores)
        # with ticks of fixed length, one number of cores stands for all
        numbers = range(least, most + 1) if self.chip.is_timed else (least,) * (most + 1 - least)
        # one number after the other: the loads for each are counted once, for all rollouts
        times = {n: [self.seconds(r, n, output) for r in (rollout, *others)] for n in {*numbers}}
        found = []
        for figure in figures:
            mine, *theirs = np.array([[getattr(seconds, figure) for seconds in times[n]] for n in numbers]).T
            found.append([_ranges(mine < other * (1 - 1e-9), least) for other in theirs])
        return found


def _ranges(is_ahead: NDArray[np.bool_], first: int) -> tuple[tuple[int, int], ...]:
    """First and last number of every run of true values; numbers start at ``first``."""
    turns = np.flatnonzero(np.diff(is_ahead, prepend=False, append=False)) + first
    return tuple((int(a), int(b) - 1) for a, b in list(pairwise(turns))[::2])


def count_frame_work(
    network: Network,
    chip: ChipSpec | str,
    frames: Mapping[str, ArrayLike] | str | Path | None = None,
    *,
    n_frames: int = DEFAULT_FRAMES,
    seed: int = 0,
    density: float | None = None,
    pattern: RolloutPattern | str = "streaming",
) -> FrameWork:
    """Count the work per frame of every node, in the reference.

    Neurons that no output depends on count too; the mapper leaves them out.

    Parameters
    ----------
    network : Network
        With weights and thresholds.
    chip : ChipSpec or str
        A chip, or a name for :func:`neuromap.hardware.chip.chip_file.load_chip`.
    frames : mapping of str to array_like of shape (n_frames, size), or path, optional
        Input frames; random ones by default.
    n_frames, seed, density : int, int, float or None
        Number, seed and density of random frames.
    pattern : RolloutPattern or str
        Pattern whose spikes are counted: those of other behaviour classes differ somewhat.

    Returns
    -------
    FrameWork
        Work of the frames after the network's silent start.

    Raises
    ------
    NetworkError
        If shapes, weights or thresholds are missing.
    StimulusError
        If the frames do not match the input nodes.
    ChipError
        If the chip is unknown.
    NotSupportedError
        If the chip's least delay is above one tick.

    Examples
    --------
    >>> import neuromap as nm
    >>> net = nm.load_network("examples/on_chip/sr.toml")
    >>> work = count_frame_work(net, "loihi1")
    >>> streaming, sequential = (Rollout(net, p) for p in ("streaming", "sequential"))
    >>> work.seconds(streaming, 1).period < work.seconds(sequential, 1).period
    True
    """
    from neuromap.hardware.chip.chip_file import load_chip

    needs("count_frame_work", network, Network)
    require_weights(network)
    chip = load_chip(chip) if isinstance(chip, str) else chip
    if chip.delay[0] > 1 and not network.is_spiking:
        raise NotSupportedError(
            f"chip {chip.name}: its least delay is {chip.delay[0]} ticks, so an update step may take several, and only "
            "what is mapped says how many; map the rollouts"
        )
    rollout = Rollout(network, pattern)
    chosen, _ = choose_frames(network, frames, RandomFrames(n_frames, seed, density))
    found = reference(rollout, chosen)
    silent = min(len(network.nodes), len(next(iter(found.values()))) // 2)
    spikes = {name: rows[silent:] for name, rows in found.items()}
    return FrameWork(network, chip, spikes)


def _ends(size: int, n_cores: int) -> Ints:
    """First neuron of a node on every core, followed by the node's size; shape (n_cores + 1,)."""
    return -(-np.arange(n_cores + 1, dtype=np.int64) * size // n_cores)


_Indices: TypeAlias = NDArray[np.int32]


class _Source(NamedTuple):
    """Spikes of a node and the work they cause, as far as independent of the number of cores."""

    spikes: Floats  # (n_frames, size)
    synapses: tuple[tuple[str, _Indices, _Indices], ...]  # targets; rows and columns of synapses, by column
    events: tuple[tuple[str, Floats], ...]  # targets, with running sums of events over their neurons and 0 before them


@lru_cache(maxsize=8)
def _loads(work: FrameWork, n_cores: int) -> dict[str, Floats]:
    """Seconds that every core sends and receives for a node in a frame; shapes (2, n_frames, n_cores)."""
    if n_cores < 1:
        raise InputError(f"n_cores = {n_cores}: must be 1 or more")
    costs, network = tick_costs(work.chip), work.network
    loads: dict[str, Floats] = {}
    if costs is None:
        return loads
    ends = {name: _ends(node.size, n_cores) for name, node in network.nodes.items()}
    for name, (spikes, synapses, events) in work._sources.items():
        pairs = []
        for target, rows, columns in synapses:
            core = np.repeat(np.arange(n_cores, dtype=np.int32), np.diff(ends[target]))[rows]
            # a neuron's first synapse on a core stands for all of them
            is_first = np.append(True, (core[1:] != core[:-1]) | (columns[1:] != columns[:-1]))[: len(rows)]
            pairs.append((core[is_first], columns[is_first]))
        cores, sources = np.concatenate([np.zeros((2, 0), np.int32), *pairs], axis=1)
        is_sent = csr_array((np.ones(len(cores)), (cores, sources)), (n_cores, spikes.shape[1]))
        is_sent.data[:] = 1  # several nodes of one core read the same message
        load = np.zeros((2, len(spikes), n_cores))
        load[1] = costs.arrival * (is_sent @ spikes.T).T
        for target, sums in events:
            load[1] += costs.event * np.diff(sums[:, ends[target]])
        if name not in network.inputs:
            own = spikes * (costs.fire + costs.spike * is_sent.sum(axis=0)) + costs.update
            load[0] = np.diff(_running(own)[:, ends[name]])
        loads[name] = load
    return loads


def _running(values: Floats) -> Floats:
    return np.concatenate([np.zeros((len(values), 1)), values.cumsum(axis=1)], axis=1)
