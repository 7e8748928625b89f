"""Traces as Neo blocks, which Elephant and other spike-train tools analyse, and as SONATA spike files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.parts_of_ticks import ticks_of_frames
from neuromap.errors import NotSupportedError
from neuromap.exchange.imported import Exported, Note
from neuromap.files.argument_checks import needs, path_given
from neuromap.files.messages import counted, show_name
from neuromap.files.whole_file import write_whole
from neuromap.formats.neo import mat_bytes
from neuromap.formats.sonata import Population, spike_bytes
from neuromap.registry import require_package
from neuromap.simulation.trace.load_trace import load_trace
from neuromap.simulation.trace.recording import Readout
from neuromap.simulation.trace.trace import Trace
from neuromap.version import __version__

if TYPE_CHECKING:
    import neo

# Most spike trains of a block, each an object of Neo.
MAX_NEURONS = 2**16
# Most bytes of spike times and potentials in a file; its format has 2 GiB.
_MAX_BYTES = 2**30


def to_neo(trace: Trace) -> neo.Block:
    """Convert a trace to a Neo block.

    Parameters
    ----------
    trace : Trace
        Trace of a run.

    Returns
    -------
    neo.Block
        One segment. ``groups`` has one group per node, with a spike train of every neuron, silent ones included
        (neurons without a node come last, by core, and only if they spiked); times are those of the ticks, in ms from
        tick 0 on. ``segments[0].epochs`` has the first half of the tick of every frame of a node,
        ``segments[0].analogsignals`` the potentials, if recorded: sample t follows tick t, and the annotation
        ``channels`` names the columns. The annotation ``ticks_are_timed`` says whether ticks of the chip last as long
        as their work; the trace does not know how long, and ``tick_ms`` is then no time of the chip.

    Raises
    ------
    InputError
        If there is no trace.
    NotSupportedError
        If ``neo`` is not installed, there are more than 2**16 neurons, or the trace comes from a file of version 1.
    """
    return _block(trace_given("to_neo", trace))


def export_neo(source: Path) -> Exported:
    """Convert a trace file to a file of such a block, for ``neuromap export``."""
    trace = trace_given(str(source), source)
    values = 0 if trace.potential_table is None else trace.potential_table.values.size
    if 8 * (values + len(trace.tick)) > _MAX_BYTES:
        raise NotSupportedError(
            f"{source}: times and potentials take {8 * (values + len(trace.tick)) >> 20} MiB; NeoMatlabIO is given at "
            f"most {_MAX_BYTES >> 20}, record fewer neurons"
        )
    block = _block(trace)
    (segment,) = block.segments
    groups = [(group.name, counted(len(group.spiketrains), "spike train")) for group in block.groups]
    trains = [Note(f"node {name}", f"group {name}: {number}") for name, number in groups]
    signals = [(one.name, counted(len(one.annotations["channels"]), "neuron")) for one in segment.analogsignals]
    potentials = [Note(name, f"{number} after every tick") for name, number in signals]
    return Exported(
        trace.name,
        "neo",
        {f"{source.stem}.mat": mat_bytes(block)},
        figures={**figures_of(trace), "spike trains": len(segment.spiketrains)},
        kept=(*trains, Note("frames", "the epochs of a node cut its spike trains into frames"), *potentials),
        refused=tuple(notes_of_trace(trace)),
    )


def _block(trace: Trace) -> neo.Block:
    """Make a block: spike trains grouped by node, an epoch per node, and potentials."""
    groups = list(_groups(trace))
    require_package("Neo", "neo", "neo")
    import neo
    from quantities import Quantity

    tick = milliseconds(trace)
    block = neo.Block(
        name=trace.name,
        pattern=trace.pattern,
        execution=trace.execution,
        frame_period_ticks=float(trace.period),
        tick_ms=tick,
        ticks_are_timed=trace.is_timed,
        frames=trace.n_frames,
        ticks=trace.n_ticks,
        producer=f"neuromap {__version__}",
    )
    segment = neo.Segment(name=trace.name, index=0)
    block.segments.append(segment)
    for called, names, times in groups:
        trains = [
            neo.SpikeTrain(of, units="ms", t_start=0.0, t_stop=trace.n_ticks * tick, name=name, **annotations)
            for (name, annotations), of in zip(names, times, strict=True)
        ]
        block.groups.append(neo.Group(objects=trains, name=called))
    segment.spiketrains.extend([train for group in block.groups for train in group.spiketrains])
    for node, port in enumerate(trace.nodes):
        frame, at = frame_ticks(trace, node)
        labels = np.array([f"frame {i}" for i in frame], dtype="U")
        # a cut by an epoch has both its ends, and the next tick's spikes begin where this one stops
        said = {"times": times_of(trace, at), "durations": np.full(len(labels), tick / 2), "labels": labels}
        segment.epochs.append(neo.Epoch(**said, units="ms", name=f"frames of {port.name}"))
    table = trace.potential_table
    if table is not None and len(table.neurons):
        segment.analogsignals.append(
            neo.AnalogSignal(
                table.values.astype(np.float64),
                units="dimensionless",
                sampling_period=Quantity(tick, "ms"),
                name="potentials",
                channels=_channels(table.neurons),
            )
        )
    block.check_relationships()
    return block


def _groups(trace: Trace) -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]], list[NDArray[np.float64]]]]:
    """Yield the nodes with names and annotations of trains, and their times; last the neurons without a node."""
    _require_few(sum(port.size for port in trace.nodes))
    for port in trace.nodes:
        tick, index = trace.spikes(port.name).T
        # only neurons that spiked, of a node that the program may not hold as a whole
        is_whole = trace.nodes_are_whole or port.kind != "hidden"
        neurons = np.arange(port.size, dtype=np.int64) if is_whole else np.unique(index)
        times = _by_neuron(times_of(trace, tick), index, neurons)
        names = [(f"{port.name}[{i}]", {"node": port.name, "index": i}) for i in neurons.tolist()]
        yield port.name, names, times
    loose = trace.node < 0
    if not loose.any() or trace.core is None or trace.neuron is None:
        return
    places = np.stack([trace.core[loose], trace.neuron[loose]], axis=1)
    found, which = np.unique(places, axis=0, return_inverse=True)
    _require_few(len(found))
    times = _by_neuron(times_of(trace, trace.tick[loose]), which.reshape(-1), np.arange(len(found), dtype=np.int64))
    names = [(f"core {core}, neuron {k}", {"core": core, "neuron": k}) for core, k in found.tolist()]
    yield "neurons without a node", names, times


def _channels(of: Readout) -> list[str]:
    """Name the neurons whose potentials were recorded."""
    names = [port.name for port in of.nodes]
    return [
        f"{names[node]}[{index}] (core {core}, neuron {neuron})" if node >= 0 else f"core {core}, neuron {neuron}"
        for node, index, core, neuron in zip(of.node, of.index, of.core, of.neuron, strict=True)
    ]


def _by_neuron(
    times: NDArray[np.float64], neuron: NDArray[np.int64], neurons: NDArray[np.int64]
) -> list[NDArray[np.float64]]:
    """Split ascending times by neuron; ``neurons`` ascend too."""
    order = np.argsort(neuron, kind="stable")
    return np.split(times[order], np.searchsorted(neuron[order], neurons[1:])) if len(neurons) else []


def _require_few(n_neurons: int) -> None:
    if n_neurons > MAX_NEURONS:
        raise NotSupportedError(
            f"trace: has {n_neurons} neurons; a block of Neo is made of at most {MAX_NEURONS}, record fewer"
        )


# Traces as spike files of SONATA, which libsonata, BMTK and others read.


def to_sonata(trace: Trace, path: str | Path) -> tuple[Note, ...]:
    """Write the spikes of a trace as a SONATA spike file, whole or not at all.

    Parameters
    ----------
    trace : Trace
        Trace of a run.
    path : str or Path
        Ends in ``.h5`` by convention.

    Returns
    -------
    tuple of Note
        What the file has no place for.

    Raises
    ------
    InputError
        If there is no trace, or the file cannot be written.
    NotSupportedError
        If h5py is not installed, a node's name is dots or has a slash, or the trace comes from a file of version 1.
    """
    path = path_given("to_sonata", path)
    found = trace_given("to_sonata", trace)
    write_whole(path, spike_bytes(_populations(found)))
    return tuple(_unsaid(found))


def export_sonata(source: Path) -> Exported:
    """Convert a trace file to such a file, for ``neuromap export``."""
    trace = trace_given(str(source), source)
    populations = _populations(trace)
    return Exported(
        trace.name,
        "sonata",
        {f"{source.stem}.h5": spike_bytes(populations)},
        figures={**figures_of(trace), "spikes": sum(len(population.neuron) for population in populations)},
        kept=tuple(
            Note(f"node {port.name}", f"population {port.name}: {counted(len(population.neuron), 'spike')} in ms")
            for port, population in zip(trace.nodes, populations, strict=True)
        ),
        refused=tuple(_unsaid(trace)),
    )


def _populations(trace: Trace) -> list[Population]:
    """Make a population of every recorded node, with neurons numbered as in the node; copies spike as one."""
    for port in trace.nodes:
        if not port.name.strip(".") or "/" in port.name:
            raise NotSupportedError(
                f"node {show_name(port.name)}: HDF5 has no such name for a population; rename the node"
            )
    spikes = ((port.name, *trace.spikes(port.name).T) for port in trace.nodes)
    return [Population(name, times_of(trace, tick), neuron) for name, tick, neuron in spikes]


def _unsaid(trace: Trace) -> Iterator[Note]:
    text = "SONATA has no place for them: node, frame period, and the ticks of frames"
    yield Note("frames", text, "keep the trace's own file")
    yield from notes_of_trace(trace)
    if trace.potential_table is not None:
        way = "trace.save('run.h5') writes them in SONATA's layout too"
        yield Note("potentials", "a spike file has no place for them", way)
    if loose := int((trace.node < 0).sum()):
        text = f"{counted(loose, 'spike')} that were recorded by their core have no place here"
        way = "record nodes (--record node:NAME), or keep the trace's own file"
        yield Note("neurons without a node", text, way)


# A trace as exports need it: one that knows times and places.
def trace_given(where: str, trace: Trace | Path) -> Trace:
    """Load a trace, and require the length of a tick and the places of its spikes on the chip."""
    found = load_trace(trace) if isinstance(trace, Path) else trace
    needs(where, found, Trace)
    if found.tick_seconds is None or found.core is None or found.neuron is None:
        raise NotSupportedError(
            f"{where}: the trace comes from a file of version 1, which says neither the length of a tick nor the "
            "places of its spikes; simulate again"
        )
    return found


def frame_ticks(trace: Trace, node: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the frames of a recorded node, from 1 on, that lie in the ticks of the run, and their ticks."""
    frame = np.arange(1, trace.n_frames, dtype=np.int64)
    tick = ticks_of_frames(trace.clock.start[node], trace.period, frame)
    inside = (tick >= 0) & (tick < trace.n_ticks)
    return frame[inside], tick[inside]


def milliseconds(trace: Trace) -> float:
    """Length of a tick in milliseconds."""
    return 1000 * (trace.tick_seconds or 0)


def times_of(trace: Trace, tick: NDArray[np.int64]) -> NDArray[np.float64]:
    """Start times of ticks in milliseconds."""
    return tick * np.float64(milliseconds(trace))


def notes_of_trace(trace: Trace) -> Iterator[Note]:
    """Note what such files lack: values of messages, and the lengths of ticks on chips where these vary."""
    if trace.value is not None:
        yield Note("values", "are left out: a message is a spike there", "keep the trace's own file")
    if trace.is_timed:
        text = (
            f"have no duration in a trace, as on this chip they last as long as their work: every tick is written as "
            f"{milliseconds(trace):g} ms"
        )
        yield Note("ticks", text, "read times as numbers of ticks; neuromap report says how long ticks last")


def figures_of(trace: Trace) -> dict[str, int | str]:
    """Figures that every export of a trace states."""
    return {
        "nodes": len(trace.nodes),
        "frames": trace.n_frames,
        "ticks": trace.n_ticks,
        "length of a tick (s)": f"{trace.tick_seconds:g}",
    }
