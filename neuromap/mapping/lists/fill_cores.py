"""The partition of many-target cores: neurons fill one core after another until something of it is used up.

A core holds so many neurons, axons (different signals that its neurons read), bits of synapses, and output axons (pairs
of one of its neurons and a core that reads it). A neuron has one place: there are no copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.legalise.legalised import Legalised
from neuromap.mapping.lists.list_network import ListNetwork
from neuromap.mapping.refused.infeasible import Limit, Remedy, count_cores, refuse

__all__ = ["ListPartition", "fill_cores", "ways"]

Ints = NDArray[np.int64]
SHRINK = 0.75
"""Share of the neurons that a core keeps where its output axons do not suffice."""


@dataclass(frozen=True, eq=False)
class ListPartition(Value):
    """Where every neuron is.

    Attributes
    ----------
    lists : ListNetwork
        Neurons and synapses.
    core, slot : ndarray of int64, shape (n,)
        Core of every compartment, and its number within the core; -1 where it is not computed.
    n_cores : int
        Cores in use.
    """

    lists: ListNetwork
    core: Ints
    slot: Ints
    n_cores: int

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def network(self) -> Legalised:
        """Populations and links in ticks."""
        return self.lists.network


def fill_cores(lists: ListNetwork, chip: ChipSpec) -> ListPartition:
    """Put the neurons that are computed into cores, in their order.

    Parameters
    ----------
    lists : ListNetwork
        Neurons and synapses.
    chip : ChipSpec
        Limits of its cores, and how many there are.

    Returns
    -------
    ListPartition

    Raises
    ------
    DoesNotFitError
        If a neuron fits no core (limit ``axons``, ``synapse_memory`` or ``output_axons``), or the chip has too few
        cores (``cores``).
    """
    most = np.full(lists.n_neurons, chip.neurons, np.int64)
    while True:
        parts = _fill(lists, chip, most)
        crowded = _crowded(parts, chip)
        if not len(crowded):
            break
        for core in crowded.tolist():
            mine = np.flatnonzero(parts.core == core)
            if len(np.unique(parts.lists.soma[mine])) == 1:
                raise _refuse_outputs(parts, int(mine[0]), chip)
            most[mine] = np.minimum(
                most[mine], max(int(np.bincount(parts.lists.soma[mine]).max()), int(SHRINK * len(mine)))
            )
    if parts.n_cores > chip.n_usable_cores:
        raise _refuse_cores(parts, chip)
    return parts


def _fill(lists: ListNetwork, chip: ChipSpec, most: Ints) -> ListPartition:
    """Fill cores in the order of the neurons; ``most`` bounds the neurons of a core that holds a neuron."""
    core, slot = np.full(lists.n_neurons, -1, np.int64), np.full(lists.n_neurons, -1, np.int64)
    axons: set[int] = set()
    here = n_neurons = n_synapses = 0
    room, limits = chip.neurons, chip.lists
    for n, group in _groups(lists):
        read = np.concatenate([lists.signal[lists.start[k] : lists.start[k + 1]] for k in group])
        together = axons.union(read.tolist())
        bits = limits.list_memory(len(together), n_synapses + len(read))
        limit = min(room, int(most[n]))
        full = n_neurons + len(group) > limit or len(together) > chip.axons or bits > limits.synapse_memory_bits
        if n_neurons and full:
            here, n_neurons, n_synapses, limit = here + 1, 0, 0, int(most[n])
            together = set(read.tolist())
            bits = limits.list_memory(len(together), len(read))
        if len(group) > chip.neurons:
            raise _refuse_compartments(lists, n, len(group), chip)
        if n_neurons == 0 and (len(together) > chip.axons or bits > limits.synapse_memory_bits):
            raise _refuse_neuron(lists, n, len(together), bits, chip)
        core[group], slot[group] = here, n_neurons + np.arange(len(group))
        axons, room = together, limit
        n_neurons, n_synapses = n_neurons + len(group), n_synapses + len(read)
    return ListPartition(lists, core, slot, here + 1)


def _groups(lists: ListNetwork) -> Iterator[tuple[int, list[int]]]:
    """List the neurons that are computed with their compartments, which share a core."""
    more: dict[int, list[int]] = {}
    for k in (np.flatnonzero(lists.is_computed[lists.n_somas :]) + lists.n_somas).tolist():
        more.setdefault(int(lists.soma[k]), []).append(k)
    for n in np.flatnonzero(lists.is_computed[: lists.n_somas]).tolist():
        yield n, [n, *more.get(n, [])]


def _crowded(parts: ListPartition, chip: ChipSpec) -> Ints:
    """Find the cores that lack output axons."""
    source, _ = ways(parts)
    used = np.bincount(parts.core[source], minlength=parts.n_cores)
    return np.flatnonzero(used > chip.lists.output_axons)


def ways(parts: ListPartition) -> tuple[Ints, Ints]:
    """List the pairs of a neuron and a core that reads it, each once, ordered by neuron.

    Parameters
    ----------
    parts : ListPartition

    Returns
    -------
    neuron, core : ndarray of int64, shape (w,)
    """
    lists = parts.lists
    on_chip = lists.signal < lists.n_neurons
    pair = lists.signal[on_chip] * parts.n_cores + parts.core[lists.target[on_chip]]
    neuron, core = np.divmod(np.unique(pair), parts.n_cores)
    return neuron, core


def _refuse_compartments(lists: ListNetwork, neuron: int, demand: int, chip: ChipSpec) -> Exception:
    text = f"one neuron needs {demand} compartments, one for each current, a {chip.name} core has {chip.neurons}"
    advice = Remedy("chip.neurons", demand, f"a core with {demand} neurons would hold it")
    return refuse("neuron", lists.node_of(neuron), demand, chip.neurons, text, [advice])


def _refuse_neuron(lists: ListNetwork, neuron: int, axons: int, bits: int, chip: ChipSpec) -> Exception:
    node, memory = lists.node_of(neuron), chip.lists.synapse_memory_bits
    limit: Limit = "axons" if axons > chip.axons else "synapse_memory"
    demand, bound = (axons, chip.axons) if limit == "axons" else (bits, memory)
    what = "axons" if limit == "axons" else "bits of synapses"
    text = f"one neuron needs {demand} {what}, a {chip.name} core has {bound}"
    lever = "chip.axons" if limit == "axons" else "chip.synapse_memory_bits"
    return refuse(
        limit, node, demand, bound, text, [Remedy(lever, demand, f"a core with {demand} {what} would hold it")]
    )


def _refuse_outputs(parts: ListPartition, neuron: int, chip: ChipSpec) -> Exception:
    demand = int((ways(parts)[0] == neuron).sum())
    bound = chip.lists.output_axons
    text = f"one neuron is read in {count_cores(demand)}, a {chip.name} core has {bound} output axons"
    advice = Remedy("chip.output_axons", demand, f"a core with {demand} output axons would do")
    return refuse("output_axons", parts.lists.node_of(neuron), demand, bound, text, [advice])


def _refuse_cores(parts: ListPartition, chip: ChipSpec) -> Exception:
    text = f"the network needs {count_cores(parts.n_cores)}, {chip.name} has {chip.n_usable_cores}"
    advice = Remedy("chip.cores", parts.n_cores, f"a chip or board of {count_cores(parts.n_cores)} would do")
    return refuse("cores", None, parts.n_cores, chip.n_usable_cores, text, [advice])
