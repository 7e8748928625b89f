r"""GradedProgram: everything that is loaded onto a chip whose cores have synapse lists and send values.

An axon that carries a value x adds weight * x to neurons of its core, each after its own delay. A neuron has no
memory. In every tick in which something is due for it:

1. total := sum of weight * x of all synapses that are due;
2. where other neurons of the core are joined to it, it takes the greatest of its total and theirs: these are
   compartments of it, which send nothing;
3. value := clip(round(total * multiplier / 2**shift), low, high), where ``round`` takes the nearest integer, ties
   to even (:func:`neuromap.network.spiking_neuron.rounded`); a nonzero value goes to all its axons.

In other ticks its total is 0, and so is its value. The bias arrives from the host, in every frame from 1 on: rows of
the host's table with ``node = BIAS`` hold in ``index`` the value that they send (0 and 1 both mean 1), and the weights
of their axon are digits of the biases.

A value of tick t reaches its axons in tick t + D, D the least delay of the chip; a synapse with delay d adds its
product in tick t + D + d. What the host feeds into an axon in tick t is added in tick t + d. An axon has one source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.cores.synapse_list.program import LISTED, SynapseProgram, SynapseTable, TargetTable
from neuromap.errors import StimulusError
from neuromap.hardware.program.chip_program import Tensors, rows_of
from neuromap.hardware.program.ports import BIAS
from neuromap.network.spiking_neuron import GREATEST_SUM
from neuromap.render.value import Card


@dataclass(frozen=True, eq=False)
class UnitTable(ReadOnly, Card):
    """Parameters of all graded neurons; C cores of the program, N neurons per core."""

    # multiplier, shift: (C, N): a total times multiplier / 2**shift, rounded, is the value
    multiplier: NDArray[np.int32]
    shift: NDArray[np.uint8]
    # low, high: (C, N): bounds of the value; both 0 if it sends nothing. Those of stuck neurons, which send in every
    # tick, lie on one side of 0
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    # (C, N): the neuron of the core that takes the greatest of its total and this one's, which is not joined itself;
    # -1 for none. None where no neuron is joined
    joined: NDArray[np.int32] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class GradedProgram(SynapseProgram):
    """A chip's memory image with labels, for graded cores.

    Attributes
    ----------
    synapses : SynapseTable
        Synapse lists of the axons of every core.
    units : UnitTable
        Parameters, shape (C, N).
    targets : TargetTable
        Targets of values.
    ranges : ndarray of int32, shape (nodes, 2)
        Least and greatest value of every node.

    Notes
    -----
    Names, labels, clocks and tables of the host are those of
    :class:`~neuromap.hardware.program.chip_program.ChipProgram`.
    """

    units: UnitTable
    ranges: NDArray[np.int32]

    # V nodes; the other letters are those of ``LISTED``
    TENSORS: ClassVar[Tensors] = {
        **LISTED,
        "units.multiplier": ("int32", "CN"),
        "units.shift": ("uint8", "CN"),
        "units.low": ("int32", "CN"),
        "units.high": ("int32", "CN"),
        "units.joined": ("int32", "CN"),
        "ranges": ("int32", "V2"),
    }
    OPTIONAL: ClassVar[frozenset[str]] = frozenset({"units.joined"})
    TABLES: ClassVar[Mapping[str, type]] = {"synapses": SynapseTable, "units": UnitTable, "targets": TargetTable}

    def extents(self) -> dict[str, int]:
        """Return the lengths of the axes specific to graded programs."""
        return super().extents() | {"V": len(self.nodes)}

    def misfit(self) -> str:
        """Describe widths of values or sums, or delays, that are out of range; empty if none is."""
        chip, lists = self.chip, self.chip.lists
        for name, least, greatest in (("value_bits", 2, 25), ("accumulator_bits", 2, 32)):
            if not least <= (width := getattr(lists, name)) <= greatest:
                return f"chip {chip.name}: {name}: found {width}; allowed is {least} to {greatest}"
        if not 1 <= chip.delay[0] <= chip.delay[1] <= 255:
            return f"chip {chip.name}: delay: found {list(chip.delay)}; allowed is 1 to 255 ticks"
        return ""

    @property
    def value_ranges(self) -> Mapping[str, tuple[int, int]]:
        """Least and greatest value of every node, by its name."""
        pairs = zip(self.nodes, self.ranges.tolist(), strict=True)
        return ReadOnlyMapping({port.name: (low, high) for port, (low, high) in pairs})

    @property
    def host_values(self) -> NDArray[np.int64]:
        """Constant that every row of the host's table sends, shape (K,); 0 for rows that carry an input."""
        return np.where(self.host.node == BIAS, np.maximum(self.host.index, 1), 0).astype(np.int64)

    @property
    def joined(self) -> NDArray[np.int32] | None:
        """The neuron that takes the greatest of its total and this one's; -1 for none."""
        return self.units.joined

    def axon_ranges(self, raw: tuple[int, int] | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the least and greatest value of every axon's source, each of shape (L,); ``raw`` if it has none.

        Axons are numbered like their lists. By default, raw events have the chip's range of values.
        """
        table, targets, host, n = self.synapses, self.targets, self.host, self.chip.neurons
        of = np.repeat(np.arange(self.n_cores * n), np.diff(targets.start))
        fixed = self.host_values
        rows = self.ranges[np.maximum(host.node, 0)] * (fixed == 0)[:, None] + fixed[:, None]
        at = np.concatenate([table.axons[targets.core] + targets.axon, table.axons[host.core] + host.axon])
        least, greatest = self.chip.lists.value_range if raw is None else raw
        n_lists = len(table.lists) - 1
        has_source = np.bincount(at, minlength=n_lists) > 0
        low, high = np.where(has_source, 0, least), np.where(has_source, 0, greatest)
        np.minimum.at(low, at, np.concatenate([self.units.low.ravel()[of], rows[:, 0]]))
        np.maximum.at(high, at, np.concatenate([self.units.high.ravel()[of], rows[:, 1]]))
        return low, high

    def sum_bounds(self, raw: tuple[int, int] = (0, 0)) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bound every neuron's sum in a tick from below and above, each of shape (C, N), for any order of addition.

        Each synapse adds at most once per tick, with a value that its axon's source may send, or one of ``raw`` if only
        raw events feed the axon: none by default.
        """
        table, (low, high) = self.synapses, self.axon_ranges(raw)
        least, greatest = np.zeros((2, *self.shape))  # exact below 2^53; integers would wrap from 2^63 on
        for core, (lists, mine) in enumerate(table.by_core()):
            length = np.diff(table.lists[lists.start : lists.stop + 1])
            weight = table.weight[mine].astype(np.int64)
            ends = weight * np.repeat(low[lists], length), weight * np.repeat(high[lists], length)
            for sums, some in ((least, np.minimum(*ends).clip(None, 0)), (greatest, np.maximum(*ends).clip(0))):
                sums[core] = np.bincount(table.neuron[mine], some, self.shape[1])
        return least, greatest

    def require_sums(self, least: int, greatest: int) -> None:
        """Refuse raw events from ``least`` to ``greatest`` if sums could exceed what engines add exactly."""
        low, high = self.sum_bounds((min(least, 0), max(greatest, 0)))
        if (reached := max(-int(low.min(initial=0)), int(high.max(initial=0)))) > GREATEST_SUM:
            raise StimulusError(
                f"events: values of {least} to {greatest} may lead sums to {reached}; at most {GREATEST_SUM} (31 bits) "
                "are exact, give smaller ones"
            )

    def other_bits(self) -> NDArray[np.int64]:
        """Count the bits of every core that neurons in use and their program take, shape (C,)."""
        lists = self.chip.lists
        bits: NDArray[np.int64] = self.neurons_in_use.sum(axis=1) * lists.neuron_bits + lists.program_bits
        return bits

    def of_cores(self, cores: NDArray[np.int64], local: NDArray[np.int64]) -> dict[str, Any]:
        """Return the fields of some cores, renumbered."""
        return super().of_cores(cores, local) | {"units": rows_of(self.units, cores)}


PROGRAM = GradedProgram
