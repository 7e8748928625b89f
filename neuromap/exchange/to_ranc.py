"""Export of programs to RANC: configuration, input, and the expected output of its simulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.exchange.imported import Exported, Note
from neuromap.files.messages import counted, show_name
from neuromap.formats.ranc.image import RancImage, ranc_image
from neuromap.formats.ranc.to_json import ranc_config, ranc_input
from neuromap.formats.ranc.vectors import beyond_hardware, ranc_vectors
from neuromap.hardware.program.chip_program import ChipProgram, HostSpikes, host_spikes
from neuromap.hardware.program_file import load_program
from neuromap.render.value import Card
from neuromap.simulation.choose_frames import RandomFrames, choose_frames, describe_frames
from neuromap.simulation.run.simulate import simulate
from neuromap.simulation.run.tick_run import ticks_to_run
from neuromap.simulation.stimulus import frame_count
from neuromap.simulation.trace.recording import Recording
from neuromap.simulation.trace.trace import Trace

_COMMAND = "ranc_sim -i input.json -o output.txt -c config.json --ticks"


def export_ranc(
    source: str | Path | ChipProgram,
    *,
    frames: Mapping[str, ArrayLike] | str | Path | None = None,
    random: RandomFrames | None = None,
) -> Exported:
    """Export a program and its host input to RANC's simulator."""
    # files: ``config.json`` and ``input.json`` for RANC's simulator; ``expected.txt``, its output, byte by byte;
    # ``README.md``, how to run it and what its outputs are
    run = program_run(source, frames, random)
    image, n_ticks = _image(run), run.spikes.n_ticks
    contents = {
        "config.json": ranc_config(image),
        "input.json": ranc_input(image),
        "expected.txt": _expected(run, image),
        "README.md": _readme(run, image),
    }
    last: dict[str, int | str] = {"ticks to run": n_ticks + 1, "run it": f"{_COMMAND} {n_ticks + 1}"}
    return _exported("ranc", run, image, contents, last)


def export_ranc_vectors(
    source: str | Path | ChipProgram,
    *,
    frames: Mapping[str, ArrayLike] | str | Path | None = None,
    random: RandomFrames | None = None,
) -> Exported:
    """Export a program and its host input to RANC's FPGA design."""
    # files: memory images of all cores of the grid, test vectors (:mod:`neuromap.formats.ranc.vectors`), and
    # ``README.md``. The design's expected outputs begin with tick 0
    run = program_run(source, frames, random)
    image = _image(run)
    outputs = [np.flatnonzero(row) for row in _output_table(run, image)]
    contents = {**ranc_vectors(image, outputs), "README.md": _vectors_readme(run, image)}
    return _exported("ranc-vectors", run, image, contents, {"ticks": run.spikes.n_ticks})


def _exported(
    format: str, run: ProgramRun, image: RancImage, contents: Mapping[str, str], last: Mapping[str, int | str]
) -> Exported:
    """Return files with notes and figures; ``last`` are the figures of one format alone."""
    kept, approximated, refused = _notes(run, image)
    return Exported(
        name=image.name,
        format=format,
        contents=contents,
        figures={
            "cores": len(image.cores.coordinates),
            "grid (columns x rows of cores)": f"{image.grid[0]} x {image.grid[1]}",
            **({} if format == "ranc" else {"output bus (x, y)": str(image.output_bus)}),
            "outputs": image.n_outputs,
            "input frames": run.n_frames,
            "input spikes": len(image.input_spikes),
            **last,
        },
        kept=kept,
        approximated=approximated,
        refused=refused,
    )


def _image(run: ProgramRun) -> RancImage:
    host, rows = run.program.host, run.spikes.row
    return ranc_image(run.program, run.spikes.tick, host.core[rows], host.axon[rows])


def _output_table(run: ProgramRun, image: RancImage) -> NDArray[np.bool_]:
    """Mark the outputs that spike in every tick, shape (ticks, outputs)."""
    trace = run.trace(("outputs",))
    start = {name: first for name, first, _ in image.first_output}
    first = np.array([start[port.name] for port in trace.nodes], np.int64)  # of the recorded nodes
    table = np.zeros((run.spikes.n_ticks, image.n_outputs), np.bool_)
    table[trace.tick, first[trace.node] + trace.index] = True
    return table


def _expected(run: ProgramRun, image: RancImage) -> str:
    """Write the output of RANC's simulator: a byte order mark, and in line t + 2 the outputs that spike in tick t."""
    table = np.full((run.spikes.n_ticks + 1, 2 * image.n_outputs), ord(" "), np.uint8)
    table[0, ::2] = ord("0")
    table[1:, ::2] = _output_table(run, image) + np.uint8(ord("0"))
    return "\ufeff" + "".join(f"{row.tobytes().decode('ascii')}\n" for row in table)


