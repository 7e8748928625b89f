"""Seconds of rollouts on chips whose ticks take as long as their work, and from how many cores one is ahead.

A schedule says which nodes compute in which tick of its period. If the neurons of every node are spread evenly over all
N cores, a tick with work w lasts

    barrier(N) + (fixed + w) / N,

and every response is a sum of ticks. N times such a sum is D z + U, with D ticks, the work U in them, and z = N
barrier(N) + fixed, the core seconds of a tick without work. So two rollouts cross once. Theorems:
``docs/theorems/streaming-or-sequential.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.times import tick_of_frame
from neuromap.errors import InputError
from neuromap.files.argument_checks import mapping_given, needs, real_number, whole_number
from neuromap.files.messages import did_you_mean
from neuromap.network.network import Network
from neuromap.render.value import Card
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout

Floats = NDArray[np.float64]
FIGURES = ("first", "full", "period", "reaction")
"""Figures by which rollouts are compared: the fields of :class:`Seconds`."""
_NOTHING: Mapping[str, float] = ReadOnlyMapping({})
_START = ""
"""Node added before all inputs; no node of a network has this name."""


@dataclass(frozen=True, eq=False)
class TickWork(Card):
    """What takes time in a tick, in seconds of one core.

    Parameters
    ----------
    nodes : mapping of str to float
        Work of a node per frame; 0 for nodes not named. It is done in the tick in which the node computes; that of an
        input in the tick after its sample, the first that counts for a response.
    fixed : float
        Work of every tick, whatever happens in it: that of all neurons in use, which a chip visits in every tick.
    barrier : float or sequence of (int, float)
        Seconds that synchronisation adds to a tick; as pairs (first number of cores, seconds), not falling.
    grains : mapping of str to float
        Greatest part of a node's work that cannot be spread: that of its busiest neuron, with the neuron's part of
        ``fixed``; 0 for nodes not named.

    Raises
    ------
    InputError
        If a number is below 0 or not finite, or the pairs of the barrier are not in order.

    Examples
    --------
    >>> TickWork({"A": 40e-6}, barrier=[(1, 0.6e-6), (5, 1e-6)]).barrier_of(8)
    1e-06
    """

    nodes: Mapping[str, float]
    fixed: float = 0.0
    barrier: float | Sequence[tuple[int, float]] = 0.0
    grains: Mapping[str, float] = field(default_factory=lambda: _NOTHING)

    def __post_init__(self) -> None:
        for name in ("nodes", "grains"):
            given = getattr(self, name)
            mapping_given(f"TickWork: {name}", given, "{'H1': 2e-6}")
            checked = {node: _time(f"TickWork: {name}: {node}", seconds) for node, seconds in given.items()}
            object.__setattr__(self, name, ReadOnlyMapping(checked))
        object.__setattr__(self, "fixed", _time("TickWork: fixed", self.fixed))
        steps = self.barrier
        if not isinstance(steps, Sequence):
            steps = [(1, steps)]
        checked_steps = tuple((whole_number("TickWork: barrier", n), _time("TickWork: barrier", b)) for n, b in steps)
        rises = all(n < m and b <= c for (n, b), (m, c) in pairwise(checked_steps))
        if not checked_steps or checked_steps[0][0] != 1 or not rises:
            raise InputError(
                f"TickWork: barrier = {steps!r:.80}: give (cores, seconds) from 1 core on, both rising, or a number"
            )
        object.__setattr__(self, "barrier", checked_steps)

    @property
    def _steps(self) -> tuple[tuple[int, float], ...]:
        assert isinstance(self.barrier, tuple)
        return self.barrier

    def barrier_of(self, n_cores: float) -> float:
        """Seconds of the barrier over ``n_cores`` cores."""
        return next(seconds for first, seconds in reversed(self._steps) if first <= max(n_cores, 1))

    def cores_of(self, core_seconds: float, ticks: float = 1.0, more: float = 0.0) -> float:
        """Find the N from which N (ticks barrier(N) + more) is, and stays, above ``core_seconds``.

        Parameters
        ----------
        core_seconds : float
            Seconds summed over all cores; may be negative.
        ticks, more : float
            Number of barriers, and seconds added to them on every core; may be negative.

        Returns
        -------
        float
            A real number, 0 or more; halfway between two integers if the barrier steps up there; inf if there is
            none.
        """
        ends = [*(n for n, _ in self._steps[1:]), math.inf]
        for (first, barrier), end in zip(self._steps, ends, strict=True):
            each = ticks * barrier + more
            if each > 0:  # and so in all later steps, as barriers do not fall
                found = core_seconds / each
                # if the barrier jumps over the sum, the two are equal on no number of cores
                found = max(found, 0.0) if first == 1 or found >= first else first - 0.5
            else:
                found = 0.0 if each == 0 and core_seconds < 0 else math.inf
            if found < end:
                return found
        return math.inf


def _time(name: str, value: float) -> float:
    found = real_number(name, value)
    if not 0 <= found < math.inf:
        raise InputError(f"{name}: found {value!r}; seconds are 0 or more, and finite")
    return found


@dataclass(frozen=True)
class Seconds(Card):
    """Times of one output of a rollout.

    Attributes
    ----------
    first, full : float
        First and full response in seconds, from the end of the tick in which the input is sampled to the end of that
        in which the output computes; at unequal intervals, of the frame that takes longest.
    period : float
        Seconds between samples; at unequal intervals the mean.
    reaction : float
        Supremum over events at any moment at the input that is answered last: the event waits for the next sample, then
        for the first response to that input.
    """

    first: float
    full: float
    period: float
    reaction: float


def seconds_of_ticks(rollout: Rollout, tick_seconds: ArrayLike, output: str | None = None) -> Seconds:
    """Sum ticks of any length to the times of an output.

    Parameters
    ----------
    rollout : Rollout
        In update steps, one per tick, or in ticks.
    tick_seconds : array_like of float, shape (n_ticks,)
        Lengths of ticks 0, 1, ... of the rollout, from any source: an even spread, a simulation, a measurement. They
        repeat after n_ticks, which must be a multiple of the ticks after which the schedule repeats (its frame period,
        or the numerator of a mean one).
    output : str, optional
        Which output; may be omitted if there is only one.

    Returns
    -------
    Seconds
        If ticks differ from frame to frame, ``first``, ``full`` and ``reaction`` are of the frame that takes longest
        and ``period`` is the mean.

    Raises
    ------
    InputError
        If there is no such output, or the ticks are not a whole number of repetitions.

    Examples
    --------
    >>> net = Network.from_edges([("I", "A"), ("A", "O"), ("I", "O")])
    >>> seconds_of_ticks(Rollout(net, "sequential"), [3, 5])
    Seconds(first=8.0, full=8.0, period=8.0, reaction=16.0)
    """
    needs("seconds_of_ticks", rollout, Rollout)
    output = _output_of(rollout, output)
    lengths = np.asarray(tick_seconds, dtype=float)
    period = rollout.frame_period
    cycle = period.numerator
    if lengths.ndim != 1 or not len(lengths) or len(lengths) % cycle:
        raise InputError(
            f"seconds_of_ticks: ticks of shape {lengths.shape}; the schedule repeats after {cycle}, give that many or "
            "a multiple"
        )
    before = np.concatenate([[0.0], np.cumsum(lengths)])

    def until(tick: int) -> float:
        """Seconds from tick 0 to the end of a tick, negative for ticks before -1."""
        turns, rest = divmod(tick + 1, len(lengths))
        return float(turns * before[-1] + before[rest])

    first, full, last = rollout.first_response(output), rollout.full_response(output), rollout.slowest_response(output)
    n_frames = len(lengths) * period.denominator // cycle
    ends = [tick_of_frame(rollout.phases[output], period, frame) for frame in range(n_frames + 1)]
    return Seconds(
        first=max(until(end) - until(end - first) for end in ends[:-1]),
        full=max(until(end) - until(end - full) for end in ends[:-1]),
        period=float(before[-1]) / n_frames,
        reaction=max(until(after) - until(end - last) for end, after in pairwise(ends)),
    )


def tick_seconds(rollout: Rollout, work: TickWork, n_cores: int) -> tuple[float, ...]:
    """Length of every tick of a schedule if the neurons of every phase are spread evenly over all cores.

    Parameters
    ----------
    rollout : Rollout
        In update steps, one per tick, or in ticks.
    work : TickWork
        What takes time in a tick.
    n_cores : int
        N, 1 or more.

    Returns
    -------
    tuple of float
        Seconds of ticks 0, 1, ... until the schedule repeats: barrier + max((fixed + work) / N, greatest grain). No
        placement on N cores has shorter ticks.

    Raises
    ------
    InputError
        If work names nodes that the network lacks, or ``n_cores`` is below 1.
    """
    needs("tick_seconds", rollout, Rollout)
    needs("tick_seconds: work", work, TickWork)
    if whole_number("tick_seconds: n_cores", n_cores) < 1:
        raise InputError(f"tick_seconds: n_cores = {n_cores}: must be 1 or more")
    spread = (work.fixed + _per_tick(rollout, work.nodes)) / n_cores
    lengths = work.barrier_of(n_cores) + np.maximum(spread, _per_tick(rollout, work.grains, greatest=True))
    return tuple(lengths.tolist())


def seconds_on_cores(rollout: Rollout, work: TickWork, n_cores: int, output: str | None = None) -> Seconds:
    """Compute the times of an output if the neurons of every phase are spread evenly over all cores.

    Parameters
    ----------
    rollout, work, n_cores
        As in :func:`tick_seconds`.
    output : str, optional
        Which output; may be omitted if there is only one.

    Returns
    -------
    Seconds
        No placement on N cores has shorter times.

    Raises
    ------
    InputError
        If work names nodes that the network lacks, ``n_cores`` is below 1, or there is no such output.

    Examples
    --------
    >>> net = Network.from_edges([("I", "A"), ("A", "O"), ("I", "B"), ("B", "C"), ("C", "O")])
    >>> work = TickWork(dict.fromkeys("ABCO", 10e-6), barrier=1e-6)
    >>> [round(seconds_on_cores(Rollout(net, p), work, 10).first * 1e6) for p in ("streaming", "sequential")]
    [10, 7]
    """
    return seconds_of_ticks(rollout, tick_seconds(rollout, work, n_cores), output)


def _per_tick(rollout: Rollout, nodes: Mapping[str, float], *, greatest: bool = False) -> Floats:
    """Work in every tick until the schedule repeats, shape (n_ticks,): summed over nodes, or the greatest."""
    network, period = rollout.network, rollout.frame_period
    inputs = set(network.inputs)
    found = np.zeros(period.numerator)
    for name, amount in nodes.items():
        if name not in network.nodes:
            hint = did_you_mean(str(name), list(network.nodes))
            raise InputError(f"TickWork: {name!r:.60}: is not a node of network {network.name}; name its nodes{hint}")
        for frame in range(period.denominator):
            tick = tick_of_frame(rollout.phases[name], period, frame) + (name in inputs)
            k = tick % period.numerator
            found[k] = max(found[k], amount) if greatest else found[k] + amount
    return found


def _output_of(rollout: Rollout, output: str | None) -> str:
    names = rollout.network.outputs
    if output is None and len(names) == 1:
        return names[0]
    if output not in names:
        said = "no output is given" if output is None else f"output {output}: is not an output"
        raise InputError(f"{said} of network {rollout.network.name}; choose one of {', '.join(names)}")
    return output


# Lines: a figure times N, as a function of z, the core seconds of a tick without work.


class _Line(NamedTuple):
    """Core seconds of a figure: ``ticks`` z + ``work``, and the grains of its ticks."""

    ticks: float
    work: float
    grains: float


def _line(rollout: Rollout, work: TickWork, figure: str, output: str | None) -> _Line:
    """Line of a figure, which is linear in the lengths of ticks."""
    if figure not in FIGURES:
        raise InputError(f"figure {figure!r:.40}: unknown; choose one of {', '.join(FIGURES)}")
    if figure == "reaction" and isinstance(rollout.frame_period, Fraction):
        raise InputError(
            f"reaction of execution {rollout.execution}: frames come at unequal intervals, so it has no line; choose "
            "pipelined"
        )
    size = rollout.frame_period.numerator
    grains = _per_tick(rollout, work.grains, greatest=True)
    grains[grains == 0] = min(grains[grains > 0], default=0.0)  # ticks without due neurons: neurons are still visited
    parts = (np.ones(size), _per_tick(rollout, work.nodes), grains)
    return _Line(*(getattr(seconds_of_ticks(rollout, part, output), figure) for part in parts))


@dataclass(frozen=True)
class Crossing(Card):
    """Number of cores above which, or below which, a rollout is ahead of another.

    Attributes
    ----------
    cores : float
        N*, the number of cores on which the two are equal; 0 or inf if they are equal on no number.
    is_above : bool
        Whether the rollout is ahead on more than N* cores, as one with fewer ticks is; else on fewer.
    least, most : float
        With grains: outside this range of cores, some placement keeps the statement, whatever the placement of the
        other rollout. Both are ``cores`` without grains.
    """

    cores: float
    is_above: bool
    least: float
    most: float

    def is_ahead(self, n_cores: int) -> bool:
        """Whether the rollout is strictly ahead on ``n_cores`` cores."""
        return n_cores > self.cores if self.is_above else n_cores < self.cores

    @property
    def first_cores(self) -> int | None:
        """Least number of cores on which the rollout is ahead; ``None`` if there is none."""
        if self.is_above:
            return None if math.isinf(self.cores) else math.floor(self.cores) + 1
        return 1 if self.cores > 1 else None


def crossing(
    rollout: Rollout, other: Rollout, work: TickWork, figure: str = "first", output: str | None = None
) -> Crossing:
    """Find from how many cores a rollout is ahead of another, if all cores hold neurons of every phase.

    Parameters
    ----------
    rollout, other : Rollout
        Two rollouts of one network.
    work : TickWork
        What takes time in a tick. Grains do not affect N*, only its bounds.
    figure : {"first", "full", "period", "reaction"}
        The figure to compare.
    output : str, optional
        Which output; may be omitted if there is only one.

    Returns
    -------
    Crossing
        With D and D' ticks of the figure and work U and U' in them, N* solves N barrier(N) + fixed =
        (U - U') / (D' - D).

    Raises
    ------
    InputError
        If there is no such figure or output, or work names nodes that the network lacks.

    Examples
    --------
    >>> net = Network.from_edges([("I", "A"), ("A", "O"), ("I", "B"), ("B", "C"), ("C", "O")])
    >>> work = TickWork(dict.fromkeys("ABCO", 10e-6), barrier=1e-6)
    >>> found = crossing(Rollout(net, "streaming"), Rollout(net, "sequential"), work)
    >>> round(found.cores), found.is_above, found.first_cores
    (40, True, 41)
    """
    needs("crossing", rollout, Rollout)
    needs("crossing: other", other, Rollout)
    needs("crossing: work", work, TickWork)
    if list(rollout.network.edges) != list(other.network.edges):
        raise InputError(
            f"crossing: network {rollout.network.name} has other edges than network {other.network.name}; compare "
            "rollouts of one network"
        )
    mine, theirs = (_line(r, work, figure, output) for r in (rollout, other))
    if mine.ticks == theirs.ticks:  # the lines are parallel
        ahead = 0.0 if mine.work < theirs.work else math.inf
        return Crossing(ahead, is_above=True, least=ahead, most=ahead)
    is_above = mine.ticks < theirs.ticks
    few, many = (theirs, mine) if is_above else (mine, theirs)  # ahead on few cores, and on many
    ticks, done = few.ticks - many.ticks, many.work - few.work
    rest = done - ticks * work.fixed
    return Crossing(
        work.cores_of(rest, ticks),
        is_above,
        least=work.cores_of(rest + few.grains, ticks, few.grains),
        most=work.cores_of(rest - many.grains, ticks, -many.grains),
    )


class Best(NamedTuple):
    """A rollout that is best over a range of cores."""

    cores: float  # start of the range, a real number; it ends at the start of the next
    rollout: Rollout


def best_over_cores(
    rollouts: Iterable[Rollout], work: TickWork, figure: str = "first", output: str | None = None
) -> tuple[Best, ...]:
    """Find which of several rollouts is best on which numbers of cores.

    Parameters
    ----------
    rollouts : iterable of Rollout
        Rollouts of one network; of equal ones the first is taken.
    work : TickWork
        What takes time in a tick; grains are ignored.
    figure : {"first", "full", "period", "reaction"}
        The figure to minimise.
    output : str, optional
        Which output; may be omitted if there is only one.

    Returns
    -------
    tuple of Best
        From few cores to many: ticks fall and work rises. Rollouts that are nowhere best are left out.

    Raises
    ------
    InputError
        If there is no rollout, figure or output, or work names nodes that the network lacks.
    """
    lines: dict[float, tuple[float, Rollout]] = {}
    for rollout in rollouts:
        line = _line(rollout, work, figure, output)
        if line.ticks not in lines or line.work < lines[line.ticks][0]:
            lines[line.ticks] = line.work, rollout
    if not lines:
        raise InputError("best_over_cores: no rollout is given; give one or more")
    # lower envelope of the lines over z, from the left, where the least work is best
    found: list[tuple[float, float]] = []
    for ticks in sorted(lines, reverse=True):
        begins = -math.inf
        while found:
            before = found[-1][1]
            begins = (lines[ticks][0] - lines[before][0]) / (before - ticks)
            if begins > found[-1][0]:
                break
            found.pop()
            begins = -math.inf
        found.append((begins, ticks))
    best = [Best(work.cores_of(begins - work.fixed), lines[ticks][1]) for begins, ticks in found]
    return tuple(one for one, after in zip(best, [*best[1:], None], strict=True) if after is None or after.cores > 0)


def least_first_response(
    network: Network, work: TickWork, n_cores: int, output: str | None = None
) -> tuple[float, tuple[str, ...]]:
    """Find the least first response over all patterns, executions and phases on ``n_cores`` cores.

    Parameters
    ----------
    network : Network
        The network.
    work : TickWork
        What takes time in a tick; grains are ignored.
    n_cores : int
        N, 1 or more.
    output : str, optional
        Which output; may be omitted if there is only one.

    Returns
    -------
    seconds : float
        The least of D barrier + (D fixed + U) / N over all paths with D edges and work U of their nodes.
    path : tuple of str
        Nodes of the best path; :func:`path_first` makes a rollout of it.

    Raises
    ------
    InputError
        If work names nodes that the network lacks, ``n_cores`` is below 1, or there is no such output.
    """
    import networkx as nx  # slow to import

    streaming = Rollout(network, RolloutPattern.named(network, "streaming"))
    output = _output_of(streaming, output)
    tick_seconds(streaming, work, n_cores)  # checks work and n_cores
    each = n_cores * work.barrier_of(n_cores) + work.fixed
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_weighted_edges_from((u, v, each + work.nodes.get(v, 0.0)) for u, v in network.edges)
    graph.add_weighted_edges_from((_START, name, work.nodes.get(name, 0.0)) for name in network.inputs)
    path = nx.dijkstra_path(graph, _START, output)
    length = sum(graph.edges[edge]["weight"] for edge in pairwise(path))
    return length / n_cores, tuple(path[1:])


def path_first(network: Network, path: Sequence[str]) -> Rollout:
    """Make the rollout that computes the nodes of a path first, one per tick, and all others in one more tick.

    Parameters
    ----------
    network : Network
        The network.
    path : sequence of str
        From an input to an output, no node twice.

    Returns
    -------
    Rollout
        The path's edges are sequential, all others stream; the frame period is the number of path edges plus one.

    Raises
    ------
    InputError
        If ``path`` is not such a path.
    """
    needs("path_first", network, Network)
    steps = list(pairwise(path))
    if not steps or len(set(path)) < len(path) or not set(steps) <= set(network.edges) or path[0] not in network.inputs:
        raise InputError(
            f"path_first: {' -> '.join(map(str, path))!r:.80}: is not a path of network {network.name} from an input; "
            "give its nodes, each once"
        )
    pattern = RolloutPattern.from_streaming_edges(network, [edge for edge in network.edges if edge not in steps])
    period = len(path)
    rest = {name: period for name in network.nodes if name not in path and name not in network.inputs}
    rest |= {name: k for k, name in enumerate(path)} | {name: period - 1 for name in network.inputs if name != path[0]}
    return Rollout(network, pattern, f"pipelined:{period}").with_phases(rest)
