"""An accuracy as people read it in a terminal."""

from __future__ import annotations

from neuromap.accuracy.accuracy import Accuracy
from neuromap.forms.numbers import joules, plain
from neuromap.forms.tables import new_table, printed

__all__ = ["render_text"]


def render_text(found: Accuracy, width: int = 100) -> str:
    """Write the accuracy by frame, update step and tick, under what was run and above what it costs."""
    table = new_table("frame", "known at\n[update step]", "known at\n[tick]", "right\n[images]", "accuracy")
    for frame in found.frames:
        step = "-" if frame.update_step is None else str(frame.update_step)
        table.add_row(str(frame.frame), step, str(frame.tick), f"{frame.correct:,}", f"{100 * frame.accuracy:.2f} %")
    head = (
        f"{found.network} ({found.pattern}, {found.execution}) on {found.chip}, {found.n_images:,} {found.part} images "
        f"of {found.data}, {found.classes} classes"
    )
    lines = (
        f"cores: {found.cores:,}; first response {found.first_response} ticks; sampling frequency "
        f"{plain(found.sampling_frequency)} Hz",
        f"per frame in steady operation: {plain(found.synaptic_events)} synaptic events, {plain(found.spikes)} spikes, "
        f"{joules(found.joules)} (mean over {found.n_costed} images)",
        f"a frame names the class with most spikes of {found.output} in it, the lowest of equals; frame 1 is the first "
        "response; steps and ticks since the onset of the stimulus",
    )
    return "\n".join([head, "", printed(lambda console: console.print(table), width).rstrip("\n"), "", *lines]) + "\n"
