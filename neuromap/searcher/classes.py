"""The classes of a search: which ones, how they differ, when each answers first, and what is known of it in the race.

For stills they are the behaviour classes. Rollouts of one behaviour class compute the same function of a stream only if
they sample it equally often, so for streams classes are split by frame period.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev

import numpy as np

from neuromap.arrays.array_types import Bools, Floats
from neuromap.arrays.times import Time
from neuromap.arrays.value import Value
from neuromap.errors import InputError
from neuromap.explorer.answer.exploration import Exploration
from neuromap.explorer.answer.limits import ExploredRow
from neuromap.explorer.candidates.pattern_space import pattern_space
from neuromap.explorer.candidates.schedules import Values, graph_of
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.rollout.behaviour import behaviour_classes, class_key, count_behaviour_classes, count_valid
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.searcher.options import MOST_CLASSES
from neuromap.searcher.result import ClassStatus
from neuromap.searcher.rung import Rung

_MOST_PATTERNS = 100_000
"""Most valid patterns that are listed to find all classes."""
_OF_CLASS = 64
"""Patterns drawn per class of a sample."""
_COMPARED = 256
"""Most patterns of a class that are compared with those of another, to find its neighbour."""


@dataclass(frozen=True, eq=False)
class ClassPlace(Value):
    """A class of the search."""

    number: int  # from 1, that of streaming
    patterns: tuple[RolloutPattern, ...]  # its known patterns
    neighbour: int | None  # number of the earlier class from which it differs in the fewest edges
    changed: tuple[EdgeKey, ...] = ()  # these edges
    period: Time | None = None  # for streams: frame period in update steps, the same in all its rollouts

    def rollouts(self, executions: Sequence[str]) -> Iterator[Rollout]:
        """Yield the rollouts of its patterns that have its frame period and that their cycles allow."""
        for pattern in self.patterns:
            for execution in executions:
                rollout = _rollout_of(pattern, execution)
                if rollout is not None and self.period in (None, rollout.frame_period):
                    yield rollout

    @property
    def pattern(self) -> RolloutPattern:
        """Pattern under which its network is trained: a named one, else the one with the most streaming edges."""
        return self.patterns[0]


@dataclass(frozen=True, eq=False)
class ClassList(Value):
    """The classes of a search, each after its neighbour."""

    places: tuple[ClassPlace, ...]
    n_classes: int | None  # classes of the network; ``None`` if not counted
    is_complete: bool  # whether these are all of them


def list_classes(network: Network, sample: int | None, seed: int, sampled_by: Sequence[str] | None = None) -> ClassList:
    """List the behaviour classes of a network, or a sample of them; for streams, split by frame period."""
    # sampled_by: for streams, the executions searched; a sample is drawn from behaviour classes before they are split
    n_classes = count_behaviour_classes(network)
    n_valid = count_valid(network)
    are_few = n_classes is not None and n_valid is not None and n_valid <= _MOST_PATTERNS
    if are_few and n_classes is not None and n_classes <= max(MOST_CLASSES, sample or 0):
        found: Sequence[Sequence[RolloutPattern]] = behaviour_classes(network)[:sample]
    elif sample is not None:
        # patterns drawn around the named ones
        every = (RolloutPattern.named(network, name) for name in network.pattern_names)
        named = [pattern for pattern in every if pattern.is_valid]
        space = pattern_space(graph_of(network), named, ordered=0, listed=0, most_sampled=_OF_CLASS * sample, seed=seed)
        assert space.sample is not None, "nothing is listed in full"
        drawn = (RolloutPattern(network, tuple(values)) for values in space.sample.tolist())
        groups: dict[tuple[int, ...], dict[tuple[int, ...], RolloutPattern]] = {}
        for pattern in (*named, *drawn):
            groups.setdefault(class_key(pattern), {}).setdefault(pattern.values, pattern)
        found = [list(group.values()) for group in groups.values()][:sample]
    else:
        many = "not counted, too many" if n_classes is None else f"{n_classes:,}"
        raise InputError(
            f"network {network.name}: has many behaviour classes ({many}), each with a network to train; give a sample "
            f"(--sample {MOST_CLASSES})"
        )
    is_complete = len(found) == n_classes
    if sampled_by is None:
        return ClassList(_in_turn(network, [(patterns, None) for patterns in found]), n_classes, is_complete)
    split = [part for patterns in found for part in _by_period(patterns, sampled_by)]
    return ClassList(_in_turn(network, split), len(split) if is_complete else None, is_complete)


def _by_period(
    patterns: Sequence[RolloutPattern], executions: Sequence[str]
) -> list[tuple[list[RolloutPattern], Time | None]]:
    """Split a class into groups of patterns with rollouts of one frame period, the shortest period first."""
    # In all patterns of a class an answer depends on the same frames, except that some see fewer of the first ones;
    # frames are sampled a period apart, so with equal periods they show the same at the same time since onset.
    found = dict[Time, dict[tuple[int, ...], RolloutPattern]]()
    for pattern in patterns:
        for execution in executions:
            if (rollout := _rollout_of(pattern, execution)) is not None:
                found.setdefault(rollout.frame_period, {})[pattern.values] = pattern
    return [(list(found[period].values()), period) for period in sorted(found)] or [(list(patterns), None)]


def _rollout_of(pattern: RolloutPattern, execution: str) -> Rollout | None:
    try:
        return Rollout(pattern.network, pattern, execution)
    except InputError:  # its cycles do not allow the chosen period
        return None


def _in_turn(
    network: Network, classes: Sequence[tuple[Sequence[RolloutPattern], Time | None]]
) -> tuple[ClassPlace, ...]:
    """Order the classes so that each comes after its neighbour: the earlier class with the fewest different edges."""
    ordered = [_best_first(network, patterns) for patterns, _ in classes]
    periods = [period for _, period in classes]
    values = [np.array([p.values for p in patterns[:_COMPARED]], np.uint8) for patterns in ordered]
    places = [ClassPlace(1, ordered[0], None, period=periods[0])]
    taken, left = [0], list(range(1, len(ordered)))
    while left:
        distance, k, parent = min(
            (_distance(values[k], values[t]), k, place) for k in left for place, t in enumerate(taken)
        )
        changed = _changed(values[k], values[taken[parent]], network)
        assert len(changed) == distance
        places.append(ClassPlace(k + 1, ordered[k], taken[parent] + 1, changed, periods[k]))
        taken.append(k)
        left.remove(k)
    return tuple(places)


def spread_out(places: Sequence[ClassPlace], most: int) -> list[ClassPlace]:
    """Choose classes that differ in many edges: the first, then repeatedly the one farthest from all chosen."""
    values = [np.array([p.values for p in place.patterns[:_COMPARED]], np.uint8) for place in places]
    chosen, least = [0], np.array([_distance(values[0], other) for other in values])
    while len(chosen) < min(most, len(places)):
        least[chosen] = -1  # for streams, classes may share patterns
        chosen.append(int(least.argmax()))
        least = np.minimum(least, [_distance(values[chosen[-1]], other) for other in values])
    return [places[k] for k in sorted(chosen)]


def _best_first(network: Network, patterns: Sequence[RolloutPattern]) -> tuple[RolloutPattern, ...]:
    named: dict[tuple[int, ...], str] = {}
    for name in network.pattern_names:
        named.setdefault(RolloutPattern.named(network, name).values, name)
    order = list(named)
    told = [RolloutPattern(network, p.values, named.get(p.values, p.name)) for p in patterns]

    def rank(pattern: RolloutPattern) -> tuple[int, int, tuple[int, ...]]:
        place = order.index(pattern.values) if pattern.values in named else len(order)
        return place, -sum(pattern.values), tuple(-r for r in pattern.values)

    return tuple(sorted(told, key=rank))


def _differences(one: Values, other: Values) -> Bools:
    found: Bools = np.not_equal(one[:, None, :], other[None, :, :])
    return found


def _distance(one: Values, other: Values) -> int:
    return int(_differences(one, other).sum(axis=2).min())


def _changed(one: Values, other: Values, network: Network) -> tuple[EdgeKey, ...]:
    differ = _differences(one, other)
    counts = differ.sum(axis=2)
    row, column = np.unravel_index(int(counts.argmin()), counts.shape)
    return tuple(key for key, is_other in zip(network.edges, differ[row, column], strict=True) if is_other)


def least_first_response(place: ClassPlace, executions: Sequence[str]) -> int | None:
    """Least first response over all rollouts of the class, in update steps; ``None`` if it has no rollout."""
    found = (rollout.first_response(name) for rollout in place.rollouts(executions) for name in rollout.network.outputs)
    return min(found, default=None)


# What is known of a class in the race.


@dataclass(eq=False)
class Entrant:
    """A class in the race."""

    place: ClassPlace
    status: ClassStatus = "trained"
    why: str = ""
    epochs: int = 0
    rungs: dict[int, Rung] = field(default_factory=dict)  # last rung, by seed
    networks: dict[int, Network] = field(default_factory=dict)
    explored: Exploration | None = None  # of its patterns, from the last mapping
    rows: list[ExploredRow] = field(default_factory=list)  # rows on its class front
    accuracy: dict[int, Floats] = field(default_factory=dict)  # by seed: (rows, moments), NaN without an answer
    kept: int = -1  # the seed whose network is kept, once all are trained

    @property
    def is_live(self) -> bool:
        """Whether it is still in the race."""
        return self.status == "trained"

    @property
    def network(self) -> str:
        """Name of its network."""
        return self.place.pattern.network.name

    @property
    def name(self) -> str:
        """Its pattern, by name or as R of every edge."""
        pattern = self.place.pattern
        return pattern.name or pattern.digits

    def samples_as(self, row: ExploredRow) -> bool:
        """Whether a row samples a stream with the frame period of this class; always true for stills."""
        if self.place.period is None:
            return True
        # training takes a step as a tick: a row whose steps take several samples other frames
        network, one = self.place.pattern.network, row.candidate
        steps = Rollout(network, RolloutPattern(network, one.values), one.execution).frame_period
        return self.place.period == steps == row.frame_period_ticks

    def leave(self, status: ClassStatus, why: str) -> None:
        """Take it out of the race."""
        self.status, self.why = status, why

    def keep_better_rung(self, before: Mapping[int, tuple[Rung, Network, Floats]]) -> None:
        """Revert, seed by seed, to the weights of the previous rung if they were at least as accurate."""
        # a rung begins with longer steps than the previous one ended with, so it may end worse than it began
        for seed, (rung, network, accuracy) in before.items():
            if _overall(accuracy) >= _overall(self.accuracy[seed]):
                self.rungs[seed], self.networks[seed], self.accuracy[seed] = rung, network, accuracy

    def mean(self) -> Floats:
        """Accuracies of its rows, averaged over the seeds."""
        found: Floats = np.mean(list(self.accuracy.values()), axis=0)
        return found

    def best(self) -> tuple[list[float | None], list[float | None]]:
        """Mean and spread of its best row at every moment."""
        means, spreads = list[float | None](), list[float | None]()
        for k, column in enumerate(self.mean().T if self.accuracy else ()):
            is_known = np.isfinite(column).any()
            row = int(np.nanargmax(column)) if is_known else 0
            each = [float(found[row, k]) for found in self.accuracy.values()]
            means.append(fmean(each) if is_known else None)
            spreads.append(stdev(each) if is_known and len(each) > 1 else None)
        return means, spreads

    def keep_best(self) -> int:
        """Keep the network of the seed that is most accurate over all rows and moments."""
        # called once: after a new mapping other rows may count, and the cores would be those of another seed's network
        self.kept = max(self.accuracy, key=lambda seed: (_overall(self.accuracy[seed]), -seed))
        return self.kept


def _overall(accuracy: Floats) -> float:
    """Mean over all rows and moments; no answer counts as accuracy 0."""
    return float(np.nan_to_num(accuracy).mean())
