"""Forms of a bench: text, JSON, notebook table; figures have units, and times are accompanied by ratios."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from neuromap.bench import bench_report
from neuromap.files.messages import counted
from neuromap.render import document as doc
from neuromap.render.numbers import plain, seconds
from neuromap.render.table import Column, Table, print_rest, printed, text_table

if TYPE_CHECKING:
    from rich.console import Console


class _Timed(NamedTuple):
    """A timing with its run."""

    run: bench_report.BenchRun
    timing: bench_report.Timing


def _timed(run: bench_report.BenchRun) -> list[_Timed]:
    return [_Timed(run, timing) for timing in run.timings]


_SPREAD = doc.define("spread", doc.record_of(bench_report.Spread, low=doc.AMOUNT, median=doc.AMOUNT, high=doc.AMOUNT))
_MAYBE = doc.AMOUNT.or_null
_TIMING = doc.record(
    threads=doc.POSITIVE(at="timing.threads"),
    wall_seconds_per_tick=_SPREAD(at="timing.tick"),
    cpu_seconds_per_tick=_SPREAD(at="timing.cpu"),
    real_time_factor=doc.RATE(at=lambda of: of.run.real_time_factor(of.timing)),
    speed_up=doc.RATE(at=lambda of: of.run.speed_up(of.timing)),
    synaptic_events_per_wall_second=doc.AMOUNT(at=lambda of: of.run.synaptic_events_per_second(of.timing)),
    load_seconds=doc.AMOUNT(at="timing.load_seconds"),
    compile_seconds=doc.AMOUNT.or_null(at="timing.compile_seconds"),
    bandwidth_bytes_per_second=doc.record(read=doc.RATE, update=doc.RATE, best=doc.RATE)(at="timing.bandwidth"),
    memory_limit_seconds_per_tick=_MAYBE(at=lambda of: of.run.limit_seconds(of.timing)),
    distance_to_memory_limit=_MAYBE(at=lambda of: of.run.distance(of.timing)),
    in_cache_seconds_per_tick=_MAYBE(at=lambda of: of.run.in_cache_seconds(of.timing)),
    distance_to_time_in_cache=_MAYBE(at=lambda of: of.run.distance_to_cache(of.timing)),
)
_RUN = doc.record(
    program=doc.TEXT(at="name"),
    chip=doc.TEXT,
    settings=doc.OBJECT.or_null(at=lambda run: dict(run.settings) or None),
    cores=doc.POSITIVE,
    neurons=doc.POSITIVE,
    synapses=doc.COUNT,
    tick_seconds=doc.RATE,
    rate_hz=doc.AMOUNT,
    ticks_per_round=doc.POSITIVE,
    per_tick=doc.record_of(
        bench_report.Activity,
        spikes=doc.AMOUNT,
        axon_events=doc.AMOUNT,
        synaptic_events=doc.AMOUNT,
        visits=doc.AMOUNT.or_null,
    )(at="activity"),
    program_bytes=doc.POSITIVE,
    hot_bytes=doc.COUNT.or_null,
    hot_bytes_per_core=doc.AMOUNT.or_null(at=lambda run: None if run.hot_bytes is None else run.hot_bytes / run.cores),
    bytes_per_tick=doc.AMOUNT.or_null,
    in_cache=doc.record(cores=doc.POSITIVE, hot_bytes=doc.COUNT, wall_seconds_per_visit=_SPREAD(at="visit")).or_null,
    timings=doc.each(doc.define("timing", _TIMING), minItems=1)(at=_timed),
)
DOCUMENT = doc.document(
    "bench",
    format=doc.const("neuromap-bench-1"),
    neuromap_version=doc.TEXT(at="version"),
    date=doc.TEXT,
    machine=doc.record_of(
        bench_report.Machine, cpus=doc.POSITIVE, memory_bytes=doc.INTEGER.or_null, cache_bytes=doc.INTEGER.or_null
    ),
    caches=doc.record_of(bench_report.Caches).or_null,
    engine=doc.TEXT,
    rounds=doc.POSITIVE,
    scaling=doc.TEXT.or_null,
    time_axis=doc.record(tick_seconds=doc.TEXT, wall=doc.TEXT, cpu=doc.TEXT)(at=lambda _: bench_report.TIME_AXIS),
    runs=doc.each(doc.define("run", _RUN), minItems=1),
)
# Conversion to plain values.
to_dict = DOCUMENT.of


_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_NOT_KNOWN = "n/a"


def with_prefix(value: float | None) -> str:
    """Write a figure with three digits and a decimal prefix, such as 2.68 M; ``n/a`` for ``None``."""
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


def _once(spent: float, timing: bench_report.Timing) -> str:
    """Write a time spent once, with the equivalent number of ticks."""
    return f"{spent:.3g} = {_count(spent / timing.tick.median)} ticks"


def _compiled(timing: bench_report.Timing) -> str:
    if timing.compile_seconds is None:
        return _NOT_KNOWN
    return "from cache" if timing.compile_seconds == 0 else _once(timing.compile_seconds, timing)


def _quartiles(spread: bench_report.Spread) -> str:
    return f"{_milliseconds(spread.low)} to {_milliseconds(spread.high)}"


def _figures(run: bench_report.BenchRun) -> list[tuple[str, str, Callable[[bench_report.Timing], str]]]:
    """Return name, unit and formatter of every figure of a timing."""
    first = counted(run.timings[0].threads, "thread")
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


def _run_table(run: bench_report.BenchRun) -> Table[Sequence[str]]:
    heads = ["figure", "unit", *(counted(timing.threads, "thread") for timing in run.timings)]
    return text_table(heads, [(name, unit, *map(write, run.timings)) for name, unit, write in _figures(run)], (0, 1))


# Most numbers of threads with their own columns in a brief table.
_SIDE_BY_SIDE = 2
_SCALING: tuple[Column[_Timed], ...] = (
    Column("cores", lambda of: f"{of.run.cores}"),
    Column("rate\n[Hz]", lambda of: f"{of.run.rate_hz:.3g}"),
    Column(
        "cores\nvisited",
        lambda of: _NOT_KNOWN if of.run.activity.visits is None else f"{of.run.activity.visits:.4g}",
        rank=9,
    ),
    Column("threads", lambda of: f"{of.timing.threads}"),
    Column("time per\ntick [ms]", lambda of: _milliseconds(of.timing.tick.median)),
    Column("quartiles\n[ms]", lambda of: _quartiles(of.timing.tick), rank=2),
    Column("real-time\nfactor", lambda of: _ratio(of.run.real_time_factor(of.timing))),
    Column("synaptic\nevents/s", lambda of: _count(of.run.synaptic_events_per_second(of.timing))),
    Column(
        "hot bytes\nper core",
        lambda of: _NOT_KNOWN if of.run.hot_bytes is None else f"{of.run.hot_bytes / of.run.cores:.5g}",
        rank=9,
    ),
    Column("limit by\nmemory [ms]", lambda of: _milliseconds(of.run.limit_seconds(of.timing)), rank=2),
    Column("time /\nlimit", lambda of: _ratio(of.run.distance(of.timing))),
    Column("time in\ncache [ms]", lambda of: _milliseconds(of.run.in_cache_seconds(of.timing)), rank=2),
    Column("time /\nin cache", lambda of: _ratio(of.run.distance_to_cache(of.timing)), rank=2),
)


def scaling_table(report: bench_report.BenchReport) -> Table[_Timed]:
    """Return a table with one row per program and number of threads; times are wall clock."""
    return Table(_SCALING, [of for run in report.runs for of in _timed(run)], repeated=(0, 1, 3))


def to_notebook(report: bench_report.BenchReport) -> str:
    """Write the table of a bench as HTML: one row per program and number of threads; times are wall clock."""
    return scaling_table(report).html(f"engine {report.engine}; {machine_line(report.machine)}; {report.date}", names=0)


def machine_line(machine: bench_report.Machine) -> str:
    """Describe the machine in one line."""
    parts = [f"{machine.cpu}, {machine.cpus} CPU{'s' if machine.cpus != 1 else ''}"]
    if machine.memory_bytes is not None:
        parts.append(f"{machine.memory_bytes / 2**30:.3g} GiB")
    if machine.cache_bytes is not None:
        parts.append(f"last-level cache {machine.cache_bytes / 2**20:.3g} MiB")
    parts.append(f"Python {machine.python}, NumPy {machine.numpy}" + (f", Numba {machine.numba}" * bool(machine.numba)))
    return "; ".join(parts)


def _in_cache_line(found: bench_report.InCache) -> str:
    return (
        f"in cache: {counted(found.cores, 'core')} of this kind, {_bytes(found.hot_bytes)} hot, take "
        f"{found.visit.median * 1e9:.3g} ns of wall clock per core and tick on 1 thread"
    )


def _run_lines(run: bench_report.BenchRun) -> list[str]:
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


def _notes(report: bench_report.BenchReport) -> Iterator[str]:
    load = report.machine.load_average
    cache = report.machine.cache_bytes if report.caches is None else report.caches.last_bytes
    if any(cache and run.hot_bytes is not None and run.hot_bytes < cache for run in report.runs):
        yield "Hot memory below the size of the caches: there the limit by memory can be passed."
    if load is not None and load >= 0.5:
        yield f"Load average {load:.2g} before the start: others were at work, trust ratios and not times."


def print_bench(report: bench_report.BenchReport, console: Console, *, every: bool = True) -> None:
    """Print tables and notes, with all columns or only the main ones."""
    from rich.text import Text

    def line(text: str) -> None:
        console.print(Text(text), highlight=False)

    line(f"{machine_line(report.machine)}; {report.date}")
    if report.caches is not None:
        near, last = (f"{size / 2**20:.3g} MiB" for size in (report.caches.near_bytes, report.caches.last_bytes))
        line(f"caches, measured on 1 thread: {near} near, {last} in all")
    ticks = ", ".join(dict.fromkeys(str(run.ticks_per_round) for run in report.runs))
    line(f"engine {report.engine}; {report.rounds} rounds of {ticks} ticks, all in turn; medians over the rounds")
    run = report.runs[0]
    several = [f"1 tick = {seconds(run.tick_seconds)} of network time; times are wall clock"]
    for text in _run_lines(run) if len(report.runs) == 1 else several:
        line(text)
    if len(report.runs) == 1 and (every or len(run.timings) <= _SIDE_BY_SIDE):
        _run_table(run).print(console)
    else:
        table = scaling_table(report)
        table.print(console, brief=not every)
        if left := [] if every else table.left_out(console.width):
            print_rest(console, left, "--all or --json")
    for text in _notes(report):
        line(text)


def render_text(report: bench_report.BenchReport, width: int = 160) -> str:
    """Write a bench as text."""
    return printed(lambda console: print_bench(report, console), width)
