"""Traces as timelines for ui.perfetto.dev: frames of every node, and working ticks of every core."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.arrays.packed_rows import run_heads
from neuromap.errors import InputError
from neuromap.exchange.imported import Exported, Note
from neuromap.exchange.spike_traces import figures_of, frame_ticks, notes_of_trace, trace_given
from neuromap.files.argument_checks import needs, path_given
from neuromap.files.messages import counted
from neuromap.files.whole_file import write_whole
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program_file import load_program
from neuromap.render.numbers import as_number
from neuromap.simulation.trace.recording import node_labels
from neuromap.simulation.trace.trace import Trace

Event = dict[str, Any]
# Decimals of times in microseconds: viewers count in nanoseconds.
_DIGITS = 3


def _times(trace: Trace, tick: int) -> dict[str, float]:
    """Start and length of a tick in microseconds; slices of consecutive ticks meet and never overlap."""
    start, end = (round(t * (trace.tick_seconds or 0) * 1e6, _DIGITS) for t in (tick, tick + 1))
    return {"ts": start, "dur": round(end - start, _DIGITS)}


def _named(what: str, pid: int, tid: int, name: str) -> list[Event]:
    """Name a process or a thread; they are shown in the order of their numbers."""
    order = pid if what == "process" else tid
    said = {f"{what}_name": {"name": name}, f"{what}_sort_index": {"sort_index": order}}
    return [{"ph": "M", "name": key, "ts": 0, "pid": pid, "tid": tid, "args": args} for key, args in said.items()]


def _slice(trace: Trace, tick: int, pid: int, tid: int, name: str, says: dict[str, Any]) -> Event:
    """Make a slice of one tick on a thread."""
    return {"ph": "X", "name": name, **_times(trace, tick), "pid": pid, "tid": tid, "args": says}


def to_perfetto(trace: Trace, path: str | Path, *, program: ChipProgram | None = None) -> tuple[Note, ...]:
    """Write a trace as a timeline for ui.perfetto.dev, whole or not at all.

    All nodes form one process, with a thread and a spike counter each; every chip is a process, with a thread for each
    core that spiked. Ticks are as long as the chip's.

    Parameters
    ----------
    trace : Trace
        Trace of a run.
    path : str or Path
        Ends in ``.json`` by convention.
    program : ChipProgram, optional
        Program of the trace, which gives the chip and place of every core; without it, cores have their number only.

    Returns
    -------
    tuple of Note
        What the timeline leaves out.

    Raises
    ------
    InputError
        If there is no trace, the program is not the trace's, or the file cannot be written.
    NotSupportedError
        If the trace comes from a file of version 1.
    """
    path = path_given("to_perfetto", path)
    found = _checked(trace_given("to_perfetto", trace), program)
    shown = shown_ticks(found)
    write_whole(path, _text(found, program, shown))
    return tuple(_unsaid(found, program, shown))


def export_perfetto(source: Path, *, program: str | Path | None = None) -> Exported:
    """Convert a trace file to such a timeline, for ``neuromap export``."""
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
        refused=tuple(_unsaid(trace, loaded, shown)),
    )


def _checked(trace: Trace, program: ChipProgram | None) -> Trace:
    """Refuse a program other than the trace's: one of another run, or with other neurons on its cores."""
    if program is None:
        return trace
    needs("to_perfetto", program, ChipProgram)
    labels = {(one.name, one.pattern, one.execution, one.period) for one in (trace, program)}
    is_its = len(labels) == 1 and trace.is_timed == program.chip.is_timed
    is_its &= trace.is_timed or trace.tick_seconds == program.chip.tick_seconds
    if is_its and trace.core is not None and trace.neuron is not None:
        inside = bool(((trace.core < program.shape[0]) & (trace.neuron < program.shape[1])).all())
        is_its = inside and _are_labelled(trace, program)
    if not is_its:
        raise InputError(
            f"program {program.name} ({program.pattern}, {program.execution}): is not that of the trace, "
            f"{trace.name} ({trace.pattern}, {trace.execution}); give the one that was simulated"
        )
    return trace


def _are_labelled(trace: Trace, program: ChipProgram) -> bool:
    """Whether the program has the neurons that spiked, by node and index, where they spiked."""
    numbers = {port.name: k for k, port in enumerate(trace.nodes)}
    known = np.array([numbers.get(port.name, -1) for port in program.nodes] + [-1])
    node, index = node_labels(program)
    of_node = known[node[trace.core, trace.neuron]]
    same = (of_node == trace.node) & (index[trace.core, trace.neuron] == trace.index)
    return bool((same | (trace.node < 0)).all())


