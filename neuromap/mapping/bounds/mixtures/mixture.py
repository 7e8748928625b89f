"""What a core may hold of everything, as a linear program with levels: the crowds, their feeds, and copies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.crowds.crowding import Crowd
from neuromap.mapping.bounds.crowds.reads import FedAxons
from neuromap.mapping.bounds.mixtures.even_copies import even_copies
from neuromap.mapping.bounds.populations.readers import ChipKey, Key

__all__ = ["Demand", "Group", "Mixture", "mixture_of"]

Ints = NDArray[np.int64]
LEVELS = 300
"""Of all groups together, about."""


@dataclass(frozen=True, eq=False)
class Group(Value):
    """Neurons that are bounded together in a core; groups of a population may overlap."""

    population: int  # which of the mixture's populations
    parts: tuple[int, ...]  # parts of the population that it consists of
    neurons: Ints  # (levels,): neurons of each level at most
    axons: Ints  # (levels, feeds): axons of every feed that a core of this level has at least
    feeds: tuple[int, ...]  # feeds that the neurons read
    together: Ints  # (levels,): axons of all of these that a core of this level has at least

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class Demand(Value):
    """What all cores together need."""

    neurons: Ints  # of every part
    axons: Ints  # of every feed
    copies: Ints  # of every population, as far as they are spread evenly
    more_copies: int  # neurons of cores beyond those that feed axons

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class Mixture(Value):
    """All that is known of a core's contents."""

    groups: tuple[Group, ...]
    population_of: Ints  # (parts,): population of every part
    copies_of: Ints  # (parts,): neurons of cores that one of a part takes at least
    from_chip: NDArray[np.bool_]  # (feeds,): whether neurons feed the axons
    # (populations,): copies of one neuron that count towards the demand, at most; those of the population's first part
    # count
    most_copies: Ints
    demand: Demand

    def __post_init__(self) -> None:
        freeze_arrays(self)


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
