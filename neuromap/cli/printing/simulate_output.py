"""Output of ``neuromap simulate``: one run or a batch of stimuli, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import neuromap as nm
from neuromap.arrays.times import Time, largest_gap
from neuromap.cli.printing.text_output import print_line, print_written, text_console
from neuromap.files.messages import counted
from neuromap.render.numbers import as_number, intervals, seconds
from neuromap.render.table import print_rest, text_table

if TYPE_CHECKING:
    from rich.console import Console

    from neuromap.hardware.program.chip_program import ChipProgram
    from neuromap.hardware.program.ports import NodePort
    from neuromap.simulation.trace.trace import FrameCounts, Trace

_ROWS_SHOWN = 20


def run_object(program: ChipProgram, counts: FrameCounts, trace: Trace | None, output: str | None) -> dict[str, Any]:
    """Return the JSON form of a run; without its trace (which is in an HDF5 file), single neurons are not listed."""
    nodes: dict[str, dict[str, Any]] = {"output": {}, "hidden": {}}
    for position, port in enumerate(counts.nodes):
        frames = None if trace is None else trace.frames(port.name)
        spiking = None if frames is None else [row.nonzero()[0].tolist() for row in frames]
        values = None if frames is None or frames.dtype == bool else [row[row != 0].tolist() for row in frames]
        nodes[port.kind][port.name] = {
            "size": port.size,
            "spikes": int(counts.spikes[position].sum()),
            "spikes_per_frame": counts.spikes[position].tolist(),
            "spiking_neurons_per_frame": spiking,
            **({} if values is None else {"values_per_frame": values}),
            "stray_spikes": int(counts.strays[position]),
            "frame_0_tick": port.tick(program.period, 0),
        }
    return {
        **_labels(program),
        "frames": counts.n_frames,
        "ticks": counts.n_ticks,
        "outputs": nodes["output"],
        "hidden": nodes["hidden"],
        "recorded_spikes": counts.n_events,
        "file": output,
    }


def _print_columns(console: Console, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print one column per node, as many as fit."""
    table = text_table(headers, rows, (), repeated=(0,))
    table.print(console, brief=True)
    if left := table.left_out(console.width):
        print_rest(console, left, "--json or -o")


def print_run(program: ChipProgram, counts: FrameCounts, trace: Trace | None, output: str | None) -> None:
    """Print spikes by frame, and totals; without a trace, the output is an HDF5 file."""
    console = text_console()
    _print_head(console, program, f"{counted(counts.n_frames, 'frame')}, {counted(counts.n_ticks, 'tick')}")
    spikes, sent = dict(zip(counts.nodes, counts.spikes, strict=True)), _sent(program)
    rows = [
        (f"{frame}", *(f"{row[frame]} at {port.tick(program.period, frame)}" for port, row in spikes.items()))
        for frame in range(1, min(counts.n_frames, _ROWS_SHOWN + 1))
    ]
    if spikes:
        _print_columns(console, ["frame", *(f"{sent}s of {port.name}\nat tick" for port in spikes)], rows)
    if counts.n_frames > _ROWS_SHOWN + 1:
        console.print(f"{counts.n_frames - 1 - _ROWS_SHOWN} more frames: see --json or -o")
    for (port, row), strays in zip(spikes.items(), counts.strays.tolist(), strict=True):
        console.print(
            f"{port.name}: {counted(row.sum(), sent)} of {counted(port.size, 'neuron')} in "
            f"{counted(counts.n_frames - 1, 'frame')}, {strays} outside frames",
            markup=False,
        )
    _print_left_out(console, program, counts.nodes)
    print_written(console, output)
    if output is not None and program.chip.is_timed and trace is None:
        length = seconds(program.chip.tick_seconds)
        console.print(f"its timestamps count every tick as {length}; on this chip ticks last as long as their work")


def batch_object(program: ChipProgram, batch: nm.simulation.Batch, output: str | None) -> dict[str, Any]:
    """Return the JSON form of a batch."""
    nodes: dict[str, dict[str, Any]] = {"output": {}, "hidden": {}}
    for port in batch.nodes:
        counts = batch.counts(port.name)
        nodes[port.kind][port.name] = {
            "size": port.size,
            "spikes": int(counts.sum()),
            "spikes_per_neuron": counts.tolist(),
            "stray_spikes": batch.strays(port.name).tolist(),
        }
    return {
        **_labels(program),
        "stimuli": len(batch),
        "frames": batch.n_frames,
        "ticks": batch.n_ticks,
        "outputs": nodes["output"],
        "hidden": nodes["hidden"],
        "file": output,
    }


def print_batch(program: ChipProgram, batch: nm.simulation.Batch, output: str | None) -> None:
    """Print spikes by stimulus, and totals."""
    console = text_console()
    _print_head(
        console,
        program,
        f"{counted(len(batch), 'stimulus', 'stimuli')} of {counted(batch.n_frames, 'frame')}, "
        f"{counted(batch.n_ticks, 'tick')} each",
    )
    sent = _sent(program)
    counts = {port: batch.counts(port.name).sum(axis=1) for port in batch.nodes}
    rows = [
        (f"{number}", *(f"{row[number]}" for row in counts.values())) for number in range(min(len(batch), _ROWS_SHOWN))
    ]
    _print_columns(console, ["stimulus", *(f"{sent}s\nof {port.name}" for port in counts)], rows)
    if len(batch) > _ROWS_SHOWN:
        console.print(f"{len(batch) - _ROWS_SHOWN} more stimuli: see --json or -o")
    for port, row in counts.items():
        console.print(
            f"{port.name}: {counted(row.sum(), sent)} of {counted(port.size, 'neuron')} in "
            f"{counted(len(batch), 'stimulus', 'stimuli')} of "
            f"{counted(batch.n_frames - 1, 'frame')}, {batch.strays(port.name).sum()} outside frames",
            markup=False,
        )
    _print_left_out(console, program, batch.nodes)
    print_written(console, output)


def _sent(program: ChipProgram) -> str:
    return "spike" if program.value_ranges is None else "message"


def _print_left_out(console: Console, program: ChipProgram, recorded: Sequence[NodePort]) -> None:
    """Print which nodes are not recorded because the program does not contain them."""
    from neuromap.hardware.program.ports import left_out_line

    if program.left_out and any(port.kind == "hidden" for port in recorded):
        print_line(console, left_out_line(program.nodes, program.left_out))


def _labels(program: ChipProgram) -> dict[str, Any]:
    return {
        "network": program.name,
        "chip": program.chip.name,
        "pattern": program.pattern,
        "execution": program.execution,
        "frame_period_ticks": as_number(program.period),
        **intervals(program.period),
        "tick_seconds": None if program.chip.is_timed else program.chip.tick_seconds,
    }


def _pace(period: Time) -> str:
    if period.denominator == 1:
        return f"one frame every {counted(period, 'tick')}"
    return f"{period.denominator} frames every {period.numerator} ticks, {largest_gap(period)} or less apart"


def _print_head(console: Console, program: ChipProgram, length: str) -> None:
    label = f"{program.pattern}, {program.execution}" if program.pattern else "by hand"
    console.print(
        f"{program.name} ({label}) on {program.chip.name}: {length}, {_pace(program.period)}",
        markup=False,
    )
