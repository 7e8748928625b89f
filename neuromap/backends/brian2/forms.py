"""Forms of what a run of Brian2 took on the chip: text, JSON."""

from __future__ import annotations

from neuromap.backends.brian2.chip_report import ChipReport
from neuromap.backends.imported import BRIAN2_REPORT
from neuromap.quantise import forms as quantise_forms
from neuromap.render.numbers import joules, seconds

to_dict = BRIAN2_REPORT.of
"""Give it as plain values: times in seconds and ticks, energy in joules."""


def render_text(found: ChipReport, width: int = 100) -> str:
    """Write cores, time, spikes, hops, energy and latencies, then the quantisation."""
    latencies = ", ".join(f"{row.node} {'-' if row.ticks is None else f'{row.ticks} ticks'}" for row in found.latencies)
    same = "equal to" if found.is_exact else "NOT equal to"
    absent = f" (no figures for {', '.join(found.energy_absent)})" if found.energy_absent else ""
    return (
        f"{found.network} on {found.chip}: {found.cores:,} of {found.usable_cores:,} cores, "
        f"{found.compartments:,} compartments, {found.synapses:,} synapses\n"
        f"{found.ticks:,} ticks: {seconds(found.model_seconds)} of the model, "
        f"{seconds(found.chip_seconds)} on the chip\n"
        f"{found.spikes:,} spikes, {same} the integer reference; {found.synaptic_events:,} synaptic events, "
        f"{found.hops:,} hops, {joules(found.joules)}{absent} in all ticks\n"
        f"least ticks from a spike of the host to one that depends on it: {latencies}\n\n"
        f"{quantise_forms.render_text(found.quantisation, width)}"
    )
