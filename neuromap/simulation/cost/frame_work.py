"""Work of a frame, node by node, and from it the seconds of rollouts on any number of cores, before anything is mapped.

Counted are spikes and synapses of the reference; seconds are those of the chip file. Neurons of every node lie evenly
on all cores. As in ``tick_times.py`` a core sends and takes in at the same time, so a tick lasts as long as the longer
of the two; what a spike sets off belongs to the tick in which it is fired.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.files.argument_checks import needs
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.chip.tick_costs import TickCosts, tick_costs
from neuromap.network.build import require_weights
from neuromap.network.network import Network
from neuromap.render.value import Card
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.rollout.schedule.tick_seconds import FIGURES, Seconds, TickWork, seconds_of_ticks, tick_seconds
from neuromap.simulation.choose_frames import RandomFrames, choose_frames
from neuromap.simulation.frame_defaults import DEFAULT_FRAMES
from neuromap.simulation.reference_frames import reference

if TYPE_CHECKING:
    from neuromap.network.edge import EdgeKey


@dataclass(frozen=True, eq=False)
class FrameWork(Card):
    """What a frame asks of every node of a network, on a chip.

    Attributes
    ----------
    network : Network
        The network.
    chip : ChipSpec
        Whose figures of time are taken.
    spikes : mapping of str to float
        Spikes of a node per frame, mean over the frames.
    synapses : mapping of (str, str) to float
        Synapses that a spike reaches over an edge, mean over the spikes; 0 where there was none.
    """

    network: Network
    chip: ChipSpec
    spikes: Mapping[str, float]
    synapses: Mapping[EdgeKey, float]

    def __post_init__(self) -> None:
        for name in ("spikes", "synapses"):
            object.__setattr__(self, name, ReadOnlyMapping(getattr(self, name)))

    def _facts(self) -> dict[str, object]:
        return {
            "network": self.network.name,
            "chip": self.chip.name,
            "spikes per frame": round(sum(self.spikes.values()), 1),
            "synaptic events per frame": round(self.synaptic_events, 1),
            "least cores": self.least_cores,
        }

    @property
    def synaptic_events(self) -> float:
        """Synaptic events of a frame."""
        return sum(self.spikes[u] * reached for (u, _), reached in self.synapses.items())

    @property
    def n_neurons(self) -> int:
        """Neurons of all computed nodes."""
        return sum(node.size for name, node in self.network.nodes.items() if name not in self.network.inputs)

    @property
    def least_cores(self) -> int:
        """Cores that the neurons fill."""
        return max(1, -(-self.n_neurons // self.chip.neurons))

    @property
    def most_cores(self) -> int:
        """Cores of the board."""
        return math.prod(self.chip.cores) * math.prod(self.chip.chips)

    def on(self, n_cores: int) -> tuple[TickWork, TickWork]:
        """Give the work of sending, and of taking in, on so many cores.

        Parameters
        ----------
        n_cores : int
            N, 1 or more.

        Returns
        -------
        tuple of TickWork
            A spike goes once to every core that reads it: where a core holds an Nth of a node side by side, those that
            its synapses span. Where ticks are of fixed length there is no work, and the barrier is the tick.
        """
        costs = tick_costs(self.chip)
        if costs is None:
            fixed = TickWork({}, barrier=self.chip.tick_seconds)
            return fixed, fixed
        inputs = set(self.network.inputs)
        sending: dict[str, float] = {}
        receiving: dict[str, float] = {}
        for name, node in self.network.nodes.items():
            spikes = self.spikes[name]
            edges = {(u, v): reached for (u, v), reached in self.synapses.items() if u == name and reached}
            sent = spikes * min(
                float(n_cores),
                sum(min(k, 1 + k * (n_cores - 1) / self.network.nodes[v].size) for (_, v), k in edges.items()),
            )
            receiving[name] = sent * costs.arrival + spikes * sum(edges.values()) * costs.event
            if name not in inputs:
                sending[name] = node.size * costs.update + spikes * costs.fire + sent * costs.spike
        barrier = self._barrier(costs)
        return TickWork(sending, self.n_neurons * costs.access, barrier), TickWork(receiving, 0.0, barrier)

    def _barrier(self, costs: TickCosts) -> Sequence[tuple[int, float]] | float:
        """Give the barrier by cores, which fill one tile after the other."""
        tile = math.prod(self.chip.tile)
        steps = {1 + (tiles - 1) * tile: seconds for tiles, seconds in costs.barrier}
        if 1 not in steps:
            steps[1] = 0.0
        return sorted(steps.items())

    def seconds(self, rollout: Rollout, n_cores: int, output: str | None = None) -> Seconds:
        """Give the times of an output of a rollout on so many cores.

        Parameters
        ----------
        rollout : Rollout
            Of the network.
        n_cores : int
            N, 1 or more.
        output : str, optional
            Which output; may be left out where there is one.

        Returns
        -------
        Seconds
            Of mean frames: frames that are busier, or unevenly spread, take longer.

        Raises
        ------
        InputError
            If there is no such output, or ``n_cores`` is below 1.
        """
        sides = [tick_seconds(rollout, side, n_cores) for side in self.on(n_cores)]
        return seconds_of_ticks(rollout, np.max(sides, axis=0), output)

    def ahead(
        self, rollout: Rollout, other: Rollout, figure: str = "first", output: str | None = None
    ) -> tuple[tuple[int, int], ...]:
        """Find the numbers of cores on which a rollout is strictly ahead of another.

        Parameters
        ----------
        rollout, other : Rollout
            Of the network.
        figure : {"first", "full", "period", "reaction"}
            What is compared.
        output : str, optional
            Which output; may be left out where there is one.

        Returns
        -------
        tuple of (int, int)
            First and last number of every range, from :attr:`least_cores` to :attr:`most_cores`. With messages, and
            two kinds of work, there may be several, other than for
            :func:`neuromap.rollout.schedule.tick_seconds.crossing`.

        Raises
        ------
        InputError
            If there is no such figure or output.
        """
        if figure not in FIGURES:
            raise InputError(f"figure {figure!r:.40}: unknown; choose one of {', '.join(FIGURES)}")
        least, most = self.least_cores, max(self.least_cores, self.most_cores)
        # where ticks are of fixed length one number of cores stands for all
        numbers = range(least, most + 1) if self.chip.is_timed else (least,) * (most + 1 - least)
        times = [{n: getattr(self.seconds(r, n, output), figure) for n in {*numbers}} for r in (rollout, other)]
        mine, theirs = (np.array([found[n] for n in numbers]) for found in times)
        is_ahead = np.concatenate([[False], mine < theirs * (1 - 1e-9), [False]])
        turns = np.flatnonzero(is_ahead[1:] != is_ahead[:-1]) + self.least_cores
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
    """Count what a frame asks of every node, in the reference.

    Parameters
    ----------
    network : Network
        With weights and thresholds.
    chip : ChipSpec or str
        A chip or its name, as :func:`neuromap.hardware.chip.chip_file.load_chip` takes it.
    frames : mapping of str to array_like of shape (n_frames, size), or path, optional
        Input frames; random ones by default.
    n_frames, seed, density : int, int, float or None
        Number, seed and density of random frames.
    pattern : RolloutPattern or str
        Under which the spikes are counted: those of other behaviour classes differ somewhat.

    Returns
    -------
    FrameWork
        Means over the frames in which the network is past its silent beginning.

    Raises
    ------
    NetworkError
        If shapes, weights or thresholds are missing.
    StimulusError
        If the frames do not match the input nodes.
    ChipError
        If the chip is unknown.

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
    rollout = Rollout(network, pattern)
    chosen, _ = choose_frames(network, frames, RandomFrames(n_frames, seed, density))
    found = reference(rollout, chosen)
    silent = min(len(network.nodes), len(next(iter(found.values()))) // 2)
    fired = {name: rows[silent:].mean(axis=0, dtype=float) for name, rows in found.items()}
    spikes = {name: float(rates.sum()) for name, rates in fired.items()}
    synapses = {}
    for (u, v), edge in network.edges.items():
        reached = sum(np.diff(term.matrix.tocsc().indptr) for term in edge.terms)
        synapses[u, v] = float(fired[u] @ reached) / spikes[u] if spikes[u] else 0.0
    return FrameWork(network, load_chip(chip) if isinstance(chip, str) else chip, spikes, synapses)
