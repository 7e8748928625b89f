"""A bench as a table in a notebook."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from neuromap.bench.bench_report import BenchReport, BenchRun, Caches, InCache, Machine, Spread, Timing
from neuromap.files.messages import counted
from neuromap.forms.card import html_table
from neuromap.forms.numbers import plain, seconds
from neuromap.forms.tables import Column, columns_in_blocks, new_table, printed

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def bench_to_notebook(report: BenchReport) -> str:
    """Write the table of a bench as HTML: one row for every program and number of threads; times are wall clock."""
    caption = f"engine {report.engine}; {machine_line(report.machine)}; {report.date}"
    return html_table(caption, [Column(header) for header in scaling_columns()], scaling_rows(report), names=0)


# A bench as tables in the terminal: every figure with its unit, every time beside a ratio.


_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_NOT_KNOWN = "n/a"


def with_prefix(value: float | None) -> str:
    """Write a figure in three digits with a decimal prefix: 2.68 M; ``n/a`` for ``None``."""
    if value is None:
        return _NOT_KNOWN
    for scale, prefix in _PREFIXES:
        if abs(value) >= scale * (1 - 0.5e-3):
            return f"{value / scale:.3g} {prefix}"
    return f"{value:.3g} "


def _count(value: float) -> str:
    return with_prefix(value).rstrip()


def _bytes(value: float | None) -> str:
    return _NOT_KNOWN if value is None else f"{with_prefix(value)}B"


def _milliseconds(value: float | None) -> str:
    return _NOT_KNOWN if value is None else f"{value * 1e3:.3g}"


def _ratio(value: float | None) -> str:
    return _NOT_KNOWN if value is None else f"{value:.3g}"


def _once(spent: float, timing: Timing) -> str:
    """Write a time that is spent once, with the number of ticks that it is worth."""
    return f"{spent:.3g} = {_count(spent / timing.tick.median)} ticks"


def _compiled(timing: Timing) -> str:
    if timing.compile_seconds is None:
        return _NOT_KNOWN
    return "from cache" if timing.compile_seconds == 0 else _once(timing.compile_seconds, timing)


def _quartiles(spread: Spread) -> str:
    return f"{_milliseconds(spread.low)} to {_milliseconds(spread.high)}"


def _figures(run: BenchRun) -> list[tuple[str, str, Callable[[Timing], str]]]:
    """Name, unit and how to write it, of every figure of a timing."""
    first = "1 thread" if run.timings[0].threads == 1 else f"{run.timings[0].threads} threads"
    return [
        ("time per tick, median", "ms, wall clock", lambda t: _milliseconds(t.tick.median)),
        ("  quartiles over the rounds", "ms, wall clock", lambda t: _quartiles(t.tick)),
        ("real-time factor", f"tick of {seconds(run.tick_seconds)} / time", lambda t: _ratio(run.real_time_factor(t))),
        ("speed-up", f"over {first}", lambda t: _ratio(run.speed_up(t))),
        ("synaptic events", "per second, wall clock", lambda t: _count(run.synaptic_events_per_second(t))),
        ("CPU time of all threads", "per wall clock", lambda t: _ratio(t.cpu.median / t.tick.median)),
        ("load time", "s, wall clock", lambda t: _once(t.load_seconds, t)),
        ("compile time", "s, wall clock", _compiled),
        ("memory bandwidth, read", "GB/s", lambda t: _ratio(t.bandwidth.read / 1e9)),
        ("memory bandwidth, update", "GB/s", lambda t: _ratio(t.bandwidth.update / 1e9)),
        ("limit by memory", "ms per tick", lambda t: _milliseconds(run.limit_seconds(t))),
        ("distance to the limit", "time / limit", lambda t: _ratio(run.distance(t))),
        ("time in cache", "ms per tick", lambda t: _milliseconds(run.in_cache_seconds(t))),
        ("distance to time in cache", "time / time in cache", lambda t: _ratio(run.distance_to_cache(t))),
    ]


def _run_table(run: BenchRun) -> Table:
    table = new_table("figure", "unit", *(_threads(timing) for timing in run.timings), left=2)
    for name, unit, write in _figures(run):
        table.add_row(name, unit, *(write(timing) for timing in run.timings))
    return table


def _threads(timing: Timing) -> str:
    return "1 thread" if timing.threads == 1 else f"{timing.threads} threads"


def scaling_columns() -> tuple[str, ...]:
    """Headers of :func:`scaling_rows`, with units."""
    return (
        "cores",
        "rate\n[Hz]",
        "cores\nvisited",
        "threads",
        "time per\ntick [ms]",
        "quartiles\n[ms]",
        "real-time\nfactor",
        "synaptic\nevents/s",
        "hot bytes\nper core",
        "limit by\nmemory [ms]",
        "time /\nlimit",
        "time in\ncache [ms]",
        "time /\nin cache",
    )


def scaling_rows(report: BenchReport) -> list[tuple[str, ...]]:
    """Give one row for every program and number of threads; times are wall clock."""
    return [
        (
            f"{run.cores}",
            f"{run.rate_hz:.3g}",
            _NOT_KNOWN if run.activity.visits is None else f"{run.activity.visits:.4g}",
            f"{timing.threads}",
            _milliseconds(timing.tick.median),
            _quartiles(timing.tick),
            _ratio(run.real_time_factor(timing)),
            _count(run.synaptic_events_per_second(timing)),
            _NOT_KNOWN if run.hot_bytes is None else f"{run.hot_bytes / run.cores:.5g}",
            _milliseconds(run.limit_seconds(timing)),
            _ratio(run.distance(timing)),
            _milliseconds(run.in_cache_seconds(timing)),
            _ratio(run.distance_to_cache(timing)),
        )
        for run in report.runs
        for timing in run.timings
    ]


def machine_line(machine: Machine) -> str:
    """Say in one line what figures were taken on."""
    parts = [f"{machine.cpu}, {machine.cpus} CPU{'s' if machine.cpus != 1 else ''}"]
    if machine.memory_bytes is not None:
        parts.append(f"{machine.memory_bytes / 2**30:.3g} GiB")
    if machine.cache_bytes is not None:
        parts.append(f"last-level cache {machine.cache_bytes / 2**20:.3g} MiB")
    parts.append(f"Python {machine.python}, NumPy {machine.numpy}" + (f", Numba {machine.numba}" * bool(machine.numba)))
    return "; ".join(parts)


def _caches_line(caches: Caches) -> str:
    """Say what was measured of the caches."""
    near, last = (f"{size / 2**20:.3g} MiB" for size in (caches.near_bytes, caches.last_bytes))
    return f"caches, measured on 1 thread: {near} near, {last} in all"


def _in_cache_line(found: InCache) -> str:
    return (
        f"in cache: {counted(found.cores, 'core')} of this kind, {_bytes(found.hot_bytes)} hot, take "
        f"{found.visit.median * 1e9:.3g} ns of wall clock per core and tick on 1 thread"
    )


def _run_lines(run: BenchRun) -> list[str]:
    done = run.activity
    visited = "" if done.visits is None else f", {plain(round(done.visits, 1))} of {counted(run.cores, 'core')} visited"
    moved = f"bytes moved per tick: {_bytes(run.bytes_per_tick)}"
    per_core = _NOT_KNOWN if run.hot_bytes is None else f"{run.hot_bytes / run.cores:.5g} bytes per core"
    return [
        f"{run.name} on {run.chip}: {counted(run.cores, 'core')}, {counted(run.neurons, 'neuron')}, "
        f"{_count(run.synapses)} synapses; "
        f"1 tick = {seconds(run.tick_seconds)} of network time",
        f"per tick: {plain(round(done.spikes, 1))} spikes ({run.rate_hz:.3g} Hz of network time), "
        f"{plain(round(done.axon_events, 1))} axon events, {_count(done.synaptic_events)} synaptic events{visited}",
        f"memory: {_bytes(run.hot_bytes)} hot, {per_core}; program {_bytes(run.program_bytes)}; {moved}",
        *([] if run.in_cache is None else [_in_cache_line(run.in_cache)]),
    ]


def _notes(report: BenchReport) -> list[str]:
    notes = []
    cache = report.machine.cache_bytes if report.caches is None else report.caches.last_bytes
    load = report.machine.load_average
    small = [run for run in report.runs if cache and run.hot_bytes is not None and run.hot_bytes < cache]
    if small:
        notes.append("Hot memory below the size of the caches: there the limit by memory can be passed.")
    if load is not None and load >= 0.5:
        notes.append(f"Load average {load:.2g} before the start: others were at work, trust ratios and not times.")
    return notes


def print_bench(report: BenchReport, console: Console) -> None:
    """Print the tables with what they hold for."""
    from rich.text import Text

    def line(text: str) -> None:
        console.print(Text(text), highlight=False)

    line(f"{machine_line(report.machine)}; {report.date}")
    if report.caches is not None:
        line(_caches_line(report.caches))
    ticks = ", ".join(dict.fromkeys(str(run.ticks_per_round) for run in report.runs))
    line(f"engine {report.engine}; {report.rounds} rounds of {ticks} ticks, all in turn; medians over the rounds")
    if len(report.runs) == 1:
        for text in _run_lines(report.runs[0]):
            line(text)
        console.print(_run_table(report.runs[0]))
    else:
        run = report.runs[0]
        line(f"1 tick = {seconds(run.tick_seconds)} of network time; times are wall clock")
        rows = scaling_rows(report)
        for columns in columns_in_blocks(scaling_columns(), rows, console.width, gap=3, repeated=(0, 1, 3)):
            table = new_table(*(scaling_columns()[k] for k in columns), left=0)
            for row in rows:
                table.add_row(*(row[k] for k in columns))
            console.print(table)
    for text in _notes(report):
        line(text)


def bench_to_text(report: BenchReport, width: int = 160) -> str:
    """Print a bench into a string."""
    return printed(lambda console: print_bench(report, console), width)
