"""Traces as blocks of Neo, which Elephant and other tools for spike trains compute with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import NotSupportedError
from neuromap.exchange.exported import Exported
from neuromap.exchange.imported import Note
from neuromap.exchange.trace_given import figures_of, frame_ticks, milliseconds, times_of, trace_given
from neuromap.files.messages import counted
from neuromap.formats.neo.blocks import mat_bytes, neo_block
from neuromap.formats.neo.plain import FrameTimes, Recorded, SpikeTimes, Values
from neuromap.hardware.program.ports import NodePort
from neuromap.simulation.trace.trace import Trace
from neuromap.version import __version__

if TYPE_CHECKING:
    import neo

__all__ = ["MAX_NEURONS", "export_neo", "to_neo"]

MAX_NEURONS = 2**16
"""Spike trains of a block: an object of Neo each."""
_MAX_BYTES = 2**30
"""Spike times and potentials of a file; its format has 2 GiB."""


def to_neo(trace: Trace) -> neo.Block:
    """Make a block of Neo of a trace.

    Parameters
    ----------
    trace : Trace
        Of a run.

    Returns
    -------
    neo.Block
        One segment. ``groups`` has one of each node, with a spike train of every neuron, silent ones included (those
        without a node come last, by core, and only where they spiked); times are those of the ticks in ms from tick 0
        on. ``segments[0].epochs`` has the ticks of every node's frames, ``segments[0].analogsignals`` the potentials,
        where they were recorded: sample t is that after tick t, in columns that the annotation ``channels`` names.

    Raises
    ------
    InputError
        If there is no trace.
    NotSupportedError
        If ``neo`` is not installed, there are more than 2**16 neurons, or the trace comes from a file of version 1.
    """
    return neo_block(_recorded(trace_given("to_neo", trace)))


def export_neo(source: Path) -> Exported:
    """Make a file of such a block of a trace file, for ``neuromap export``."""
    trace = trace_given(str(source), source)
    values = 0 if trace.potential_table is None else trace.potential_table.values.size
    if 8 * (values + len(trace.tick)) > _MAX_BYTES:
        raise NotSupportedError(
            f"{source}: times and potentials take {8 * (values + len(trace.tick)) >> 20} MiB; NeoMatlabIO is given at "
            f"most {_MAX_BYTES >> 20}, record fewer neurons"
        )
    recorded = _recorded(trace)
    return Exported(
        trace.name,
        "neo",
        {f"{source.stem}.mat": mat_bytes(neo_block(recorded))},
        figures={**figures_of(trace), "spike trains": sum(len(group.trains) for group in recorded.groups)},
        kept=(
            *(
                Note(f"node {group.name}", f"group {group.name}: {counted(len(group.trains), 'spike train')}")
                for group in recorded.groups
            ),
            Note("frames", "an epoch of every node has the ticks of its frames"),
            *(Note(one.name, f"{counted(len(one.channels), 'neuron')} after every tick") for one in recorded.signals),
        ),
    )


def _recorded(trace: Trace) -> Recorded:
    _require_few(sum(port.size for port in trace.nodes))
    tick = milliseconds(trace)
    groups = [*(_group(trace, node, port) for node, port in enumerate(trace.nodes)), *_without_node(trace)]
    return Recorded(
        name=trace.name,
        tick=tick,
        stop=trace.n_ticks * tick,
        groups=groups,
        frames=[_frames(trace, node, port) for node, port in enumerate(trace.nodes)],
        signals=list(_signals(trace)),
        annotations={
            "pattern": trace.pattern,
            "execution": trace.execution,
            "frame_period_ticks": float(trace.period),
            "tick_ms": tick,
            "frames": trace.n_frames,
            "ticks": trace.n_ticks,
            "producer": f"neuromap {__version__}",
        },
    )


def _group(trace: Trace, node: int, port: NodePort) -> SpikeTimes:
    """Make the trains of a node; of one that the program may not have held as a whole, those that spiked."""
    tick, index = trace.spikes(port.name).T
    is_whole = trace.nodes_are_whole or port.kind != "hidden"
    neurons = np.arange(port.size, dtype=np.int64) if is_whole else np.unique(index)
    return SpikeTimes(
        port.name,
        [f"{port.name}[{i}]" for i in neurons],
        [{"node": port.name, "index": int(i)} for i in neurons],
        _by_neuron(times_of(trace, tick), index, neurons),
    )


def _without_node(trace: Trace) -> Iterator[SpikeTimes]:
    """Make the trains of neurons that were recorded by their core, and belong to no node."""
    loose = trace.node < 0
    if not loose.any() or trace.core is None or trace.neuron is None:
        return
    places = np.stack([trace.core[loose], trace.neuron[loose]], axis=1)
    neurons, which = np.unique(places, axis=0, return_inverse=True)
    _require_few(len(neurons))
    rows = np.arange(len(neurons), dtype=np.int64)
    yield SpikeTimes(
        "neurons without a node",
        [f"core {core}, neuron {neuron}" for core, neuron in neurons],
        [{"core": int(core), "neuron": int(neuron)} for core, neuron in neurons],
        _by_neuron(times_of(trace, trace.tick[loose]), which.reshape(-1), rows),
    )


def _by_neuron(
    times: NDArray[np.float64], neuron: NDArray[np.int64], neurons: NDArray[np.int64]
) -> list[NDArray[np.float64]]:
    """Part ascending times by their neurons, which are ascending too."""
    order = np.argsort(neuron, kind="stable")
    return np.split(times[order], np.searchsorted(neuron[order], neurons[1:])) if len(neurons) else []


def _frames(trace: Trace, node: int, port: NodePort) -> FrameTimes:
    frame, tick = frame_ticks(trace, node)
    return FrameTimes(f"frames of {port.name}", frame, times_of(trace, tick))


def _signals(trace: Trace) -> Iterator[Values]:
    table = trace.potential_table
    if table is None or not len(table.neurons):
        return
    names = [port.name for port in table.neurons.nodes]
    of = table.neurons
    channels = [
        f"{names[node]}[{index}] (core {core}, neuron {neuron})" if node >= 0 else f"core {core}, neuron {neuron}"
        for node, index, core, neuron in zip(of.node, of.index, of.core, of.neuron, strict=True)
    ]
    yield Values("potentials", channels, table.values)


def _require_few(n_neurons: int) -> None:
    if n_neurons > MAX_NEURONS:
        raise NotSupportedError(
            f"trace: has {n_neurons} neurons; a block of Neo is made of at most {MAX_NEURONS}, record fewer"
        )
