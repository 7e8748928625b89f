"""Output of ``neuromap simulate``: one run or a batch of stimuli, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import neuromap as nm
from neuromap.arrays.times import largest_gap
from neuromap.cli.printing.text_output import print_line, print_written, text_console
from neuromap.files.messages import counted
from neuromap.render.numbers import as_number, intervals, seconds
from neuromap.render.table import print_rest, text_table

if TYPE_CHECKING:
    from neuromap.hardware.program.chip_program import ChipProgram
    from neuromap.hardware.program.ports import NodePort
    from neuromap.simulation.trace.trace import FrameCounts, Trace

_ROWS_SHOWN = 20


def run_object(program: ChipProgram, counts: FrameCounts, trace: Trace | None, output: str | None) -> dict[str, Any]:
    """Return the JSON form of a run; without its trace (which is in an HDF5 file), single neurons are not listed."""
    nodes = {}
    for port, spikes, strays in zip(counts.nodes, counts.spikes, counts.strays, strict=True):
        frames = None if trace is None else trace.frames(port.name)
        spiking = None if frames is None else [row.nonzero()[0].tolist() for row in frames]
        values = None if frames is None or frames.dtype == bool else [row[row != 0].tolist() for row in frames]
        nodes[port] = {
            "size": port.size,
            "spikes": int(spikes.sum()),
            "spikes_per_frame": spikes.tolist(),
            "spiking_neurons_per_frame": spiking,
            **({} if values is None else {"values_per_frame": values}),
            "stray_spikes": int(strays),
            "frame_0_tick": port.tick(program.period, 0),
        }
    length = {"frames": counts.n_frames, "ticks": counts.n_ticks}
    return _object(program, length, nodes, {"recorded_spikes": counts.n_events, "file": output})


def batch_object(program: ChipProgram, batch: nm.simulation.Batch, output: str | None) -> dict[str, Any]:
    """Return the JSON form of a batch."""
    nodes = {}
    for port in batch.nodes:
        counts = batch.counts(port.name)
        nodes[port] = {
            "size": port.size,
            "spikes": int(counts.sum()),
            "spikes_per_neuron": counts.tolist(),
            "stray_spikes": batch.strays(port.name).tolist(),
        }
    length = {"stimuli": len(batch), "frames": batch.n_frames, "ticks": batch.n_ticks}
    return _object(program, length, nodes, {"file": output})


def _object(
    program: ChipProgram, length: dict[str, int], nodes: dict[NodePort, dict[str, Any]], last: dict[str, Any]
) -> dict[str, Any]:
    return {
        "network": program.name,
        "chip": program.chip.name,
        "pattern": program.pattern,
        "execution": program.execution,
        "frame_period_ticks": as_number(program.period),
        **intervals(program.period),
        "tick_seconds": None if program.chip.is_timed else program.chip.tick_seconds,
        **length,
        "outputs": {port.name: figures for port, figures in nodes.items() if port.kind == "output"},
        "hidden": {port.name: figures for port, figures in nodes.items() if port.kind == "hidden"},
        **last,
    }


def print_run(program: ChipProgram, counts: FrameCounts, trace: Trace | None, output: str | None) -> None:
    """Print spikes by frame, and totals; without a trace, the output is an HDF5 file."""
    spikes, sent = dict(zip(counts.nodes, counts.spikes, strict=True)), _sent(program)
    n_frames = counted(counts.n_frames - 1, "frame")
    _print(
        program,
        f"{counted(counts.n_frames, 'frame')}, {counted(counts.n_ticks, 'tick')}",
        ["frame", *(f"{sent}s of {port.name}\nat tick" for port in spikes)] if spikes else [],
        [
            (f"{frame}", *(f"{row[frame]} at {port.tick(program.period, frame)}" for port, row in spikes.items()))
            for frame in range(1, min(counts.n_frames, _ROWS_SHOWN + 1))
        ],
        f"{counts.n_frames - 1 - _ROWS_SHOWN} more frames" if counts.n_frames > _ROWS_SHOWN + 1 else "",
        {port: (row.sum(), n_frames, n) for (port, row), n in zip(spikes.items(), counts.strays.tolist(), strict=True)},
        output,
    )
    if output is not None and program.chip.is_timed and trace is None:
        length = seconds(program.chip.tick_seconds)
        line = f"its timestamps count every tick as {length}; on this chip ticks last as long as their work"
        text_console().print(line)


def print_batch(program: ChipProgram, batch: nm.simulation.Batch, output: str | None) -> None:
    """Print spikes by stimulus, and totals."""
    sent, n_stimuli = _sent(program), counted(len(batch), "stimulus", "stimuli")
    counts = {port: batch.counts(port.name).sum(axis=1) for port in batch.nodes}
    where = f"{n_stimuli} of {counted(batch.n_frames - 1, 'frame')}"
    _print(
        program,
        f"{n_stimuli} of {counted(batch.n_frames, 'frame')}, {counted(batch.n_ticks, 'tick')} each",
        ["stimulus", *(f"{sent}s\nof {port.name}" for port in counts)],
        [(f"{k}", *(f"{row[k]}" for row in counts.values())) for k in range(min(len(batch), _ROWS_SHOWN))],
        f"{len(batch) - _ROWS_SHOWN} more stimuli" if len(batch) > _ROWS_SHOWN else "",
        {port: (row.sum(), where, batch.strays(port.name).sum()) for port, row in counts.items()},
        output,
    )


def _print(
    program: ChipProgram,
    length: str,
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    more: str,
    totals: Mapping[NodePort, tuple[int, str, int]],
    output: str | None,
) -> None:
    """Print a column per node, as many as fit; spikes of every node, where, and strays; and what is not recorded."""
    from neuromap.hardware.program.ports import left_out_line

    console, period = text_console(), program.period
    pace = f"one frame every {counted(period, 'tick')}"
    if period.denominator > 1:
        gap = largest_gap(period)
        pace = f"{period.denominator} frames every {period.numerator} ticks, {gap} or less apart"
    label = f"{program.pattern}, {program.execution}" if program.pattern else "by hand"
    console.print(f"{program.name} ({label}) on {program.chip.name}: {length}, {pace}", markup=False)
    if headers:
        table = text_table(headers, rows, (), repeated=(0,))
        table.print(console, brief=True)
        if left := table.left_out(console.width):
            print_rest(console, left, "--json or -o")
    if more:
        console.print(f"{more}: see --json or -o")
    for port, (n_spikes, where, n_strays) in totals.items():
        of = f"{counted(n_spikes, _sent(program))} of {counted(port.size, 'neuron')}"
        console.print(f"{port.name}: {of} in {where}, {n_strays} outside frames", markup=False)
    if program.left_out and any(port.kind == "hidden" for port in totals):
        print_line(console, left_out_line(program.nodes, program.left_out))
    print_written(console, output)


def _sent(program: ChipProgram) -> str:
    return "spike" if program.value_ranges is None else "message"
