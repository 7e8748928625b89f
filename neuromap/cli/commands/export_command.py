"""``neuromap export``: a network, program or trace as files of another tool."""

from __future__ import annotations

from pathlib import Path

from neuromap.cli.arguments.command import command
from neuromap.cli.arguments.options import AS_JSON, check_destinations
from neuromap.cli.arguments.run_options import FrameFlags, check_run_length
from neuromap.cli.printing.text_output import give_form
from neuromap.errors import InputError
from neuromap.files.whole_file import check_folder
from neuromap.options import argument, option

EXAMPLES = """\
\b
Examples:
  neuromap export sr.nmp --to ranc -o sr.ranc
  neuromap export sr.nmp --to sanafe -o sr.sanafe --frames 12 --seed 7
  neuromap export sr.nmp --to ranc -o sr.ranc --frames 100 --density 0.2 --json
  neuromap export sr.toml --to nir -o sr.nir
  neuromap export graded.toml --to onnx -o graded.onnx
  neuromap export sr.trace --to perfetto --program sr.nmp -o sr.json    (after simulate -o sr.trace)
"""


@command
def export_command(
    source: Path = argument(
        "SOURCE  Program file (to ranc, ranc-vectors, sanafe), see neuromap map -o; network file (to nir, onnx); trace "
        "file (to perfetto, neo, sonata), see neuromap simulate -o."
    ),
    *,
    to: str = option(
        "FORMAT  For which tool: nir, onnx, ranc, ranc-vectors, sanafe, perfetto, neo, sonata.",
        ...,
        groups=("neuromap.export_formats",),
    ),
    output: str = option(
        "--output, -o DEST  Where to write: a folder (ranc, ranc-vectors, sanafe), a file (others). All files appear, "
        "or none.",
        ...,
    ),
    fed: FrameFlags,
    program: Path | None = option(
        "PROGRAM  Program file of a trace (to perfetto): names chips and places of cores, which else have numbers."
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Write a program, network or trace for another tool, and say what was kept, approximated and refused.

    With a program go the input frames that it is shown, and what neuromap's chip answers to them, so that the other
    tool's answer can be compared.
    """
    from neuromap.exchange.formats import EXPORT_FORMATS, export_file

    known = EXPORT_FORMATS.find(to)
    random = fed.random()
    files = {f"{known.source} file": source, "stimulus file": fed.frames, "program file of the trace": program}
    if known.folder:
        if output.startswith("-"):
            raise InputError(f"--output {output}: is not a folder; give a name (./{output} for this one)")
        check_folder(output)
    else:
        check_destinations({"--output": output}, files)
    if known.fed:
        check_run_length(fed.n_frames)
    elif fed:
        raise InputError(f"--to {to}: takes no input frames; leave out --stimulus, --frames, --seed and --density")
    found = export_file(
        source,
        to,
        output,
        frames=fed.frames if known.fed else None,
        random=random if known.fed else None,
        program=program,
    )
    give_form(found, output, as_json=as_json, written_to=output)
