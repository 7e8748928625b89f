"""The latency report as people read it: tables in the terminal and in notebooks, and the sentences beside them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from neuromap.accuracy.accuracy import Accuracy
from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_spec import tick_words
from neuromap.hardware.program.ports import left_out_line
from neuromap.hardware.program.usage import copies_line
from neuromap.render.numbers import mean_period_lines, plain, seconds, short_count
from neuromap.render.svg import inline_image, standalone
from neuromap.render.table import Column, Table, print_findings, print_lines, print_rest, print_text, printed
from neuromap.render.value import form
from neuromap.report.drawings.draw_timeline import draw_overview
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.figures.row import ReportRow, RunFigures
from neuromap.rollout.schedule.execution import time_axis
from neuromap.rollout.schedule.reaction_note import reaction_note
from neuromap.simulation.choose_frames import describe_frames, describe_stimuli
from neuromap.simulation.cost.energy import figures_lacking

if TYPE_CHECKING:
    from rich.console import Console

# Most characters of pattern names in a sentence.
_LONGEST_NAMES = 60


def _used(name: str) -> Column[ReportRow]:
    return Column(name, lambda row: plain(getattr(row.usage, name, None)), rank=9)


def at_least(row: ReportRow) -> str:
    """Format the lower bound on cores that follows their number; empty if there is none."""
    return "" if row.core_bound is None else f" (≥ {row.core_bound.total})"


def verdict(row: ReportRow) -> str:
    """State whether the chip of a row equals the reference; the status of rows that were not mapped."""
    if row.verified is None:
        return row.status
    return "✗ no" if not row.verified else "✓ proven" if row.proven else "✓ yes"


def _micro(seconds: float | None) -> str:
    return plain(None) if seconds is None else f"{1e6 * seconds:.4g}"


def _timed(title: str, key: str) -> Column[ReportRow]:
    """Make the column of a response in time: its bound and the event simulation."""

    def write(row: ReportRow) -> str:
        predicted, measured = (getattr(r, f"{key}_response_seconds") for r in (row.predicted, row.measured))
        return f"≤{_micro(predicted)} / {_micro(measured)}" if row.figures else plain(None)

    return Column(title.replace(" ", "\n") + "\n[µs]", write, rank=3)


def _mean_tick(row: ReportRow) -> str:
    found = row.figures.tick_times if row.figures else None
    return _micro(found.mean_seconds if found else None)


_NAMED: tuple[Column[ReportRow], ...] = (
    Column("pattern", lambda row: row.pattern, left=True, wraps=True, term="pattern"),
    Column("execution", lambda row: row.execution.replace(", ", ",\n"), left=True, term="execution"),
)
_COLUMNS: tuple[Column[ReportRow], ...] = (
    *_NAMED,
    Column("F\n[steps]", lambda row: plain(row.inference_factor), rank=9),
    Column("frame\nperiod\n[ticks]", lambda row: plain(row.frame_period_ticks)),
    Column("sampling\nfrequency\n[Hz]", lambda row: plain(row.sampling_frequency_hz), rank=9),
    Column(
        "first\nresponse\n[ticks]",
        lambda row: f"{plain(row.predicted.first_response_ticks)} / {plain(row.measured.first_response_ticks)}",
    ),
    Column(
        "full\nresponse\n[ticks]",
        lambda row: (
            f"{'' if row.full_response_exact in (True, None) else '≤'}{plain(row.predicted.full_response_ticks)} / "
            f"{plain(row.measured.full_response_ticks)}"
        ),
    ),
    Column("worst-case\nreaction\n[ticks]", lambda row: plain(row.worst_case_reaction_ticks), rank=2),
    *(_timed(title, key) for title, key in (("first response", "first"), ("full response", "full"))),
    Column("worst-case\nreaction\n[µs]", lambda row: _micro(row.worst_case_reaction_seconds), rank=9),
    Column("mean\ntick\n[µs]", _mean_tick, rank=3),
    Column("cores", lambda row: plain(None) if row.usage is None else f"{row.usage.cores}{at_least(row)}"),
    *(_used(name) for name in ("neurons", "copies", "splitters", "relays", "axons")),
    Column("verified", lambda row: verdict(row)),
)


def distinct_rows(report: LatencyReport) -> list[ReportRow]:
    """Return the rows; those of one pattern that differ only in execution become one, which names all executions."""
    alike: list[tuple[dict[str, Any], list[ReportRow]]] = []
    for row, written in zip(report.rows, form(report, "dict")["rows"], strict=True):
        # ticks of the verifying run are no figures of the row; whether it is verified has a member of its own
        said = {key: value for key, value in written.items() if key not in ("execution", "verification")}
        found = next((rows for other, rows in alike if other == said), None)
        if found is None:
            alike.append((said, [row]))
        else:
            found.append(row)
    return [replace(rows[0], execution=", ".join(row.execution for row in rows)) for _, rows in alike]


def latency_table(report: LatencyReport) -> Table[ReportRow]:
    """Make a row for every pattern and execution; units are in the headers, responses predicted / measured."""
    splits = any(row.usage is not None and row.usage.splitters for row in report.rows)
    timed = report.chip.is_timed
    columns = [
        column
        for column in _COLUMNS
        if (splits or column.header != "splitters") and (timed or not column.header.endswith("[µs]"))
    ]
    styles = {None: "yellow", True: "green", False: "bold red"}
    return Table(columns, distinct_rows(report), "", (0, 1), lambda row: styles[row.verified], is_edged=True)


def print_answers(report: LatencyReport, console: Console, found: Sequence[str], page: str | None) -> None:
    """Print what was found, and the figures that are read first unless there is a page with all of them."""
    print_text(console, _headline(report))
    print_findings(console, found)
    for line in (*_refusals(report), *left_out_lines(report)):
        print_text(console, line)
    if page is not None:
        return
    table = latency_table(report)  # with energy; the console shows the columns that fit
    if any(row.joules_per_frame is not None for row in report.rows):
        energy = _run_column("energy\n[µJ per\nframe]", lambda f: scaled(f.energy.joules_per_frame, 1e-6))
        table = replace(table, columns=[*table.columns[:-1], energy, table.columns[-1]])
    table.print(console, brief=True)
    print_text(console, "Responses from stimulus onset: predicted from the schedule / measured on the program.")
    print_rest(
        console,
        [*table.left_out(console.width), "network-on-chip", "what the columns mean"],
        "--all, --html FILE or --json",
    )


def _headline(report: LatencyReport) -> str:
    of = f"{report.network.name} on {report.chip.name}"
    return f"{of}, {tick_words(report.chip)}, verified with {describe_frames(report.stimulus)}"


def _note_lines(report: LatencyReport) -> list[str]:
    """Lines below the table, without any markup."""
    timed = (
        "µs: ticks as long as their work, in steady operation over the stimuli: the bound from counts / the event "
        "simulation; worst-case reaction: the bound; mean tick, sampling frequency: the event simulation."
    )
    is_bounded = any(row.core_bound is not None for row in report.rows)
    is_cut_off = any(row.full_response_exact is False for row in report.rows)
    notes = [
        *(f"{name}: {time_axis(name)}." for name in dict.fromkeys(row.execution for row in report.rows)),
        *mean_period_lines(row.frame_period_ticks for row in report.rows),
        "first and full response from stimulus onset: predicted from the schedule / measured on the program "
        "(-: not defined).",
        timed if report.chip.is_timed else None,
        reaction_line(report),
        difference_line(report),
        "cores: in use (≥: a lower bound on those of any mapping)." if is_bounded else None,
        "≤: the search for the longest path was cut off; an upper bound." if is_cut_off else None,
        sequential_line(report),
        class_line(report),
        most_copies_line(report),
        *left_out_lines(report),
        *_refusals(report),
    ]
    return list(filter(None, notes))


def _refusals(report: LatencyReport) -> list[str]:
    """List the rows that were not mapped or are not verified, and why."""
    said: list[str] = []
    for row in report.rows:
        if row.status == "invalid":  # just as invalid in the other execution, and the message names the pattern
            said += [row.message] * (row.message not in said)
        elif row.message:
            said.append(f"{row.pattern}, {row.execution}: {row.message}")
        if row.verification is not None and not row.verification.verified:
            said.append(f"{row.pattern}, {row.execution}: not verified, {row.verification.message}")
    return said


def print_report(report: LatencyReport, console: Console) -> None:
    """Print the tables with their notes."""
    print_lines(console, [_headline(report)])
    for table, notes in (
        (latency_table(report), _note_lines(report)),
        (run_table(report), run_lines(report)),
        (accuracy_table(report), filter(None, [accuracy_line(report)])),
    ):
        if table is not None:
            table.print(console)
        print_lines(console, notes)
    if report.faults is not None:
        console.print()
        for line in str(form(report.faults, "text", console.width)).splitlines():
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def render_text(report: LatencyReport, width: int = 160) -> str:
    """Print the report into a string.

    Parameters
    ----------
    report : LatencyReport
        The report.
    width : int
        Columns.

    Returns
    -------
    str
        Lines without colours.
    """
    return printed(lambda console: print_report(report, console), width)


def to_notebook(report: LatencyReport) -> str:
    """Write picture and table of a report as HTML, responses predicted / measured."""
    drawn = draw_overview(report)
    picture = "" if drawn is None else inline_image(standalone(drawn))
    return picture + latency_table(report).html(_headline(report), names=2)


# Sentences under the tables, here and on the page.


def difference_line(report: LatencyReport) -> str | None:
    """Explain why measured responses differ from predicted ones; ``None`` if none does in a verified row."""
    names = dict.fromkeys(row.pattern for row in report.rows if row.verified and _weights_tell(row))
    if not names:
        return None
    where = ", ".join(names)
    return (
        f"measured differs from predicted{f' ({where})' if len(where) <= _LONGEST_NAMES else ''}: a weight of zero is "
        "not a synapse, so a measured first response is later where weights leave the shortest path closed, and a full "
        "one earlier where they close the longest."
    )


def _weights_tell(row: ReportRow) -> bool:
    """Return whether an output's first response is measured later than predicted, or its full one earlier."""
    # If the program's frame period is not the rollout's, its schedule was made anew, for splitters or sums in parts,
    # which explains the difference.
    return row.worst_case_reaction_ticks is not None and any(
        _above(o.measured.first_response_ticks, o.predicted.first_response_ticks)
        or (o.full_response_exact and _above(o.predicted.full_response_ticks, o.measured.full_response_ticks))
        for o in row.outputs.values()
    )


