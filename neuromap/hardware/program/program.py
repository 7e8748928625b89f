"""Program: everything that is loaded onto a chip, with its input and output tables.

The mapper writes it, an engine runs it, the checker re-reads it; a program written by hand is just as good.
A program knows nothing of networks and schedules but node labels, sample ticks and periods.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.files.messages import counted
from neuromap.files.whole_file import write_whole
from neuromap.forms.card import Card
from neuromap.forms.formed import form
from neuromap.hardware.chip.chip_spec import ChipSpec

__all__ = ["BIAS", "HostTable", "NeuronTable", "NodePort", "OutputTable", "Program"]

BIAS = -1
"""``HostTable.node`` of spikes that carry no input but a constant: the bias axons."""


@dataclass(frozen=True, eq=False)
class NeuronTable(Card):
    """Parameters of all neurons; C cores of the program, N neurons per core, G axon types.

    The letters are those of Cassidy et al. (IJCNN 2013). The last three tables are the stochastic modes; None where
    no neuron has the mode, which is the same as a table of zeros and takes no memory.

    Attributes
    ----------
    weights : ndarray of int16, shape (C, N, G)
        s_G, one signed weight per axon type.
    leak : ndarray of int16, shape (C, N)
        lambda, added every tick.
    leak_reversal : ndarray of bool, shape (C, N)
        eps: the leak is multiplied with the sign of the potential.
    threshold : ndarray of int32, shape (C, N)
        alpha: at or above it the neuron spikes.
    negative_threshold : ndarray of int32, shape (C, N)
        beta: the negative threshold is -beta.
    reset : ndarray of int32, shape (C, N)
        R, the value after a reset of mode 0.
    reset_mode : ndarray of uint8, shape (C, N)
        gamma: 0 to R (or -R), 1 subtract (or add) the threshold, 2 keep the potential.
    saturate_negative : ndarray of bool, shape (C, N)
        kappa: below the negative threshold the potential stays at -beta.
    potential : ndarray of int32, shape (C, N)
        V before the first tick.
    stochastic_weight : ndarray of bool, shape (C, N, G), or None
        b_G: an event of this axon type adds 1 in the direction of s_G, with a probability that grows with its
        magnitude, and not s_G itself.
    stochastic_leak : ndarray of bool, shape (C, N), or None
        c: the leak adds 1 in the direction of lambda, with a probability that grows with its magnitude.
    noise_bits : ndarray of uint8, shape (C, N), or None
        TM, 0 to 8: noise of 0 to 2^TM - 1 on the thresholds.
    """

    weights: NDArray[np.int16]
    leak: NDArray[np.int16]
    leak_reversal: NDArray[np.bool_]
    threshold: NDArray[np.int32]
    negative_threshold: NDArray[np.int32]
    reset: NDArray[np.int32]
    reset_mode: NDArray[np.uint8]
    saturate_negative: NDArray[np.bool_]
    potential: NDArray[np.int32]
    stochastic_weight: NDArray[np.bool_] | None = None
    stochastic_leak: NDArray[np.bool_] | None = None
    noise_bits: NDArray[np.uint8] | None = None

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class HostTable(Card):
    """Where the host delivers spikes: one row per axon that it feeds (K rows).

    A row with ``node >= 0`` delivers the spike of neuron ``index`` of that input node, a row with ``node ==
    BIAS`` delivers a spike in every frame. Frame i arrives at tick ``arrival + i * period`` of its row; frames
    before ``first_frame`` are not delivered (0 for inputs over R = 1 edges, 1 for R = 0 edges and bias axons).

    Attributes
    ----------
    node : ndarray of int32, shape (K,)
        Position in ``Program.nodes``, or ``BIAS``.
    index : ndarray of int32, shape (K,)
        Neuron within the node; 0 on bias rows.
    core, axon : ndarray of int32, shape (K,)
        The axon that is fed.
    arrival : ndarray of int64, shape (K,)
        Tick at which frame 0 arrives or would arrive; may be negative where ``first_frame`` is 1.
    first_frame : ndarray of int8, shape (K,)
        First frame that is delivered.
    """

    node: NDArray[np.int32]
    index: NDArray[np.int32]
    core: NDArray[np.int32]
    axon: NDArray[np.int32]
    arrival: NDArray[np.int64]
    first_frame: NDArray[np.int8]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __len__(self) -> int:
        return len(self.node)


@dataclass(frozen=True, eq=False)
class OutputTable(Card):
    """Which neurons are read out: one row per neuron of an output node (M rows).

    Output neurons without a row (none of their sources survive) never spike.

    Attributes
    ----------
    node : ndarray of int32, shape (M,)
        Position in ``Program.nodes``.
    index : ndarray of int32, shape (M,)
        Neuron within the node.
    core, neuron : ndarray of int32, shape (M,)
        The neuron on the chip; it has no on-chip target.
    """

    node: NDArray[np.int32]
    index: NDArray[np.int32]
    core: NDArray[np.int32]
    neuron: NDArray[np.int32]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __len__(self) -> int:
        return len(self.node)


@dataclass(frozen=True)
class NodePort(Card):
    """Label and clock of one node of the network.

    Attributes
    ----------
    name : str
        Name of the node.
    size : int
        Neurons of the node.
    kind : {"input", "output", "hidden"}
        Its role.
    sample_tick : int
        For inputs the tick at which frame 0 is (or would be) sampled, for others the tick at which frame 0 would
        be computed; frame i is ``i * period`` ticks later. May be negative: frame 0 may lie before tick 0.
    """

    name: str
    size: int
    kind: str
    sample_tick: int


@dataclass(frozen=True, eq=False)
class Program(Card):
    """A chip's memory image with labels.

    Attributes
    ----------
    name : str
        Name of the network.
    chip : ChipSpec
        The chip it is for.
    coordinates : ndarray of int32, shape (C, 2)
        x and y of every used core on the board.
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
    neuron_node : ndarray of int32, shape (C, N)
        Label: the node as position in ``nodes``; -1 for unused neurons. A relay bears its source's label.
    neuron_index : ndarray of int32, shape (C, N)
        Label: the neuron within the node; 0 where unused.
    is_relay : ndarray of bool, shape (C, N)
        Label: whether the neuron only hands on its source's spikes: it lengthens a delay, or is a splitter.
    nodes : tuple of NodePort
        Labels and clocks.
    period : int
        Frame period in ticks.
    ticks_per_step : int
        Ticks of one update step.
    host : HostTable
        Input and bias spikes.
    outputs : OutputTable
        Neurons that are read out.
    pattern, execution : str
        Labels of the rollout: the pattern's name and "windowed", "pipelined" or "pipelined:P"; empty for programs
        by hand.
    is_splitter : ndarray of bool, shape (C, N), or None
        Label: whether the relay is there to fan out; splitters are relays too. None where there are none.
    """

    name: str
    chip: ChipSpec
    coordinates: NDArray[np.int32]
    axon_types: NDArray[np.uint8]
    crossbar: NDArray[np.uint8]
    neurons: NeuronTable
    target_core: NDArray[np.int32]
    target_axon: NDArray[np.int32]
    delay: NDArray[np.uint8]
    neuron_node: NDArray[np.int32]
    neuron_index: NDArray[np.int32]
    is_relay: NDArray[np.bool_]
    nodes: tuple[NodePort, ...]
    period: int
    ticks_per_step: int
    host: HostTable
    outputs: OutputTable
    pattern: str = ""
    execution: str = ""
    is_splitter: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def n_cores(self) -> int:
        """Cores in use."""
        return len(self.coordinates)

    @property
    def left_out(self) -> dict[str, int]:
        """Neurons of hidden nodes that the program does not hold, by node; nodes that it holds whole are absent.

        The mapper leaves out what leads to no output, unless it is asked to keep it (``MappingOptions.keep``).
        """
        mine = (
            ~self.is_relay & (self.neuron_node >= 0) & (self.neuron_node < len(self.nodes)) & (self.neuron_index >= 0)
        )
        labels = np.unique(self.neuron_node[mine].astype(np.int64) << 32 | self.neuron_index[mine])
        held = np.bincount(labels >> 32, minlength=len(self.nodes)).tolist()
        ports = zip(self.nodes, held, strict=True)
        return {port.name: port.size - n for port, n in ports if port.kind == "hidden" and n < port.size}

    def _facts(self) -> dict[str, object]:
        return {
            "network": self.name,
            "chip": self.chip.name,
            "pattern": self.pattern,
            "execution": self.execution,
            "cores": f"{self.n_cores} of {self.chip.n_usable_cores}",
            "nodes": ", ".join(f"{port.name} ({port.kind}, {counted(port.size, 'neuron')})" for port in self.nodes),
            "frame period": f"{self.period} tick{'s' * (self.period != 1)}",
        }

    def save(self, path: str | Path) -> None:
        """Write the program to a file, whole or not at all; :func:`neuromap.load_program` reads it.

        Raises
        ------
        ProgramError
            If the program is not well formed (wrong dtypes or shapes); nothing is written.
        InputError
            If the folder does not exist or cannot be written.
        """
        write_whole(path, form(self, "file"))
