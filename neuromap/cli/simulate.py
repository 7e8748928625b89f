"""``neuromap simulate``: run a program on input frames."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuromap.cli.options import DensityOption, FramesOption, JsonFlag, SeedOption, StimulusOption, file_option
from neuromap.cli.output import check_destinations, new_table, one_line, print_json, text_console
from neuromap.cli.progress import progress_bar
from neuromap.cli.stimulus_argument import check_run_length, frame_arguments

if TYPE_CHECKING:
    from neuromap.hardware.program import Program
    from neuromap.simulation.trace import Trace

__all__ = ["EXAMPLES", "simulate"]

EXAMPLES = """\
\b
Examples:
  neuromap simulate sr.nmp
  neuromap simulate sr.nmp --frames 100 --seed 7 --density 0.2 --json
  python examples/digits/stimulus.py digits.safetensors    (needs scikit-learn)
  neuromap simulate sr.nmp --stimulus digits.safetensors -o sr.trace
"""

_FRAMES_SHOWN = 20


def simulate(
    program_file: Annotated[
        Path, typer.Argument(metavar="PROGRAM", help="Program file (see neuromap map -o).", show_default=False)
    ],
    stimulus: StimulusOption = None,
    n_frames: FramesOption = None,
    seed: SeedOption = 0,
    density: DensityOption = None,
    output: Annotated[str | None, file_option("--output", "-o", holds="the trace")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Run a program on input frames and count the spikes of its outputs, frame by frame."""
    import neuromap as nm
    from neuromap.report.frames import choose_frames

    check_destinations({"--output": output}, {"program file": program_file, "stimulus file": stimulus})
    program = nm.load_program(program_file)
    check_run_length(n_frames, program)
    frames, made = choose_frames(program, **frame_arguments(stimulus, n_frames, seed, density))
    check_run_length(made["n_frames"], program)
    with progress_bar("simulating (ticks)") as progress:
        trace = nm.simulate(program, frames, progress=progress)
    if output is not None:
        trace.save(output)
    if as_json:
        print_json(_trace_object(program, trace, output))
    else:
        _print_trace(program, trace, output)


def _trace_object(program: Program, trace: Trace, output: str | None) -> dict[str, Any]:
    outputs = {}
    for port in trace.nodes:
        frames = trace.frames(port.name)
        outputs[port.name] = {
            "size": port.size,
            "spikes": int(frames.sum()),
            "spikes_per_frame": frames.sum(axis=1).tolist(),
            "spiking_neurons_per_frame": [row.nonzero()[0].tolist() for row in frames],
            "stray_spikes": len(trace.strays(port.name)),
            "frame_0_tick": port.sample_tick,
        }
    return {
        "network": trace.name,
        "chip": program.chip.name,
        "pattern": trace.pattern,
        "execution": trace.execution,
        "frame_period_ticks": trace.period,
        "tick_seconds": program.chip.tick_seconds,
        "frames": trace.n_frames,
        "ticks": trace.n_ticks,
        "outputs": outputs,
        "file": output,
    }


def _print_trace(program: Program, trace: Trace, output: str | None) -> None:
    console = text_console()
    label = f"{trace.pattern}, {trace.execution}" if trace.pattern else "by hand"
    console.print(
        f"{trace.name} ({label}) on {program.chip.name}: {trace.n_frames} frames, {trace.n_ticks} ticks, "
        f"one frame every {trace.period} ticks",
        markup=False,
    )
    table = new_table("frame", *(f"spikes of {port.name} at tick" for port in trace.nodes), left=0)
    counts = {port.name: trace.frames(port.name).sum(axis=1) for port in trace.nodes}
    for frame in range(1, min(trace.n_frames, _FRAMES_SHOWN + 1)):
        cells = (f"{counts[p.name][frame]} at {p.sample_tick + frame * trace.period}" for p in trace.nodes)
        table.add_row(f"{frame}", *cells)
    console.print(table)
    if trace.n_frames > _FRAMES_SHOWN + 1:
        console.print(f"{trace.n_frames - 1 - _FRAMES_SHOWN} more frames: see --json or -o")
    for port in trace.nodes:
        total, strays = int(counts[port.name].sum()), len(trace.strays(port.name))
        console.print(
            f"{port.name}: {total} spikes of {port.size} neurons in {trace.n_frames - 1} frames, "
            f"{strays} outside frames",
            markup=False,
        )
    if output is not None:
        console.print(f"written to {one_line(output)}", markup=False, soft_wrap=True)