def _notes(run: ProgramRun, image: RancImage) -> tuple[tuple[Note, ...], ...]:
    program, kept, approximated = run.program, [], []
    x, y = image.origin
    moved = "where they were" if (x, y) == (0, 0) else f"moved by ({-x}, {-y})"
    kept.append(Note("cores", f"{len(image.cores.coordinates)}, {moved}, the output bus at {image.output_bus}"))
    for name, first, size in image.first_output:
        kept.append(Note(f"node {show_name(name)}", f"outputs {first} to {first + size - 1} of the bus"))
    if image.going_nowhere:
        text = f"{counted(image.going_nowhere, 'neuron')} without a target send to a core without synapses"
        kept.append(Note("spikes that nobody reads", text))
    if image.near_rails:
        low, high = program.chip.potential_range
        ends = "wraps" if program.chip.rules.overflow == "wrap" else "stops"
        text = (
            f"{counted(image.near_rails, 'neuron')} may reach {low} or {high}, where the chip's potential {ends}; "
            "RANC's simulator has 32 bits"
        )
        approximated.append(Note("potentials", text))
    text = "RANC has no place for them; README.md has outputs and ticks of frames"
    refused = [Note("labels, frame period, energy and times", text, "keep the program file")]
    if beyond := beyond_hardware(image):
        way = "map onto the chip ranc, whose widths are those of the design"
        refused.append(Note("RANC's FPGA design", f"its memory has not {beyond}; RANC's simulator has", way))
    else:
        kept.append(Note("RANC's FPGA design", "all values fit the widths of its memory files (9 bits)"))
    return tuple(kept), tuple(approximated), tuple(refused)


def _readme(run: ProgramRun, image: RancImage) -> str:
    program, n_ticks = run.program, run.spikes.n_ticks
    ports = {port.name: port for port in program.nodes}
    rows = "\n".join(
        f"| {_cell(name)} | {first} to {first + size - 1} | {ports[name].tick(program.period, 1) + 2} |"
        for name, first, size in image.first_output
    )
    return f"""\
# {_cell(image.name)} for RANC

Written by neuromap: {_cell(run.stimulus)} on chip {_cell(program.chip.name)}. RANC is at https://github.com/UA-RCL/RANC.

    {_COMMAND} {n_ticks + 1}
    cmp output.txt expected.txt

Line t + 2 of `output.txt` holds the outputs that spike in tick t, 0 to {n_ticks - 1}; line 1 is always empty of spikes.
`expected.txt` is what neuromap's chip gives, in the same form; both begin with a byte order mark.

| output node | outputs (columns, from 0) | line of frame 1 |
|---|---|---|
{rows}

A frame period is {program.period} ticks: frame i of a node is so many lines after frame i - 1.

RANC's `rancutils` make the memory files of its FPGA design from `input.json`; `neuromap.formats.ranc.read_json` reads
both files back.
"""


def _vectors_readme(run: ProgramRun, image: RancImage) -> str:
    rows = "\n".join(f"| {_cell(name)} | {first} to {first + size - 1} |" for name, first, size in image.first_output)
    columns, n_rows = image.grid
    return f"""\
# {_cell(image.name)} for RANC's FPGA design

Written by neuromap: {_cell(run.stimulus)} on chip {_cell(run.program.chip.name)}. RANC is at https://github.com/UA-RCL/RANC.

Core i = x + {columns} y of the grid of {columns} x {n_rows} cores has `csram_i.mem` (a row of bits for every neuron)
and `tc_i.mem` (types of axons). The output bus takes the place {image.output_bus}; places without a core of the program
are silent cores. `tb_input.txt` and `tb_num_inputs.txt` are the input packets, tick by tick; `tb_correct.txt` and
`tb_num_outputs.txt` the outputs that spike in tick 0, 1, ... to {run.spikes.n_ticks - 1}.

| output node | outputs |
|---|---|
{rows}

`neuromap.formats.ranc.read_vectors(folder, columns={columns}, output_bus={image.output_bus})` reads the folder back.
"""


def _cell(text: str) -> str:
    return show_name(text).replace("|", "/").replace("`", "'")


# A program on input frames, as exports need it: the host's spikes, and the chip's answer.


@dataclass(frozen=True, eq=False)
class ProgramRun(Card):
    """A program on input frames."""

    program: ChipProgram  # what runs
    n_frames: int  # frames of the stimulus, frame 0 included
    stimulus: str  # what they are, in words
    spikes: HostSpikes  # what the host delivers in the ticks of the run
    frames: Mapping[str, Any]  # (n_frames, size): input frames

    def trace(self, recorded: tuple[str, ...]) -> Trace:
        """Simulate the program, and record spikes of neurons named as in :class:`~neuromap.Recording`."""
        return simulate(self.program, self.frames, record=Recording(spikes=recorded))


def program_run(
    source: str | Path | ChipProgram,
    frames: Mapping[str, ArrayLike] | str | Path | None = None,
    random: RandomFrames | None = None,
) -> ProgramRun:
    """Load a program if it is a file, and choose its input frames."""
    program = source if isinstance(source, ChipProgram) else load_program(source)
    chosen, made = choose_frames(program, frames, random)
    n_frames = frame_count(chosen)
    n_ticks = ticks_to_run(program, n_frames)
    return ProgramRun(program, n_frames, describe_frames(made), host_spikes(program, chosen, n_ticks), chosen)
