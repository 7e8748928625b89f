"""What a core may hold of everything, as a linear program with levels: the crowds, their feeds, and copies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.value import Value
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.neuron_capacity import Crowd
from neuromap.mapping.bounds.readers import ChipKey, Key
from neuromap.mapping.bounds.window_axons import areas

LEVELS = 300
"""Of all groups together, about."""


@dataclass(frozen=True, eq=False)
class Group(ReadOnly, Value):
    """Neurons that are bounded together in a core; groups of a population may overlap."""

    population: int  # which of the mixture's populations
    parts: tuple[int, ...]  # parts of the population that it consists of
    neurons: Ints  # (levels,): neurons of each level at most
    axons: Ints  # (levels, feeds): axons of every feed that a core of this level has at least
    feeds: tuple[int, ...]  # feeds that the neurons read
    together: Ints  # (levels,): axons of all of these that a core of this level has at least


@dataclass(frozen=True, eq=False)
class Demand(ReadOnly, Value):
    """What all cores together need."""

    neurons: Ints  # of every part
    axons: Ints  # of every feed
    copies: Ints  # of every population, as far as they are spread evenly
    more_copies: int  # neurons of cores beyond those that feed axons


@dataclass(frozen=True, eq=False)
class Mixture(ReadOnly, Value):
    """All that is known of a core's contents."""

    groups: tuple[Group, ...]
    population_of: Ints  # (parts,): population of every part
    copies_of: Ints  # (parts,): neurons of cores that one of a part takes at least
    from_chip: Bools  # (feeds,): whether neurons feed the axons
    # (populations,): copies of one neuron that count towards the demand, at most; those of the population's first part
    # count
    most_copies: Ints
    demand: Demand


def mixture_of(crowds: list[list[Crowd]], fed: FedAxons, read_out: int, chip: ChipSpec) -> Mixture:
    """Put the bounds on all readers together."""
    # fed: axons that are fed at least
    crowds = [some for some in crowds if some[0].need]
    keys = list(fed.of_feeds)
    levels = max(6, LEVELS // max(1, 2 * len(crowds)))
    groups: list[Group] = []
    parts: list[tuple[int, Crowd]] = []
    for k, some in enumerate(crowds):
        mine = _parts_of(some)
        numbers = tuple(range(len(parts), len(parts) + len(mine)))
        parts += [(k, crowd) for crowd in mine]
        groups += [_group(k, (number,), crowd, keys, levels) for number, crowd in zip(numbers, mine, strict=True)]
    least = [_least_copies(crowd, fed, chip) for _, crowd in parts]
    axons = np.array([fed.of_feeds[key] for key in keys], np.int64)
    even = [even_copies(_parts_of(some)[0], crowds, chip) for some in crowds]
    demand = Demand(
        np.array([crowd.rows for _, crowd in parts], np.int64),
        axons,
        np.array([found.copies for found in even], np.int64),
        read_out + fed.relayed,
    )
    return Mixture(
        tuple(groups),
        np.array([k for k, _ in parts], np.int64),
        np.array(least, np.int64),
        np.array([isinstance(key, ChipKey) for key in keys], bool),
        np.array([found.most for found in even], np.int64),
        demand,
    )


def _parts_of(crowds: list[Crowd]) -> list[Crowd]:
    """Take a population apart into the neurons of which more is known, and all others."""
    is_apart = len(crowds) > 2 and crowds[-2].rows + crowds[-1].rows == crowds[0].rows
    return crowds[-2:] if is_apart else crowds[:1]


def _group(population: int, parts: tuple[int, ...], crowd: Crowd, keys: list[Key], levels: int) -> Group:
    """Cut the curves into levels: one takes the axons of its first neuron and counts the neurons of its last."""
    axons = np.stack(
        [
            crowd.need[key][: crowd.room + 1] if key in crowd.need else np.zeros(crowd.room + 1, np.int64)
            for key in keys
        ],
        axis=1,
    )
    both = np.column_stack([axons, crowd.together[: crowd.room + 1]])
    last = np.flatnonzero(np.append((np.diff(both[1:], axis=0) != 0).any(axis=1), True)) + 1
    if len(last) > levels:
        last = last[np.unique(np.linspace(0, len(last) - 1, levels).astype(np.int64))]
    first = np.concatenate([[1], last[:-1] + 1])
    feeds = tuple(k for k, key in enumerate(keys) if key in crowd.need)
    return Group(population, parts, last, axons[first], feeds, crowd.together[first])


def _least_copies(crowd: Crowd, fed: FedAxons, chip: ChipSpec) -> int:
    """Count the axons of other cores that one of the neurons feeds by itself, at least; one or more."""
    population = crowd.reader.population
    copies = np.zeros(crowd.rows, np.int64)
    neurons = crowd.reader.neurons[crowd.which]
    for key, reads in fed.of_columns.items():
        if isinstance(key, ChipKey) and key.population == population and key.delay < 2 * chip.delay[0]:
            copies += reads[neurons]
    return max(1, int(copies.min()))


# Copies that whole windows ask for, counted so that a few neurons with many copies cannot stand for all.
ROUNDING = 1e-6
"""On a number that floating point may give a little too high."""


class EvenCopies(NamedTuple):
    """Copies of all neurons of a population, at most so many of one counted."""

    copies: int
    most: int


def even_copies(hosts: Crowd, crowds: list[list[Crowd]], chip: ChipSpec) -> EvenCopies:
    """Bound the copies that some neurons of a population have for axons that relays cannot feed."""
    # Of every neuron at most as many count as windows meet in it, for every delay. docs/lower-bounds.md has the proof.
    best: dict[Key, EvenCopies] = {}
    population = hosts.reader.population
    for crowd in (crowd for some in crowds for crowd in some):
        for key in crowd.windows:
            if isinstance(key, ChipKey) and key.population == population and key.delay < 2 * chip.delay[0]:
                found = _of_crowd(hosts, crowd, key, chip)
                best[key] = max(best.get(key, found), found)
    return EvenCopies(sum(found.copies for found in best.values()), sum(found.most for found in best.values()))


def _of_crowd(hosts: Crowd, crowd: Crowd, key: Key, chip: ChipSpec) -> EvenCopies:
    """Take the best ratio of sources to positions that a core allows, less what others than the hosts may give."""
    windows = crowd.windows[key]
    most = min(chip.neurons, crowd.rows)
    together = np.sum([found.channels * areas(found, most) for found in crowd.windows.values()], axis=0)
    positions = max(1, int(np.flatnonzero(together <= chip.axons)[-1]))
    p = np.arange(1, positions + 1)
    rate = (windows.channels * areas(windows, most)[1 : positions + 1] / (p * windows.features)).min()
    matrix = next(feed.matrix for feed in crowd.reader.feeds if feed.key == key)[np.flatnonzero(crowd.which)]
    readers = np.bincount(matrix.indices, minlength=matrix.shape[1])
    others = readers.sum() - readers[hosts.reader.neurons[hosts.which]].sum()
    copies = crowd.rows * rate - others / windows.features
    return EvenCopies(max(0, int(np.ceil(copies - ROUNDING))), windows.overlap)


# Reads: how many axons are fed at least, since every source is read in so many cores, and by how many neurons.


class FedAxons(NamedTuple):
    """Axons that are fed at least, bias axons not counted."""

    of_feeds: dict[Key, int]
    of_columns: dict[Key, Ints]
    """Cores that read each column of a feed, at least."""
    relayed: int
    """On ways longer than a neuron's delay, beyond those that readers use."""

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.of_feeds.values()) + self.relayed

    @property
    def by_neurons(self) -> int:
        """Those that neurons feed; axons that the host feeds take no neuron."""
        return sum(count for key, count in self.of_feeds.items() if isinstance(key, ChipKey)) + self.relayed


