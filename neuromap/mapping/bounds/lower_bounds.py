"""Lower bounds on the cores of any mapping of a rollout: what no tiling, packing, copying or splitting can beat.

Three arguments, each a theorem in docs/lower-bounds.md. *Crowding*: n neurons of a population read at least so many
distinct sources, and a core has so many axons; hence a core holds at most so many neurons. *Reads*: then a source must
be read in at least so many cores, and every read takes an axon and a neuron that feeds it. *Shares*: prices per neuron
such that no core, however mixed, holds neurons worth more than one core.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.least_sources import by_degrees, by_expansion, sources_beyond_palette
from neuromap.mapping.bounds.readers import Reader, read_out_neurons, readers_of
from neuromap.mapping.bounds.window_axons import Windows, axons_of_windows, find_windows, single_axon_sources
from neuromap.mapping.legalise.legalised import Legalised

__all__ = ["CoreBound", "PopulationBound", "core_bound"]

Ints = NDArray[np.int64]
Key = tuple[int, ...]
EFFORT = 200_000_000
"""Steps up to which the worth of a mixed core is computed."""


@dataclass(frozen=True)
class PopulationBound:
    """What the neurons of one population need, whatever they share their cores with.

    Attributes
    ----------
    name : str
        Of the population.
    cores : int
        Cores among which its neurons spread at least.
    by : {"axons", "neurons"}
        What keeps more of its neurons from a core.
    """

    name: str
    cores: int
    by: str


@dataclass(frozen=True)
class CoreBound:
    """Lower bound on the cores of every mapping of a rollout onto a chip.

    Attributes
    ----------
    total : int
        Cores.
    by : {"axons", "neurons"}
        The resource that gives ``total``.
    neurons : int
        Neurons of cores that are taken at least: one for every axon that a neuron feeds, one for each that is read out.
    axons : int
        Axons that are fed at least, bias axons not counted.
    populations : tuple of PopulationBound
        Population by population; those that no output depends on, relays and splitters need none.
    """

    total: int
    by: str
    neurons: int
    axons: int
    populations: tuple[PopulationBound, ...]

    @property
    def per_population(self) -> tuple[tuple[str, int, str], ...]:
        """Name, cores and limiting resource of every population."""
        return tuple((p.name, p.cores, p.by) for p in self.populations)


@dataclass(frozen=True, eq=False)
class _Crowd:
    """Some neurons of a reader and what they need together.

    ``need[key][n]`` axons of one feed are taken in a core that holds n of the rows; a core holds at most ``room``.
    ``reads[key]`` is the least number of cores that read each column.
    """

    reader: Reader
    rows: int
    need: dict[Key, Ints]
    reads: dict[Key, Ints]
    room: int

    def limit(self, chip: ChipSpec) -> str:
        """Name what keeps one neuron more from a core; ``neurons`` where all fit."""
        return "axons" if self.room < min(self.rows, chip.neurons) else "neurons"

    @property
    def cores(self) -> int:
        return -(-self.rows // self.room)


def core_bound(network: Legalised, chip: ChipSpec, *, proven: bool = False) -> CoreBound:
    """Bound the cores of every mapping of a rollout from below.

    It holds for all tilings, packings, placements, copies, replicas, relays and splitters with the schedule's delays,
    as long as every neuron from which weights lead to an output is computed from all its sources.

    Parameters
    ----------
    network : Legalised
        In ticks; relays and splitters that it has already do not matter.
    chip : ChipSpec
        Axons, neurons and axon types of a core, and the range of delays. Its number of cores and defects do not matter.
    proven : bool
        Leave out what rests on floating point: the bound by singular values. Refusals do.

    Returns
    -------
    CoreBound
        With at least one core where any neuron is needed.
    """
    readers = readers_of(network)
    options = [_crowds(reader, chip, proven) for reader in readers]
    best = [max(crowds, key=lambda c: (c.rows / c.room, c.rows)) for crowds in options]
    axons, neurons = _reads(options, chip)
    neurons += read_out_neurons(network, readers)
    populations = tuple(PopulationBound(c.reader.name, c.cores, c.limit(chip)) for c in best)
    candidates = [
        *((p.cores, p.by) for p in populations),
        (-(-neurons // chip.neurons), "neurons"),
        (-(-axons // chip.axons), "axons"),
        (_shares(best, chip), "axons"),
    ]
    total, by = max(candidates, key=lambda found: found[0])
    return CoreBound(total, by, neurons, axons, populations)


def _crowds(reader: Reader, chip: ChipSpec, proven: bool) -> list[_Crowd]:
    """Bound all rows of a reader, and those rows apart that read whole windows of one of its feeds."""
    windows = {f.key: find_windows(f.matrix, reader.neurons, reader.shape, f.shape) for f in reader.feeds}
    rows = [np.ones(len(reader.neurons), bool), *(found.rows for found in windows.values() if found is not None)]
    distinct = {some.tobytes(): some for some in rows}
    return [_crowd(reader, some, windows, chip, proven) for some in distinct.values()]


def _crowd(
    reader: Reader, rows: NDArray[np.bool_], windows: dict[Key, Windows | None], chip: ChipSpec, proven: bool
) -> _Crowd:
    n_rows = int(rows.sum())
    most = min(chip.neurons, n_rows)
    need: dict[Key, Ints] = {}
    reading: dict[Key, Ints] = {}
    for feed in reader.feeds:
        matrix = feed.matrix if rows.all() else feed.matrix[np.flatnonzero(rows)]
        reading[feed.key] = np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.int64)
        least = by_degrees(matrix, most)
        found = windows[feed.key]
        if found is None and least[-1] <= chip.axons and not proven:
            least = np.maximum(least, by_expansion(matrix, most))
        least[1:] += sources_beyond_palette(matrix, chip.axon_types).min()
        if found is not None and (found.rows == rows).all():
            assert reader.shape is not None, "windows have positions"
            single = single_axon_sources(matrix, reader.neurons[rows], found, reader.shape, chip.axon_types)
            least = np.maximum(least, axons_of_windows(found, most, single))
        need[feed.key] = least
    together = sum(need.values(), np.zeros(most + 1, np.int64))
    # a row that fits no core at all is refused by the mapper; here it counts as one that fills a core
    room = max(1, int(np.searchsorted(together, chip.axons, side="right")) - 1)
    reads = {key: -(-readers // room) for key, readers in reading.items()}
    return _Crowd(reader, n_rows, need, reads, room)


def _reads(options: list[list[_Crowd]], chip: ChipSpec) -> tuple[int, int]:
    """Count the axons that are fed at least, and the neurons that feed them.

    Readers of one signal may share its axons, so the greatest of their demands counts, not the sum.
    """
    single: dict[Key, Ints] = {}
    joint: dict[Key, int] = {}
    for crowds in options:
        for crowd in crowds:
            for key, least in crowd.need.items():
                sizes = np.arange(1, crowd.room + 1)
                # c cores that hold n_1 + ... + n_c = rows of the crowd read at least sum of least[n_i]
                rate = float((least[1 : crowd.room + 1] / sizes).min())
                joint[key] = max(joint.get(key, 0), int(np.ceil(crowd.rows * rate - 1e-6)))
                reads = crowd.reads[key]
                single[key] = np.maximum(single[key], reads) if key in single else reads
    axons = {key: max(joint[key], int(reads.sum())) for key, reads in single.items()}
    fed_by_neurons = sum(count for key, count in axons.items() if key[0] == 0)
    relayed = _relay_axons(single, chip)
    return sum(axons.values()) + relayed, fed_by_neurons + relayed


def _relay_axons(reads: dict[Key, Ints], chip: ChipSpec) -> int:
    """Count the axons on ways longer than a neuron's delay, beyond those counted as reads.

    A way passes an axon at least every longest delay ticks; those that other readers use anyway may be among them, so
    only the gaps between the times at which a neuron is read ask for more.
    """
    at: dict[int, list[tuple[int, NDArray[np.bool_]]]] = {}
    for (kind, source, *rest), cores in sorted(reads.items(), key=lambda found: found[0]):
        if kind == 0:
            at.setdefault(source, []).append((rest[0], cores > 0))
    more = 0
    for times in at.values():
        last = np.zeros(len(times[0][1]), np.int64)
        for delay, read in times:
            more += int((-(-(delay - last[read]) // chip.delay[1]) - 1).sum())
            last[read] = delay
    return more


def _shares(crowds: list[_Crowd], chip: ChipSpec) -> int:
    """Bound the cores by prices: a neuron costs one over the neurons of its population that a core can hold.

    No core holds more than the *worth* of the best mixture, so cores times worth is at least the price of all. The
    axons of a feed that several populations read are charged to the one that needs most cores, or shared out equally.
    """
    readers: dict[Key, list[_Crowd]] = {}
    for crowd in crowds:
        for key in crowd.need:
            readers.setdefault(key, []).append(crowd)
    best = 0
    for owned in (True, False):
        curves, price = [], 0.0
        for crowd in crowds:
            cost = np.zeros(crowd.room + 1)
            for key, least in crowd.need.items():
                if not owned:
                    cost += least[: crowd.room + 1] / len(readers[key])
                elif max(readers[key], key=lambda c: c.cores) is crowd:
                    cost += least[: crowd.room + 1]
            if cost[-1] >= 1:  # a population whose axons are all charged to others pays nothing
                curves.append(np.floor(cost + 1e-9).astype(np.int64))
                price += crowd.rows / crowd.room
        if not curves or len(curves) * chip.axons * min(chip.axons, chip.neurons) > EFFORT:
            continue
        worth = _greatest_worth(curves, chip.axons)
        if worth == 0:  # no neuron has the axons that it needs; the mapper refuses the network
            continue
        best = max(best, int(np.ceil(price / worth - 1e-6)))
        if all(len(found) == 1 for found in readers.values()):
            break
    return best


def _greatest_worth(curves: list[Ints], axons: int) -> float:
    """Find the most that neurons of different populations in one core are worth (a knapsack of its axons).

    Parameters
    ----------
    curves : list of ndarray of int64
        Axons that 0, 1, ..., room neurons of a population take; room of them are worth 1.
    axons : int
        Of a core.
    """
    best = np.zeros(axons + 1)
    for cost in curves:
        room = max(1, len(cost) - 1)
        last = np.flatnonzero(np.diff(np.append(cost, axons + 1)) > 0)  # the most neurons for so many axons
        taken = best.copy()
        for n in last[last > 0].tolist():
            axons_of, worth = min(int(cost[n]), axons), n / room
            taken[axons_of:] = np.maximum(taken[axons_of:], best[: axons + 1 - axons_of] + worth)
        best = taken
    return float(best[-1])
