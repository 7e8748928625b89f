"""A bench as JSON, with its published schema (``bench.schema.json``)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from neuromap.bench.bench_report import TIME_AXIS, BenchReport, BenchRun, InCache, Timing
from neuromap.forms.documents import json_text
from neuromap.forms.schemas import load_schema

BENCH_SCHEMA_ID = "neuromap-bench-1"
"""What the member ``format`` of a bench says."""


def bench_schema() -> dict[str, Any]:
    """Load the JSON Schema (draft 2020-12) that every bench follows."""
    return load_schema("bench")


def bench_to_dict(report: BenchReport) -> dict[str, Any]:
    """Make the JSON-ready form of a bench."""
    return {
        "format": BENCH_SCHEMA_ID,
        "neuromap_version": report.version,
        "date": report.date,
        "machine": asdict(report.machine),
        "caches": None if report.caches is None else asdict(report.caches),
        "engine": report.engine,
        "rounds": report.rounds,
        "scaling": report.scaling,
        "time_axis": dict(TIME_AXIS),
        "runs": [_run(run) for run in report.runs],
    }


def _run(run: BenchRun) -> dict[str, Any]:
    return {
        "program": run.name,
        "chip": run.chip,
        "settings": dict(run.settings) or None,
        "cores": run.cores,
        "neurons": run.neurons,
        "synapses": run.synapses,
        "tick_seconds": run.tick_seconds,
        "rate_hz": run.rate_hz,
        "ticks_per_round": run.ticks_per_round,
        "per_tick": asdict(run.activity),
        "program_bytes": run.program_bytes,
        "hot_bytes": run.hot_bytes,
        "hot_bytes_per_core": None if run.hot_bytes is None else run.hot_bytes / run.cores,
        "bytes_per_tick": run.bytes_per_tick,
        "in_cache": None if run.in_cache is None else _in_cache(run.in_cache),
        "timings": [_timing(run, timing) for timing in run.timings],
    }


def _timing(run: BenchRun, timing: Timing) -> dict[str, Any]:
    return {
        "threads": timing.threads,
        "wall_seconds_per_tick": asdict(timing.tick),
        "cpu_seconds_per_tick": asdict(timing.cpu),
        "real_time_factor": run.real_time_factor(timing),
        "speed_up": run.speed_up(timing),
        "synaptic_events_per_wall_second": run.synaptic_events_per_second(timing),
        "load_seconds": timing.load_seconds,
        "compile_seconds": timing.compile_seconds,
        "bandwidth_bytes_per_second": {**asdict(timing.bandwidth), "best": timing.bandwidth.best},
        "memory_limit_seconds_per_tick": run.limit_seconds(timing),
        "distance_to_memory_limit": run.distance(timing),
        "in_cache_seconds_per_tick": run.in_cache_seconds(timing),
        "distance_to_time_in_cache": run.distance_to_cache(timing),
    }


def _in_cache(found: InCache) -> dict[str, Any]:
    return {"cores": found.cores, "hot_bytes": found.hot_bytes, "wall_seconds_per_visit": asdict(found.visit)}


def bench_to_json(report: BenchReport) -> str:
    """Write a bench as JSON text."""
    return json_text(bench_to_dict(report))