def _text(trace: Trace, program: ChipProgram | None, shown: Shown) -> str:
    """Write a file: facts about the run, then one event per line."""
    about = {
        "network": trace.name,
        "pattern": trace.pattern,
        "execution": trace.execution,
        "frame_period_ticks": as_number(trace.period),
        "tick_seconds": trace.tick_seconds,
        "ticks_are_timed": trace.is_timed,
        "frames": trace.n_frames,
        "ticks": trace.n_ticks,
        "ticks_shown": shown.n_ticks,
        "events_left_out": shown.left_out,
    }
    events = events_of(trace, program, shown.n_ticks)
    lines = ",\n".join(json.dumps(event, allow_nan=False, separators=(",", ":")) for event in events)
    said = json.dumps(about, allow_nan=False)
    return f'{{"displayTimeUnit":"ms","otherData":{said},"traceEvents":[\n{lines}\n]}}\n'


def _unsaid(trace: Trace, program: ChipProgram | None, shown: Shown) -> Iterator[Note]:
    if shown.left_out:
        text = f"{counted(shown.left_out, 'event')} from tick {shown.n_ticks} on are left out"
        way = "simulate fewer frames, or record fewer neurons"
        yield Note("ticks", f"{text}; a file has at most {MAX_EVENTS:,}", way)
    if trace.potential_table is not None:
        yield Note("potentials", "are left out", "to_neo and the trace's own file have them")
    if program is None:
        text = "have their number only: a trace does not say where they are"
        yield Note("cores", text, "give the program too")
    yield from notes_of_trace(trace)


# What a timeline shows of a trace: frames of nodes, ticks of cores, spikes per tick.


# Most events of a file: about 70 MB, which a browser still opens.
MAX_EVENTS = 500_000
# Most neurons that a slice names; it counts them all.
_NEURONS_NAMED = 32
# Process number of the nodes; those of chips follow.
_NODES = 1


class Shown(NamedTuple):
    """Part of a run that a timeline shows."""

    n_ticks: int  # ticks from 0 on that are shown
    left_out: int  # events of later ticks


def shown_ticks(trace: Trace, most: int = MAX_EVENTS) -> Shown:
    """Find how many ticks fit into a file of ``most`` events, not counting names of processes and threads."""
    marks = [*(frame_ticks(trace, node)[1] for node in range(len(trace.nodes))), _core_ticks(trace)[1]]
    for node in range(len(trace.nodes)):
        marks += [_counter_steps(trace, node)[0], *_strays(trace, node)[:1]]
    every = np.sort(np.concatenate(marks)) if marks else np.zeros(0, np.int64)
    if len(every) <= most:
        return Shown(trace.n_ticks, 0)
    n_ticks = int(every[most])  # this tick no longer fits as a whole
    return Shown(n_ticks, int((every >= n_ticks).sum()))


def events_of(trace: Trace, program: ChipProgram | None, n_ticks: int) -> Iterator[Event]:
    """Make the events of the first ticks of a run."""
    cores = np.unique(trace.core[trace.tick < n_ticks]) if trace.core is not None else np.zeros(0, np.int32)
    chip = _chips(program, cores)
    pids = {name: _NODES + 1 + k for k, name in enumerate(sorted(set(chip), key=chip.index))}
    first = _NODES + 1 + len(pids)  # thread numbers differ from process numbers
    label = f" ({trace.pattern}, {trace.execution})" if trace.pattern else ""
    yield from _named("process", _NODES, 0, f"nodes of {trace.name}{label}")
    for name, pid in pids.items():
        yield from _named("process", pid, 0, name)
    for node, port in enumerate(trace.nodes):
        yield from _named("thread", _NODES, first + node, f"node {port.name} ({port.kind})")
    tids = {int(core): (pids[chip[k]], first + len(trace.nodes) + k) for k, core in enumerate(cores)}
    for core, (pid, tid) in tids.items():
        at = "" if program is None else f" at ({', '.join(map(str, program.coordinates[core]))})"
        yield from _named("thread", pid, tid, f"core {core}{at}")
    for node in range(len(trace.nodes)):
        yield from _node_events(trace, node, first + node, n_ticks)
    yield from _core_events(trace, tids, n_ticks)


