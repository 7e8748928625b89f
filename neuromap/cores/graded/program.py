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
from neuromap.cores.synapse_list.program import SYNAPSES, TARGETS, SynapseProgram, SynapseTable, TargetTable
from neuromap.errors import StimulusError
from neuromap.hardware.program.chip_program import Tensors, rows_of, table_tensors
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

    # V nodes; the other letters are those of ``SYNAPSES`` and ``TARGETS``
    TENSORS: ClassVar[Tensors] = {**SYNAPSES, **TARGETS, **table_tensors("units", UnitTable), "ranges": ("int32", "V2")}
    TABLES: ClassVar[Mapping[str, type]] = {"synapses": SynapseTable, "units": UnitTable, "targets": TargetTable}

    def extents(self) -> dict[str, int]:
        """Return the lengths of the axes specific to graded programs."""
        return super().extents() | {"V": len(self.nodes)}

    def misfit(self) -> str:
        """Describe widths of values or sums, or delays, that are out of range; empty if none is."""
        return self._misfit(value_bits=(2, 25), accumulator_bits=(2, 32))

    @property
    def value_ranges(self) -> Mapping[str, tuple[int, int]]:
        """Least and greatest value of every node, by its name."""
        pairs = zip(self.nodes, self.ranges.tolist(), strict=True)
        return ReadOnlyMapping({port.name: (low, high) for port, (low, high) in pairs})

    @property
    def joined(self) -> NDArray[np.int32] | None:
        """The neuron that takes the greatest of its total and this one's; -1 for none."""
        return self.units.joined

    def sources(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """List the fed axons, once per source, by their lists, with the source's least and greatest value.

        Invalid targets and rows of the host are left out.
        """
        table, targets, host, units = self.synapses, self.targets, self.host, self.units
        counts = np.append(self.axon_counts, 0)
        of = np.repeat(np.arange(units.low.size), np.diff(targets.start))
        is_bias = host.node == BIAS
        rows = self.ranges[np.where((host.node >= 0) & (host.node < len(self.nodes)), host.node, 0)]
        given = np.where(is_bias, 0, rows[:, 0]), np.where(is_bias, np.maximum(host.index, 1), rows[:, 1])
        low, high = (
            np.append(values.ravel()[of], fed).astype(np.int64)
            for values, fed in zip((units.low, units.high), given, strict=True)
        )
        core, axon = np.append(targets.core, host.core), np.append(targets.axon, host.axon)
        exists = (core >= 0) & (core < self.n_cores)
        exists &= (axon >= 0) & (axon < counts[np.where(exists, core, -1)])
        return table.axons[core[exists]] + axon[exists], low[exists], high[exists]

    def axon_ranges(self, raw: tuple[int, int] | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the least and greatest value of every axon's source, each of shape (L,); ``raw`` if it has none.

        Axons are numbered like their lists. By default, raw events have the chip's range of values.
        """
        at, bottom, top = self.sources()
        least, greatest = self.chip.lists.value_range if raw is None else raw
        has_source = np.bincount(at, minlength=len(self.synapses.lists) - 1) > 0
        low, high = np.where(has_source, 0, least), np.where(has_source, 0, greatest)
        np.minimum.at(low, at, bottom)
        np.maximum.at(high, at, top)
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
            here = table.neuron[mine].view(np.uint32) < self.shape[1]  # the others are refused
            for sums, some in ((least, np.minimum(*ends).clip(None, 0)), (greatest, np.maximum(*ends).clip(0))):
                sums[core] = np.bincount(table.neuron[mine][here], some[here], self.shape[1])
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
