"""Traces as timelines for ui.perfetto.dev: when every node shows its frames, and when every core works."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from neuromap.arrays.times import Time
from neuromap.errors import InputError
from neuromap.exchange.exported import Exported
from neuromap.exchange.imported import Note
from neuromap.exchange.traces.perfetto_events import MAX_EVENTS, Shown, events_of, shown_ticks
from neuromap.exchange.traces.trace_given import figures_of, trace_given
from neuromap.files.given import needs, path_given
from neuromap.files.messages import counted
from neuromap.files.whole_file import write_whole
from neuromap.formats.perfetto.trace_events import trace_text
from neuromap.hardware.load.load_program import load_program
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.trace.trace import Trace

__all__ = ["export_perfetto", "to_perfetto"]


def to_perfetto(trace: Trace, path: str | Path, *, program: ChipProgram | None = None) -> tuple[Note, ...]:
    """Write a trace as a timeline for ui.perfetto.dev, whole or not at all.

    Nodes are one process, with a thread and a counter of spikes each; every chip is one, with a thread for each core
    that spiked. Ticks are as long as the chip's.

    Parameters
    ----------
    trace : Trace
        Of a run.
    path : str or Path
        Ends in ``.json`` by custom.
    program : ChipProgram, optional
        That of the trace, which knows on which chip its cores are and where; else cores have their number only.

    Returns
    -------
    tuple of Note
        What the timeline leaves out.

    Raises
    ------
    InputError
        If there is no trace, the program is another's, or the file cannot be written.
    NotSupportedError
        If the trace comes from a file of version 1.
    """
    path = path_given("to_perfetto", path)
    found = _checked(trace_given("to_perfetto", trace), program)
    shown = shown_ticks(found)
    write_whole(path, _text(found, program, shown))
    return _unsaid(found, program, shown)


def export_perfetto(source: Path, *, program: str | Path | None = None) -> Exported:
    """Make such a file of a trace file, for ``neuromap export``."""
    loaded = None if program is None else load_program(program)
    trace = _checked(trace_given(str(source), source), loaded)
    shown = shown_ticks(trace)
    text = _text(trace, loaded, shown)
    return Exported(
        trace.name,
        "perfetto",
        {f"{source.stem}.json": text},
        figures={**figures_of(trace), "ticks shown": shown.n_ticks, "events": text.count('\n{"ph":')},
        kept=(
            Note("nodes", "a thread for each: a slice for every frame, and a counter of spikes per tick"),
            Note("cores", "a thread for each that spiked: a slice for every tick in which it did"),
        ),
        refused=_unsaid(trace, loaded, shown),
    )


def _checked(trace: Trace, program: ChipProgram | None) -> Trace:
    """Refuse a program that is not that of the trace."""
    if program is None:
        return trace
    needs("to_perfetto", program, ChipProgram)
    n_cores = int(np.max(trace.core, initial=-1)) + 1 if trace.core is not None else 0
    labels = {(one.name, one.pattern, one.execution, one.period) for one in (trace, program)}
    if len(labels) > 1 or n_cores > program.n_cores:
        raise InputError(
            f"program {program.name} ({program.pattern}, {program.execution}): is not that of the trace, "
            f"{trace.name} ({trace.pattern}, {trace.execution}); give the one that was simulated"
        )
    return trace


def _text(trace: Trace, program: ChipProgram | None, shown: Shown) -> str:
    return trace_text(events_of(trace, program, shown.n_ticks), _about(trace, shown))


def _about(trace: Trace, shown: Shown) -> dict[str, Any]:
    return {
        "network": trace.name,
        "pattern": trace.pattern,
        "execution": trace.execution,
        "frame_period_ticks": _number(trace.period),
        "tick_seconds": trace.tick_seconds,
        "frames": trace.n_frames,
        "ticks": trace.n_ticks,
        "ticks_shown": shown.n_ticks,
        "events_left_out": shown.left_out,
    }


def _number(time: Time) -> int | float:
    return time if isinstance(time, int) else float(time)


def _unsaid(trace: Trace, program: ChipProgram | None, shown: Shown) -> tuple[Note, ...]:
    notes = []
    if shown.left_out:
        text = (
            f"{counted(shown.left_out, 'event')} from tick {shown.n_ticks} on are left out; a file has at most "
            f"{MAX_EVENTS:,}"
        )
        notes.append(Note("ticks", text, "simulate fewer frames, or record fewer neurons"))
    if trace.potential_table is not None:
        notes.append(Note("potentials", "are left out", "to_neo and the trace's own file have them"))
    if program is None:
        text = "have their number only: a trace does not say where they are"
        notes.append(Note("cores", text, "give the program too"))
    return tuple(notes)