def _above(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one > other


def reaction_line(report: LatencyReport) -> str | None:
    """Name the inputs that worst-case reactions are for; ``None`` if there is one input, or no such figure."""
    rows = [row for row in report.rows if row.worst_case_reaction_ticks is not None]
    return reaction_note((f"{row.pattern} ({row.execution})", row.rollout) for row in rows if row.rollout is not None)


def sequential_line(report: LatencyReport) -> str | None:
    """State the number of most sequential patterns; ``None`` if none is reported."""
    if report.most_sequential_proven is None:
        return None
    unproven = "" if report.most_sequential_proven else "; found by a heuristic, not proven to be most sequential"
    most = report.most_sequential
    said = "the most sequential patterns were not counted" if most is None else "the only most sequential pattern"
    if most is not None and most != 1:
        said = f"the first of {short_count(most)} most sequential patterns"
    return f"sequential: {said}{unproven}."


def class_line(report: LatencyReport) -> str:
    """List the patterns of every behaviour class, by its number; empty if no pattern is valid."""
    members: dict[int, dict[str, None]] = {}
    for row in report.rows:
        if row.behaviour_class is not None:
            members.setdefault(row.behaviour_class, {})[row.pattern] = None
    if not members:
        return ""
    classes = "; ".join(f"{number}: {', '.join(members[number])}" for number in sorted(members))
    met = "" if report.classes_are_of_network else " (classes without a named pattern numbered in the order of rows)"
    return f"behaviour classes, whose patterns compute the same function: {classes}{met}."


def most_copies_line(report: LatencyReport) -> str:
    """Explain the copies of the row with most neurons in use; empty if there are none."""
    mapped = [row for row in report.rows if row.usage is not None]
    most = max(mapped, key=lambda row: 0 if row.usage is None else row.usage.neurons, default=None)
    line = "" if most is None else copies_line(most.copies)
    return f"{most.pattern}, {most.execution}: {line}" if most is not None and line else ""


def left_out_lines(report: LatencyReport) -> list[str]:
    """List the nodes that are not mapped, as no output depends on them; every line once."""
    return list(dict.fromkeys(left_out_line(row.ports, row.left_out) for row in report.rows if row.left_out))


# Network-on-chip and energy of all rows, with notes.


def scaled(value: float | None, unit: float) -> str:
    """Format a figure in a unit, such as 1e-6 for micro; ``-`` for ``None``."""
    return plain(None if value is None else value / unit)


def _run_column(header: str, cell: Callable[[RunFigures], str]) -> Column[ReportRow]:
    return Column(header, lambda row: plain(None) if row.figures is None else cell(row.figures))


def run_table(report: LatencyReport) -> Table[ReportRow] | None:
    """Make the table of network-on-chip and energy; columns that say nothing on this chip are left out."""
    found = report.figures
    if not found:
        return None
    sent, has_boundaries = report.sent, report.chip.chips != (1, 1)
    has_late = any(f.network_on_chip.late is not None for f in found)
    has_energy = any(f.energy.joules_per_frame is not None for f in found)
    columns: list[tuple[bool, str, Callable[[RunFigures], str]]] = [
        (True, f"{sent}s\n[per\nframe]", lambda f: plain(f.network_on_chip.spikes_per_frame)),
        (True, f"hops\nper {sent}", lambda f: plain(f.network_on_chip.hops_per_spike)),
        (True, f"busiest link\n[{sent}s in one\ntick]", _busiest),
        (True, "shortest\ntick\n[cycles]", lambda f: plain(f.network_on_chip.shortest_tick_cycles)),
        (True, "safe\ntick\n[cycles]", lambda f: plain(f.network_on_chip.safe_tick_any_stimulus_cycles)),
        (has_late, f"late\n{sent}s\n[on the\nmesh]", _late),
        (True, f"host\n{sent}s\n[per\nframe]", lambda f: plain(f.network_on_chip.host_spikes_per_frame)),
        (has_boundaries, "chip\ncrossings\n[per\nframe]", lambda f: plain(f.network_on_chip.crossings_per_frame)),
        (True, "synaptic\nevents\n[per\nframe]", lambda f: plain(f.work.synaptic_events_per_frame)),
        (True, "slowest node /\nlongest chain\n[synaptic\nevents]", _chain),
        (has_energy, "energy\n[µJ per\nframe]", _energy),
        (has_energy, "without\nstatic\n[µJ per\nframe]", lambda f: scaled(f.energy.active_joules_per_frame, 1e-6)),
        (has_energy, "power\n[mW]", lambda f: scaled(f.energy.watts, 1e-3)),
    ]
    shown = [*_NAMED, *(_run_column(header, cell) for is_shown, header, cell in columns if is_shown)]
    title = "Network-on-chip and energy"
    return Table(shown, distinct_rows(report), title, (0, 1), is_edged=True, notes=run_lines(report))


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
    """Return the notes of the second table."""
    found = report.figures
    if not found:
        return []
    lines = [
        "network-on-chip and energy: in steady operation, whole frame periods counted with the frames fed in a circle, "
        f"over {describe_stimuli(report.stimulus)}; links, ticks, ports and nodes: of the first stimulus.",
        *(["messages: one for every value that is not 0."] if report.network.is_graded else []),
        _tick_line(report, found),
        _port_line(found, report.sent),
        *_overloaded_ports(report),
        "slowest node / longest chain: the most synaptic events that one core does for a node in one tick; the maximum "
        "over the nodes, and the sum along the longest chain of sequential edges.",
        _energy_line(report, found),
    ]
    return lines + [
        f"{row.pattern}, {row.execution}: {late.late_spikes} late {report.sent}s, {late.overdue_spikes} of them "
        f"overdue; first {late.first_late_spike}."
        for row in report.rows
        if row.figures is not None and (late := row.figures.network_on_chip.late) is not None and late.late_spikes
    ]


def _tick_line(report: LatencyReport, found: Sequence[RunFigures]) -> str:
    network, tick = found[0].network_on_chip, seconds(report.chip.tick_seconds)
    line = (
        f"shortest tick: the worst {report.sent}'s arrival in the event simulation; safe tick: the bound for any "
        f"stimulus; in router cycles (a link passes one {report.sent} per cycle, a hop takes "
        f"{counted(network.hop_cycles, 'cycle')})"
    )
    # where ports are too slow for the tick, no line may call it safe for the mesh alone
    is_slow = any(f.network_on_chip.ports_exceed_tick for f in found)
    of_mesh = "both are of the mesh alone"
    if network.cycle_seconds is not None:
        line += f" of {seconds(network.cycle_seconds)}"
        safe = seconds(max(f.network_on_chip.safe_tick_any_stimulus_seconds or 0.0 for f in found))
        longest = f"the longest safe tick is {safe}, the chip's {tick}"
        bound = f"{of_mesh}, whose longest bound is {safe}" if is_slow else longest
        return f"{line}." if report.chip.is_timed else f"{line}; {bound}."
    known = [cycle for f in found if (cycle := f.network_on_chip.longest_cycle_seconds) is not None]
    if not known:
        return f"{line}."
    drains = f"{of_mesh}, which drains within the tick" if is_slow else f"the tick of {tick} is safe"
    cycles = f"with cycles of up to {seconds(min(known))}"
    return f"{line}, whose length the chip file does not say; {drains} {cycles}."


def _port_line(found: Sequence[RunFigures], sent: str) -> str:
    most = max(f.network_on_chip.port_spikes_per_tick for f in found)
    line = f"ports: at most {most} {sent}s in one tick through those of one chip, host and readout included"
    shares = [f.network_on_chip.port_share_of_tick for f in found]
    known = [share for share in shares if share is not None]
    return f"{line}; {plain(float(f'{100 * max(known):.2g}'))} % of what they carry." if known else f"{line}."


def _overloaded_ports(report: LatencyReport) -> list[str]:
    """Name the rows whose ports are too slow for the tick, which late spikes of the mesh do not show."""
    return [
        f"{row.pattern}, {row.execution}: ports of a chip need {seconds(noc.port_seconds)} for the busiest tick, the "
        f"tick is {seconds(report.chip.tick_seconds)}: {report.sent}s come too late there."
        for row in report.rows
        if row.figures is not None and (noc := row.figures.network_on_chip).ports_exceed_tick
    ]


def _energy_line(report: LatencyReport, found: Sequence[RunFigures]) -> str:
    energy = found[0].energy
    names = ", ".join(figures_lacking(report.chip, energy.absent))
    lacking = f"; not published and missing: {names}" if names else ""
    known = [key for key, term in energy.terms.items() if term.joules_each is not None]
    if energy.joules_per_frame is None:
        if not known and "off_chip_bit_joules" not in report.chip.energy:
            return f"energy: the chip file of {report.chip.name} has no figures."
        why = f", as {', '.join(known)} are held by the fit, which the chip file does not give" if known else ""
        return f"energy: no sum{why}{lacking}."
    added = [key for key in known if energy.terms[key].included_in is None]
    held = [key for key, term in energy.terms.items() if term.included_in is not None]
    spread = energy.joules_per_frame_spread
    several = spread is not None and spread.half_width is not None
    interval = " (mean over the stimuli ± half width of its 95 % confidence interval)" if several else ""
    line = f"energy of the whole board{interval}: {', '.join(added)}"
    if held:
        line += f"; {', '.join(held)} held by these"
    return f"{line}{lacking}."


# Accuracy over ticks.


_MOST_MOMENTS = 12


def accuracy_at(found: Accuracy, moment: float) -> float | None:
    """Return the accuracy of the last frame known at a moment since the onset; ``None`` before the first."""
    known = bisect_right([frame.moment for frame in found.frames], moment)
    return found.frames[known - 1].accuracy if known else None


def accuracy_moments(report: LatencyReport) -> list[float]:
    """Choose the moments of the table: from the first frame of any row on, while all rows go on."""
    found = [row.accuracy for row in report.rows if row.accuracy is not None]
    if not found:
        return []
    last = max(min(f.frames[-1].moment for f in found), max(f.frames[0].moment for f in found))
    moments = sorted({frame.moment for f in found for frame in f.frames if frame.moment <= last})
    return moments[:_MOST_MOMENTS]


def accuracy_table(report: LatencyReport) -> Table[ReportRow] | None:
    """Make the table of accuracy at the moments of :func:`accuracy_moments`; ``None`` if no row has one."""
    rows = [row for row in distinct_rows(report) if row.accuracy is not None]
    columns = [*_NAMED, *(_at(moment, report.chip.is_timed) for moment in accuracy_moments(report))]
    return Table(columns, rows, accuracy_title(report), (0, 1), is_edged=True) if rows else None


def accuracy_title(report: LatencyReport) -> str:
    """Return the title of accuracy tables and curves, by time axis."""
    return f"Accuracy over {'time' if report.chip.is_timed else 'ticks'}"


def _at(moment: float, is_timed: bool) -> Column[ReportRow]:
    def cell(row: ReportRow) -> str:
        share = None if row.accuracy is None else accuracy_at(row.accuracy, moment)
        return "-" if share is None else f"{share:.3f}"

    return Column(f"accuracy\nafter\n{seconds(moment)}" if is_timed else f"accuracy\nat tick\n{moment:g}", cell)


def accuracy_line(report: LatencyReport) -> str | None:
    """Return the note of the accuracy table; ``None`` if there is none."""
    found = next((row.accuracy for row in report.rows if row.accuracy is not None), None)
    if found is None:
        return None
    return (
        f"accuracy: fraction of {found.n_images:,} {found.part} images of {found.data} that the last frame of "
        f"{found.output} known by then names rightly, alone; {'time' if report.chip.is_timed else 'ticks'} since the "
        "onset of the image (-: no frame yet). "
        f"The class with {'the greatest value' if found.is_graded else 'most spikes'} is named, the lowest of equals."
    )