def fed_axons(crowds: list[list[Crowd]], chip: ChipSpec, two_hops: Mapping[Key, Ints]) -> FedAxons:
    """Count the axons that are fed at least."""
    # Readers of one signal may share its axons, so the greatest of their demands counts, not the sum.
    # two_hops: cores that read each column of a feed at least, by what all of its readers read
    of_columns: dict[Key, Ints] = dict(two_hops)
    of_feed: dict[Key, int] = {}  # axons of all columns together
    for crowd in (crowd for some in crowds for crowd in some):
        for key, least in crowd.need.items():
            of_feed[key] = max(of_feed.get(key, 0), _axons_in_all_cores(crowd, least))
            reads = crowd.reads[key]
            of_columns[key] = np.maximum(of_columns[key], reads) if key in of_columns else reads
    axons = {key: max(of_feed.get(key, 0), int(reads.sum())) for key, reads in of_columns.items()}
    return FedAxons(axons, of_columns, _relay_axons(of_columns, chip))


def _axons_in_all_cores(crowd: Crowd, least: Ints) -> int:
    """Bound the axons of a feed: c cores that hold n_1 + ... + n_c = rows read at least sum of least[n_i]."""
    sizes = np.arange(1, crowd.room + 1)
    rate = float((least[1 : crowd.room + 1] / sizes).min())
    return int(np.ceil(crowd.rows * rate - ROUNDING))


def _relay_axons(reads: dict[Key, Ints], chip: ChipSpec) -> int:
    """Count the axons on ways longer than a neuron's delay, beyond those counted as reads."""
    # A way passes an axon at least every longest delay ticks; those that other readers use anyway may be among them, so
    # only the gaps between the times at which a neuron is read ask for more.
    at: dict[int, list[tuple[int, Bools]]] = {}
    for key in sorted(key for key in reads if isinstance(key, ChipKey)):
        at.setdefault(key.population, []).append((key.delay, reads[key] > 0))
    more = 0
    for times in at.values():
        last = np.zeros(len(times[0][1]), np.int64)
        for delay, read in times:
            more += int((-(-(delay - last[read]) // chip.delay[1]) - 1).sum())
            last[read] = delay
    return more
