"""ChipProgram: what programs have in common, whatever their cores are like."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.times import Time
from neuromap.files.messages import counted
from neuromap.files.whole_file import write_whole
from neuromap.forms.card import Card
from neuromap.forms.formed import form
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.ports import HostTable, NodePort, OutputTable

__all__ = ["ChipProgram", "Sent", "Wires"]

Ints = NDArray[np.int64]


class Wires(NamedTuple):
    """Ways from neurons to axons, ordered by core, then neuron; all of shape (n,), int64."""

    # core, neuron: where a spike comes from
    core: Ints
    neuron: Ints
    # target_core, target_axon: where it goes to
    target_core: Ints
    target_axon: Ints
    delay: Ints  # ticks from the spike to its axon


class Sent(NamedTuple):
    """Where some spikes go; all of shape (n,), int64. A spike may go nowhere, or to several axons."""

    spike: Ints  # position of the spike among those that were asked for, ascending
    # core, axon: its target
    core: Ints
    axon: Ints
    delay: Ints  # ticks to the axon


@dataclass(frozen=True, eq=False, kw_only=True)
class ChipProgram(Card, ABC):
    """A chip's memory image with labels; what is in its cores is in the classes that derive from it."""

    name: str  # name of the network
    chip: ChipSpec  # the chip it is for
    coordinates: NDArray[np.int32]  # (C, 2): x and y of every used core on the board
    # (C, N): label: the node as position in ``nodes``; -1 for unused neurons. A relay bears its source's label
    neuron_node: NDArray[np.int32]
    neuron_index: NDArray[np.int32]  # (C, N): label: the neuron within the node; 0 where unused
    # (C, N): label: whether the neuron only serves the one whose label it bears: it hands on its spikes (it lengthens a
    # delay, or is a splitter), or holds a part of its sum
    is_relay: NDArray[np.bool_]
    nodes: tuple[NodePort, ...]  # labels and clocks
    # frame period in ticks; a fraction p/q is a mean: q frames in every p ticks, at intervals that differ by a tick
    period: Time
    ticks_per_step: int  # ticks of one update step
    host: HostTable  # input and bias spikes
    outputs: OutputTable  # neurons that are read out
    # pattern, execution: labels of the rollout: the pattern's name and "windowed", "pipelined", "pipelined:P" or
    # "pipelined:best"; empty for programs by hand
    pattern: str = ""
    execution: str = ""
    # (C, N): label: whether the relay is there to fan out; splitters are relays too. None where there are none
    is_splitter: NDArray[np.bool_] | None = None
    # (C, N): label: whether the neuron holds a part of a sum that is wider than a core (docs/wide-neurons.md); parts
    # are relays too. None where there are none
    is_part: NDArray[np.bool_] | None = None

    @property
    def n_cores(self) -> int:
        """Cores in use."""
        return len(self.coordinates)

    @property
    def shape(self) -> tuple[int, int]:
        """Cores in use, and neurons of each."""
        return (len(self.coordinates), self.chip.neurons)

    @property
    @abstractmethod
    def wires(self) -> Wires:
        """Where every neuron's spikes go."""

    @abstractmethod
    def sent_by(self, cores: NDArray[np.integer], neurons: NDArray[np.integer]) -> Sent:
        """Say where spikes of some neurons go."""
        # shapes: cores, neurons (m,)

    @property
    @abstractmethod
    def axon_counts(self) -> Ints:
        """Axons that every core has, shape (C,)."""

    @property
    @abstractmethod
    def greatest_delay(self) -> int:
        """Ticks after which nothing that a spike sets off on its way is left."""

    @property
    def left_out(self) -> dict[str, int]:
        """Neurons of hidden nodes that the program does not hold, by node; nodes that it holds whole are absent."""
        # The mapper leaves out what leads to no output, unless it is asked to keep it (``MappingOptions.keep``).
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
            "frame period": counted(self.period, "tick"),
        }

    def save(self, path: str | Path) -> None:
        """Write the program to a file, whole or not at all; :func:`neuromap.load_program` reads it."""
        write_whole(path, form(self, "file"))
