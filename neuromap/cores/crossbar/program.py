"""Program: everything that is loaded onto a chip of crossbar cores, with its input and output tables.

The mapper writes it, an engine runs it, the checker re-reads it; a program written by hand is just as good.
A program knows nothing of networks and schedules but node labels, sample ticks and periods.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import ReadOnly
from neuromap.errors import NotSupportedError
from neuromap.files.messages import show_name
from neuromap.hardware.program.chip_program import ChipProgram, Sent, Synapses, Tensors, Wires, rows_of, table_tensors
from neuromap.render.value import Card

# Cores whose crossbars are counted at a time.
_AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class NeuronTable(ReadOnly, Card):
    """Parameters of all neurons; C cores of the program, N neurons per core, G axon types."""

    # Symbols follow Cassidy et al. (IJCNN 2013). The last three tables are the stochastic modes; None if no neuron has
    # the mode, which equals a table of zeros and takes no memory.

    weights: NDArray[np.int16]  # (C, N, G): s_G, one signed weight per axon type
    leak: NDArray[np.int16]  # (C, N): lambda, added every tick
    leak_reversal: NDArray[np.bool_]  # (C, N): eps: the leak is multiplied by the sign of the potential
    threshold: NDArray[np.int32]  # (C, N): alpha: at or above it the neuron spikes
    negative_threshold: NDArray[np.int32]  # (C, N): beta: the negative threshold is -beta
    reset: NDArray[np.int32]  # (C, N): R, the value after a reset of mode 0
    # (C, N): gamma: 0 to R (or -R), 1 subtract (or add) the threshold, 2 keep the potential
    reset_mode: NDArray[np.uint8]
    saturate_negative: NDArray[np.bool_]  # (C, N): kappa: below the negative threshold the potential stays at -beta
    potential: NDArray[np.int32]  # (C, N): V before the first tick
    # (C, N, G): b_G: an event of this axon type adds 1 in the direction of s_G, with a probability that grows with its
    # magnitude, instead of s_G itself
    stochastic_weight: NDArray[np.bool_] | None = None
    # (C, N): c: the leak adds 1 in the direction of lambda, with a probability that grows with its magnitude
    stochastic_leak: NDArray[np.bool_] | None = None
    noise_bits: NDArray[np.uint8] | None = None  # (C, N): TM, 0 to 8: noise of 0 to 2^TM - 1 on the thresholds


@dataclass(frozen=True, eq=False, kw_only=True)
class Program(ChipProgram):
    """A chip's memory image with labels, for crossbar cores: an axon feeds its row of synapses, a neuron one axon.

    Attributes
    ----------
    axon_types : ndarray of uint8, shape (C, A)
        Type of every axon.
    crossbar : ndarray of uint8, shape (C, A, ceil(N / 8))
        One row of synapse bits per axon, neuron n at bit n % 8 (little bit order) of byte n // 8.
    neurons : NeuronTable
        Parameters, shape (C, N).
    target_core : ndarray of int32, shape (C, N)
        Target as a row of ``coordinates``; -1 without one (unused, or read out).
    target_axon : ndarray of int32, shape (C, N)
        Axon of the target core; 0 where there is none.
    delay : ndarray of uint8, shape (C, N)
        Ticks from the spike to its axon; 0 where there is no target.

    Notes
    -----
    Names, labels, clocks and tables of the host are those of
    :class:`~neuromap.hardware.program.chip_program.ChipProgram`.
    """

    axon_types: NDArray[np.uint8]
    crossbar: NDArray[np.uint8]
    neurons: NeuronTable
    target_core: NDArray[np.int32]
    target_axon: NDArray[np.int32]
    delay: NDArray[np.uint8]

    # B bytes of a crossbar row, G axon types
    TENSORS: ClassVar[Tensors] = {
        "axon_types": ("uint8", "CA"),
        "crossbar": ("uint8", "CAB"),
        **table_tensors("neurons", NeuronTable, weights="CNG", stochastic_weight="CNG"),
        "target_core": ("int32", "CN"),
        "target_axon": ("int32", "CN"),
        "delay": ("uint8", "CN"),
    }
    TABLES: ClassVar[Mapping[str, type]] = {"neurons": NeuronTable}

    def extents(self) -> dict[str, int]:
        """Return the lengths of the axes specific to crossbars."""
        return {"B": (self.chip.neurons + 7) // 8, "G": self.chip.axon_types}

    def misfit(self) -> str:
        """Describe spare bits of rows that are set; empty if none is."""
        spare, neurons = self.chip.neurons % 8, self.chip.neurons
        if not spare or not np.any(self.crossbar[:, :, -1] >> spare):
            return ""
        return f"tensor crossbar: holds synapses beyond neuron {neurons - 1}; the spare bits must be 0"

    @property
    def wires(self) -> Wires:
        """Connections from neurons to axons, at most one per neuron."""
        core, neuron = np.nonzero(self.target_core >= 0)
        found = (self.target_core, self.target_axon, self.delay)
        return Wires(core, neuron, *(table[core, neuron].astype(np.int64) for table in found))

    def sent_by(self, cores: NDArray[np.integer], neurons: NDArray[np.integer]) -> Sent:
        """Return the targets of spikes of the given neurons, at most one each."""
        target = self.target_core[cores, neurons]
        spike = np.flatnonzero(target >= 0)
        here = (cores[spike], neurons[spike])
        return Sent(
            spike,
            target[spike].astype(np.int64),
            self.target_axon[here].astype(np.int64),
            self.delay[here].astype(np.int64),
        )

    def synapses_of(self, cores: NDArray[np.integer], axons: NDArray[np.integer]) -> Synapses:
        """List the set bits of the given axons."""
        bits = np.unpackbits(self.crossbar[cores, axons], axis=-1, count=self.shape[1], bitorder="little")
        row, neuron = np.nonzero(bits)
        weight = self.neurons.weights[cores[row], neuron, self.axon_types[cores, axons][row]].astype(np.int64)
        return Synapses(row, neuron, weight, np.zeros(len(row), np.int64))

    def of_cores(self, cores: NDArray[np.int64], local: NDArray[np.int64]) -> dict[str, Any]:
        """Return the fields of some cores, renumbered."""
        target = local[self.target_core[cores]].astype(np.int32)
        here = target >= 0
        return {
            "axon_types": self.axon_types[cores],
            "crossbar": self.crossbar[cores],
            "neurons": rows_of(self.neurons, cores),
            "target_core": target,
            "target_axon": np.where(here, self.target_axon[cores], np.int32(0)),
            "delay": np.where(here, self.delay[cores], np.uint8(0)),
        }

    @property
    def n_synapses(self) -> int:
        """Number of set bits."""
        parts = range(0, self.n_cores, _AT_ONCE)
        return sum(int(np.bitwise_count(self.crossbar[k : k + _AT_ONCE]).sum(dtype=np.int64)) for k in parts)

    @property
    def neurons_in_use(self) -> NDArray[np.bool_]:
        """Mask of neurons that carry a node's label, have a synapse or send spikes, shape (C, N)."""
        columns = np.bitwise_or.reduce(self.crossbar, axis=1)
        read = np.unpackbits(columns, axis=-1, count=self.shape[1], bitorder="little").astype(np.bool_)
        return read | (self.neuron_node >= 0) | (self.target_core >= 0)

    @property
    def has_bias(self) -> NDArray[np.bool_]:
        """Mask of neurons that fire from a potential of 0, or leave it, without input or noise."""
        n, below = self.neurons, np.less_equal if self.chip.rules.negative_comparison == "<=" else np.less
        leaked = np.where(n.leak_reversal, 0, n.leak.astype(np.int64))
        if n.stochastic_leak is not None:
            leaked = np.where(n.stochastic_leak, np.sign(leaked), leaked)
        floor = -n.negative_threshold.astype(np.int64)
        of_mode = np.choose(n.reset_mode, (-n.reset.astype(np.int64), leaked - floor, leaked), mode="clip")
        reset = np.where(n.saturate_negative, floor, of_mode)
        moved: NDArray[np.bool_] = (leaked >= n.threshold) | (np.where(below(leaked, floor), reset, leaked) != 0)
        return moved

    @property
    def axon_counts(self) -> NDArray[np.int64]:
        """Number of axons of each core, shape (C,): that of the chip's cores."""
        return np.full(self.n_cores, self.axon_types.shape[1], np.int64)

    @property
    def greatest_delay(self) -> int:
        """Greatest delay from a spike to its axon, in ticks."""
        return int(self.delay.max(initial=0))


PROGRAM = Program


def with_crossbars(program: ChipProgram, wanted: str) -> Program:
    """Return a program of crossbar cores; refuse any other for a format that, as it ``wanted``, has nothing else."""
    if isinstance(program, Program):
        return program
    if program.value_ranges is None:
        has = f"its cores ({program.chip.name}) keep lists of synapses"
        way = "map the network onto truenorth or ranc, whose neurons have a constant leak and no currents"
    else:
        has = "its neurons send values"
        way = "neuromap import rates NET.toml makes the network spiking, then map it onto truenorth or ranc"
    raise NotSupportedError(f"program {show_name(program.name)}: {has}; {wanted}: {way}")
