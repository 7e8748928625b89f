"""Traces as spike files of SONATA, which libsonata, BMTK and others read."""

from __future__ import annotations

from pathlib import Path

from neuromap.errors import NotSupportedError
from neuromap.exchange.exported import Exported
from neuromap.exchange.imported import Note
from neuromap.exchange.trace_given import figures_of, note_of_loose_spikes, times_of, trace_given
from neuromap.files.given import path_given
from neuromap.files.messages import counted, show_name
from neuromap.files.whole_file import write_whole
from neuromap.formats.sonata import Population, spike_bytes
from neuromap.simulation.trace.trace import Trace

__all__ = ["export_sonata", "to_sonata"]


def to_sonata(trace: Trace, path: str | Path) -> tuple[Note, ...]:
    """Write the spikes of a trace as a spike file of SONATA, whole or not at all.

    Parameters
    ----------
    trace : Trace
        Of a run.
    path : str or Path
        Ends in ``.h5`` by custom.

    Returns
    -------
    tuple of Note
        What the file has no place for.

    Raises
    ------
    InputError
        If there is no trace, or the file cannot be written.
    NotSupportedError
        If h5py is not installed, a node's name is dots or has a stroke, or the trace comes from a file of version 1.
    """
    path = path_given("to_sonata", path)
    found = trace_given("to_sonata", trace)
    write_whole(path, spike_bytes(_populations(found)))
    return _unsaid(found)


def export_sonata(source: Path) -> Exported:
    """Make such a file of a trace file, for ``neuromap export``."""
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
        refused=_unsaid(trace),
    )


def _populations(trace: Trace) -> list[Population]:
    """Make a population of every recorded node, its neurons by their number in the node; copies spike as one."""
    for port in trace.nodes:
        if not port.name.strip(".") or "/" in port.name:
            raise NotSupportedError(
                f"node {show_name(port.name)}: HDF5 has no such name for a population; rename the node"
            )
    found = []
    for port in trace.nodes:
        tick, neuron = trace.spikes(port.name).T
        found.append(Population(port.name, times_of(trace, tick), neuron))
    return found


def _unsaid(trace: Trace) -> tuple[Note, ...]:
    potentials: tuple[Note, ...] = ()
    if trace.potential_table is not None:
        text = "a spike file has no place for them"
        potentials = (Note("potentials", text, "trace.save('run.h5') writes them in SONATA's layout too"),)
    text = "SONATA has no place for them: node, frame period, and the ticks of frames"
    labels = Note("frames", text, "keep the trace's own file")
    return (labels, *potentials, *note_of_loose_spikes(trace))
