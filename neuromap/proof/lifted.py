"""A program as a network in ticks: the value, what its inputs and outputs mean, and how it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.parts_of_ticks import ticks_of_frames
from neuromap.arrays.times import Time
from neuromap.errors import StimulusError
from neuromap.files.messages import counted
from neuromap.network.network import Network
from neuromap.render.document import COUNT, INTEGER, TEXT, by_name, const, document, each, record, record_of
from neuromap.render.parts import EDGE, FILE
from neuromap.render.value import Card, Documented

_NODES_SHOWN = 20


@dataclass(frozen=True)
class LiftedInput(Card):
    """An input node of a lifted network, and what its frames are."""

    node: str  # its name in the network
    port: str  # input node of the program whose frames it has; empty where its neurons are the axons of a core
    core: int  # that core, else -1
    # frame i of the port, from ``first_frame`` on, is frame floor((begin + i p) / q) of the node, for a frame period of
    # p / q ticks; spikes on axons in tick t are frame t
    begin: int
    first_frame: int


@dataclass(frozen=True, eq=False)
class Lifted(ReadOnly, Documented):
    """A program as a network in ticks, and how it came to be.

    Attributes
    ----------
    network : Network
        Spiking: one frame is one tick. Frame i of its nodes is what the chip's neurons fire in tick i - 1.
    program : str
        Name of the program.
    inputs : tuple of LiftedInput
        What the frames of its input nodes are; :meth:`frames` and :meth:`events` make them.
    outputs : tuple of (str, int)
        Node and neuron of the network for every row of the program's output table.
    counts : mapping of str to int
        Neurons that were read, contracted (relays and splitters), merged (copies) and left out as never 1 (silent),
        axons that became neurons (joined), and the neurons that are left.
    closed : ndarray of int64, shape (n, 2)
        Core and axon of axons that neurons feed, where events of the host cannot be told from theirs.
    period : int or Fraction
        Frame period of the program in ticks.
    """

    network: Network
    program: str
    inputs: tuple[LiftedInput, ...]
    outputs: tuple[tuple[str, int], ...]
    counts: Mapping[str, int]
    closed: Ints
    period: Time

    _called = "a lifted program"
    _forms = (__name__,)

    def _facts(self) -> dict[str, object]:
        return {"program": self.program, "nodes": len(self.network.nodes), **self.counts}

    def frames(self, frames: Mapping[str, ArrayLike], n_ticks: int) -> dict[str, Bools]:
        """Give the input frames of the network for frames of the program's input nodes.

        Parameters
        ----------
        frames : mapping of str to array_like, shape (n_frames, size)
            Of the program's input nodes, as :func:`neuromap.simulate` takes them.
        n_ticks : int
            Ticks of the program that are to be compared, from tick 0.

        Returns
        -------
        dict of str to ndarray of bool, shape (n_ticks + 1, size)
            Row i + 1 of what :func:`neuromap.reference` makes of them is tick i.

        Raises
        ------
        StimulusError
            If the frames of an input are missing or have another size.
        """
        found = self._silence(n_ticks)
        for port in self.inputs:
            size = self.network.nodes[port.node].size
            rows = np.asarray(frames.get(port.port, ()), np.bool_)
            rows = rows.reshape(len(rows), -1)
            if rows.shape[1] != size:
                raise StimulusError(
                    f"frames of node {port.port or port.node}: found shape {list(rows.shape)}; needs [frames, {size}]"
                    + ("" if port.port else ": its neurons are axons of a core, give events()")
                )
            tick = ticks_of_frames(np.array(port.begin), self.period, np.arange(len(rows)))
            here = (tick >= 0) & (tick <= n_ticks) & (np.arange(len(rows)) >= port.first_frame)
            found[port.node][tick[here]] = rows[here]
        return found

    def events(self, ticks: ArrayLike, cores: ArrayLike, axons: ArrayLike, n_ticks: int) -> dict[str, Bools]:
        """Give the input frames of the network for events, as ``run_events`` takes them; those nobody reads are lost.

        Parameters
        ----------
        ticks, cores, axons : array_like of int, shape (n,)
            Events from the host.
        n_ticks : int
            Ticks that are to be compared, from tick 0.

        Returns
        -------
        dict of str to ndarray of bool, shape (n_ticks + 1, size)
            As :meth:`frames`.

        Raises
        ------
        StimulusError
            If an event is on an axon that neurons feed: there it is no input of the network.
        """
        found = self._silence(n_ticks)
        tick, core, axon = (np.asarray(column, np.int64).reshape(-1) for column in (ticks, cores, axons))
        shut = {(c, a) for c, a in self.closed.tolist()}
        for c, a in zip(core.tolist(), axon.tolist(), strict=True):
            if (c, a) in shut:
                raise StimulusError(
                    f"events: one is on core {c}, axon {a}, which neurons feed; the network has no input there"
                )
        for port in self.inputs:
            here = (core == port.core) & (tick <= n_ticks)
            found[port.node][tick[here], axon[here]] = True
        return found

    def _silence(self, n_ticks: int) -> dict[str, Bools]:
        inputs = self.network.inputs
        if not inputs:  # sources alone
            return {next(iter(self.network.nodes)): np.zeros((n_ticks + 1, 0), np.bool_)}
        return {name: np.zeros((n_ticks + 1, self.network.nodes[name].size), np.bool_) for name in inputs}


DOCUMENT = document(
    "lift",
    format=const("neuromap lift 1"),
    program=TEXT,
    network=TEXT(at="network.name"),
    nodes=each(record(name=TEXT, size=COUNT, neuron=TEXT.or_null))(at=lambda found: _nodes(found)),
    edges=each(EDGE)(at="network.edges"),
    inputs=each(record_of(LiftedInput, core=INTEGER, begin=INTEGER)),
    outputs=each(TEXT)(at="network.outputs"),
    counts=by_name(COUNT),
    file=FILE.elsewhere,
)
to_dict = DOCUMENT.of
"""Give it as plain values, without weights."""


def _nodes(found: Lifted) -> list[dict[str, object]]:
    nodes = found.network.nodes.values()
    return [{"name": n.name, "size": n.size, "neuron": None if n.neuron is None else n.neuron.model} for n in nodes]


def render_text(found: Lifted, width: int = 100) -> str:
    """Write nodes with what they read, and what was contracted and merged."""
    network, counts = found.network, found.counts
    lines = [
        f"{found.program} as a network in ticks: {counted(len(network.nodes), 'node')}, "
        f"{counted(counts['left'], 'neuron')}"
    ]
    for name, node in list(network.nodes.items())[:_NODES_SHOWN]:
        reads = ", ".join(u for u, v in network.edges if v == name)
        role = "output" if name in network.outputs else "input" if node.neuron is None else "hidden"
        lines.append(f"  {name} ({role}, {counted(node.size, 'neuron')})" + (f" reads {reads}" if reads else ""))
    if len(network.nodes) > _NODES_SHOWN:
        lines.append(f"  and {len(network.nodes) - _NODES_SHOWN} more: --json lists all")
    lines += [
        "",
        f"neurons of the program that were read: {counts['read']:,}",
        *(f"{text}: {counts[name]:,}" for name, text in _TOLD.items()),
    ]
    return "\n".join(lines) + "\n"


_TOLD = {
    "contracted": "contracted, as they hand on one source",
    "merged": "merged, as they compute the same as another",
    "silent": "left out, as they never spike",
    "joined": "axons of several neurons that became a neuron",
}
