"""Network-on-chip and energy of all rows, as cells and sentences for the table in the terminal and the HTML page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from neuromap.forms.numbers import plain, seconds
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.figures.run_figures import RunFigures
from neuromap.simulation.choose_frames import describe_stimuli
from neuromap.simulation.cost.energy import figures_lacking

__all__ = ["RunColumn", "run_columns", "run_lines", "scaled"]


class RunColumn(NamedTuple):
    """One column."""

    # title, unit: what people read, with line feeds where it may be broken; the unit is empty for none
    title: str
    unit: str
    cell: Callable[[RunFigures], str]  # writes the figure


def scaled(value: float | None, unit: float) -> str:
    """Write a figure in a unit, such as 1e-6 for micro; ``-`` for ``None``."""
    return plain(None if value is None else value / unit)


def run_columns(report: LatencyReport) -> list[RunColumn]:
    """Columns of the second table; those that say nothing on this chip are left out."""
    found = [row.figures for row in report.rows if row.figures is not None]
    if not found:
        return []
    chip = report.chip
    columns = [
        RunColumn("spikes", "per\nframe", lambda f: plain(f.network_on_chip.spikes_per_frame)),
        RunColumn("hops\nper spike", "", lambda f: plain(f.network_on_chip.hops_per_spike)),
        RunColumn("busiest link", "spikes in one\ntick", _busiest),
        RunColumn("shortest\ntick", "cycles", lambda f: plain(f.network_on_chip.shortest_tick_cycles)),
        RunColumn("safe\ntick", "cycles", lambda f: plain(f.network_on_chip.safe_tick_any_stimulus_cycles)),
    ]
    if any(f.network_on_chip.late is not None for f in found):
        columns.append(RunColumn("late\nspikes", "on the\nmesh", _late))
    columns.append(RunColumn("host\nspikes", "per\nframe", lambda f: plain(f.network_on_chip.host_spikes_per_frame)))
    if chip.chips != (1, 1):
        crossings = RunColumn("chip\ncrossings", "per\nframe", lambda f: plain(f.network_on_chip.crossings_per_frame))
        columns.append(crossings)
    columns += [
        RunColumn("synaptic\nevents", "per\nframe", lambda f: plain(f.work.synaptic_events_per_frame)),
        RunColumn("slowest node /\nlongest chain", "synaptic\nevents", _chain),
    ]
    if any(f.energy.joules_per_frame is not None for f in found):
        columns += [
            RunColumn("energy", "µJ per\nframe", _energy),
            RunColumn("without\nstatic", "µJ per\nframe", lambda f: scaled(f.energy.active_joules_per_frame, 1e-6)),
            RunColumn("power", "mW", lambda f: scaled(f.energy.watts, 1e-3)),
        ]
    return columns


def _busiest(figures: RunFigures) -> str:
    link = figures.network_on_chip.busiest_link
    return plain(None) if link is None else f"{link.spikes_per_tick} {link}"


def _late(figures: RunFigures) -> str:
    late = figures.network_on_chip.late
    return plain(None if late is None else late.late_spikes)


def _energy(figures: RunFigures) -> str:
    spread = figures.energy.joules_per_frame_spread
    interval = "" if spread is None or spread.half_width is None else f" ± {spread.half_width / 1e-6:.2g}"
    return f"{scaled(figures.energy.joules_per_frame, 1e-6)}{interval}"


def _chain(figures: RunFigures) -> str:
    return f"{figures.node_times.slowest_node_events} / {figures.node_times.frame_events}"


def run_lines(report: LatencyReport) -> list[str]:
    """Say what the second table holds for."""
    found = [row.figures for row in report.rows if row.figures is not None]
    if not found:
        return []
    lines = [
        "network-on-chip and energy: in steady operation, whole frame periods counted with the frames fed in a circle, "
        f"over {describe_stimuli(report.stimulus)}; links, ticks, ports and nodes: of the first stimulus.",
        _tick_line(report, found),
        _port_line(found),
        *_overloaded_ports(report),
        "slowest node / longest chain: the most synaptic events that one core does for a node in one tick; the maximum "
        "over the nodes, and the sum along the longest chain of sequential edges.",
        _energy_line(report, found),
    ]
    for row in report.rows:
        late = None if row.figures is None else row.figures.network_on_chip.late
        if late is not None and late.late_spikes:
            lines.append(
                f"{row.pattern}, {row.execution}: {late.late_spikes} late spikes, {late.overdue_spikes} of them "
                f"overdue; first {late.first_late_spike}."
            )
    return lines


def _tick_line(report: LatencyReport, found: Sequence[RunFigures]) -> str:
    network = found[0].network_on_chip
    hop = "1 cycle" if network.hop_cycles == 1 else f"{network.hop_cycles} cycles"
    line = (
        "shortest tick: the worst spike's arrival in the event simulation; safe tick: the bound for any stimulus; in "
        f"router cycles (a link passes one spike per cycle, a hop takes {hop})"
    )
    if network.cycle_seconds is not None:
        return f"{line} of {seconds(network.cycle_seconds)}; {_safe_tick(report, found)}."
    known = [cycle for f in found if (cycle := f.network_on_chip.longest_cycle_seconds) is not None]
    if not known:
        return f"{line}."
    return f"{line}, whose length the chip file does not say; {_safe_cycle(report, found, min(known))}."


def _safe_tick(report: LatencyReport, found: Sequence[RunFigures]) -> str:
    safe = max(f.network_on_chip.safe_tick_any_stimulus_seconds or 0.0 for f in found)
    if _ports_exceed(found):
        return f"both are of the mesh alone, whose longest bound is {seconds(safe)}"
    return f"the longest safe tick is {seconds(safe)}, the chip's {seconds(report.chip.tick_seconds)}"


def _safe_cycle(report: LatencyReport, found: Sequence[RunFigures], cycle: float) -> str:
    if _ports_exceed(found):
        return f"both are of the mesh alone, which drains within the tick with cycles of up to {seconds(cycle)}"
    return f"the tick of {seconds(report.chip.tick_seconds)} is safe with cycles of up to {seconds(cycle)}"


def _ports_exceed(found: Sequence[RunFigures]) -> bool:
    """Whether ports are too slow for the tick; the mesh alone makes none safe then, and nothing may say so."""
    return any(f.network_on_chip.ports_exceed_tick for f in found)


def _port_line(found: Sequence[RunFigures]) -> str:
    most = max(f.network_on_chip.port_spikes_per_tick for f in found)
    line = f"ports: at most {most} spikes in one tick through those of one chip, host and readout included"
    shares = [f.network_on_chip.port_share_of_tick for f in found]
    known = [share for share in shares if share is not None]
    return f"{line}; {plain(float(f'{100 * max(known):.2g}'))} % of what they carry." if known else f"{line}."


def _overloaded_ports(report: LatencyReport) -> list[str]:
    """Name the rows whose ports are too slow for the tick; no late spike of the mesh shows that."""
    return [
        f"{row.pattern}, {row.execution}: ports of a chip need {seconds(noc.port_seconds)} for the busiest tick, the "
        f"tick is {seconds(report.chip.tick_seconds)}: spikes come too late there."
        for row in report.rows
        if row.figures is not None and (noc := row.figures.network_on_chip).ports_exceed_tick
    ]


def _energy_line(report: LatencyReport, found: Sequence[RunFigures]) -> str:
    energy = found[0].energy
    names = ", ".join(figures_lacking(report.chip, energy.absent))
    lacking = f"; not published and missing: {names}" if names else ""
    if energy.joules_per_frame is None:
        held = [key for key, term in energy.terms.items() if term.joules_each is not None]
        if not held and "off_chip_bit_joules" in report.chip.energy:
            return f"energy: no sum{lacking}."
        if not held:
            return f"energy: the chip file of {report.chip.name} has no figures."
        line = f"energy: no sum, as {', '.join(held)} are held by the fit, which the chip file does not give"
        return f"{line}{lacking}."
    added = [key for key, term in energy.terms.items() if term.joules_each is not None and term.included_in is None]
    held = [key for key, term in energy.terms.items() if term.included_in is not None]
    spread = energy.joules_per_frame_spread
    several = spread is not None and spread.half_width is not None
    interval = " (mean over the stimuli ± half width of its 95 % confidence interval)" if several else ""
    line = f"energy of the whole board{interval}: {', '.join(added)}"
    if held:
        line += f"; {', '.join(held)} held by these"
    return f"{line}{lacking}."
