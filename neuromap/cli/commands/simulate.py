"""``neuromap simulate``: run a program on input frames, or on many stimuli."""

from __future__ import annotations

from pathlib import Path

import typer

import neuromap as nm
from neuromap.cli.arguments.command import command
from neuromap.cli.arguments.options import AS_JSON, check_destinations
from neuromap.cli.arguments.run_options import CheckpointFlags, FrameFlags, RunFlags, check_run_length, read_stimuli
from neuromap.cli.printing.simulate_output import batch_object, print_batch, print_run, run_object
from neuromap.cli.printing.text_output import print_json, progress_bar
from neuromap.errors import InputError
from neuromap.options import argument, option
from neuromap.simulation.choose_frames import choose_frames

EXAMPLES = """\
\b
Examples:
  neuromap simulate sr.nmp
  neuromap simulate sr.nmp --frames 100 --seed 7 --density 0.2 --json
  neuromap simulate sr.nmp --record outputs,node:H1 --record-potentials core:0 -o sr.trace
  python examples/digits/stimulus.py digits.safetensors  (needs scikit-learn)
  neuromap simulate sr.nmp --stimulus digits.safetensors --record all -o sr.h5    (needs h5py)
  neuromap simulate sr.nmp --frames 100000 --checkpoint sr.checkpoint --every 100000 -o sr.h5
  neuromap simulate sr.nmp --ranks 2 --frames 100000 --resume sr.checkpoint    (needs mpi4py)
  mpiexec -n 4 neuromap simulate sr.nmp --engine mpi --frames 100000
"""


@command
def simulate(
    context: typer.Context,
    program_file: Path = argument("PROGRAM  Program file (see neuromap map -o)."),
    *,
    fed: FrameFlags,
    record: str = option(
        "NEURONS  Whose spikes are recorded: outputs, all, node:NAME, core:3 or core:3-7, separated by commas.",
        "outputs",
    ),
    record_potentials: str | None = option(
        "NEURONS  Whose potential is recorded after every tick, given as for --record; by default none."
    ),
    record_counts: bool = option("Count the spikes of every neuron of the program.", False),
    engine: RunFlags,
    checkpoints: CheckpointFlags,
    output: str | None = option(
        "--output, -o FILE  Write what was recorded (HDF5 where it ends in .h5, else safetensors) to this file."
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Run a program on input frames and count the spikes of its outputs, frame by frame.

    Where the tensors of the stimulus have the shape (stimuli, frames, size), every stimulus runs by itself, one per
    thread, and its spikes are summed over frames.
    """
    ended = engine.start(context.obj)
    if ended is not None:
        raise typer.Exit(ended)
    from neuromap.simulation.trace.trace import frame_counts
    from neuromap.simulation.trace.trace_file import HDF5_SUFFIXES

    with engine.runner() as runner:
        recording, asked = nm.Recording(record, record_potentials or (), record_counts), checkpoints.asked()
        read = {"program file": program_file, "stimulus file": fed.frames}
        check_destinations({"--output": output, "--checkpoint": checkpoints.checkpoint}, read)
        checkpoints.check_parts(output, {**read, "checkpoint": checkpoints.resume})
        check_destinations({"--output": output}, {"checkpoint": checkpoints.resume})
        program = runner.load(program_file)
        check_run_length(fed.n_frames, program)
        random = fed.random()
        into_hdf5 = output is not None and Path(output).suffix.lower() in HDF5_SUFFIXES
        if fed.frames is not None and (stimuli := read_stimuli(fed.frames, program)) is not None:
            checkpoints.refuse_for_batches(engine.on_ranks)
            if into_hdf5:
                raise InputError(
                    f"{output}: many stimuli are written as safetensors; give a name that does not end in .h5"
                )
            n_stimuli, n_frames = next(iter(stimuli.values())).shape[:2]
            check_run_length(n_stimuli * n_frames, program)
            with progress_bar("simulating (stimuli)") as progress:
                batch = nm.simulate_batch(program, stimuli, record=recording, progress=progress, **engine.keywords)
            if output is not None:
                batch.save(output)
            if as_json:
                print_json(batch_object(program, batch, output))
            else:
                print_batch(program, batch, output)
            return
        frames, made = choose_frames(program, fed.frames, random)
        check_run_length(made["n_frames"], program)
        with progress_bar("simulating (ticks)") as progress:
            how = {"record": recording, "progress": progress, "checkpoints": asked}
            if into_hdf5:
                counts, trace = runner.simulate_to_file(output, program, frames, **how), None
            else:
                trace = runner.simulate(program, frames, **how)
                counts = None if trace is None else frame_counts(trace)
            if not runner.speaks:
                return
            if trace is not None and output is not None:
                trace.save(output)
        if as_json:
            print_json(run_object(program, counts, trace, output))
        else:
            print_run(program, counts, trace, output)