def _chips(program: ChipProgram | None, cores: NDArray[np.int32]) -> list[str]:
    """Name the chip of every core by its column and row."""
    if program is None:
        return ["chip"] * len(cores)
    place = program.coordinates[cores] // np.array(program.chip.cores)
    if program.chip.chips == (1, 1):
        return [f"chip {program.chip.name}"] * len(cores)
    return [f"chip ({x}, {y}) of {program.chip.name}" for x, y in place]


def _core_ticks(trace: Trace) -> tuple[Ints, Ints, Ints]:
    """Order of spikes by tick and core; for every tick in which a core spikes, the tick and its start in that order."""
    assert trace.core is not None
    order = np.lexsort((trace.core, trace.tick))
    tick, core = trace.tick[order], trace.core[order]
    head = np.flatnonzero(run_heads(tick, core))
    return order, tick[head], head


def _counter_steps(trace: Trace, node: int) -> tuple[Ints, Ints]:
    """Return the ticks at which a node's spikes per tick change, and the new numbers of spikes."""
    tick, count = np.unique(trace.spikes(trace.nodes[node].name)[:, 0], return_counts=True)
    silent = np.setdiff1d(tick + 1, tick)
    ticks = np.concatenate([tick, silent])
    counts = np.concatenate([count, np.zeros(len(silent), np.int64)])
    order = np.argsort(ticks)
    ticks, counts = ticks[order], counts[order]
    changes = (np.diff(counts, prepend=0) != 0) & (ticks < trace.n_ticks)
    return ticks[changes], counts[changes]


def _strays(trace: Trace, node: int) -> Any:
    """Return the ticks with spikes of a node that belong to no frame, and their numbers."""
    return np.unique(trace.strays(trace.nodes[node].name)[:, 0], return_counts=True)


def _node_events(trace: Trace, node: int, tid: int, n_ticks: int) -> Iterator[Event]:
    port = trace.nodes[node]
    tick, index = trace.spikes(port.name).T
    frames, at = frame_ticks(trace, node)
    begin, end = np.searchsorted(tick, at), np.searchsorted(tick, at, side="right")
    for i, t, a, b in zip(frames[at < n_ticks], at, begin, end, strict=False):
        says = {"frame": int(i), "tick": int(t), "spikes": int(b - a), "neurons": _few(map(str, index[a:b]), b - a)}
        yield _slice(trace, int(t), _NODES, tid, f"frame {i}", says)
    for t, n in zip(*_strays(trace, node), strict=True):
        if t < n_ticks:
            name = f"{counted(int(n), 'spike')} of no frame"
            at_tick = {"ts": _times(trace, int(t))["ts"], "pid": _NODES, "tid": tid}
            yield {"ph": "i", "s": "t", "name": name, **at_tick, "args": {"tick": int(t)}}
    for t, n in zip(*_counter_steps(trace, node), strict=True):
        if t < n_ticks:
            says, name = {"spikes per tick": int(n)}, f"node {port.name}"
            yield {"ph": "C", "name": name, "ts": _times(trace, int(t))["ts"], "pid": _NODES, "args": says}


def _core_events(trace: Trace, tids: dict[int, tuple[int, int]], n_ticks: int) -> Iterator[Event]:
    assert trace.core is not None
    assert trace.neuron is not None
    order, ticks, head = _core_ticks(trace)
    end = np.append(head, len(order))[1:]
    names = [port.name for port in trace.nodes]
    for t, a, b in zip(ticks, head, end, strict=True):
        if t >= n_ticks:
            return
        mine = order[a:b]
        pid, tid = tids[int(trace.core[mine[0]])]
        spoken = (
            f"{names[trace.node[k]]}[{trace.index[k]}]" if trace.node[k] >= 0 else f"neuron {trace.neuron[k]}"
            for k in mine
        )
        says = {"tick": int(t), "spikes": int(b - a), "neurons": _few(spoken, b - a)}
        yield _slice(trace, int(t), pid, tid, counted(int(b - a), "spike"), says)


def _few(names: Iterator[str], n_names: int) -> str:
    """Name the first neurons, and count the others."""
    first = [name for name, _ in zip(names, range(_NEURONS_NAMED), strict=False)]
    return ", ".join(first) + (f" and {n_names - len(first)} more" if n_names > len(first) else "")
