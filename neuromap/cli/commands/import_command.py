"""``neuromap import``: convert a file or script of another tool to a network file."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING

from neuromap.cli.arguments import options as shared
from neuromap.cli.arguments.command import command
from neuromap.cli.printing.text_output import print_form, print_json, print_written, text_console, text_width
from neuromap.errors import InputError
from neuromap.files.messages import counted
from neuromap.files.whole_file import write_whole
from neuromap.options import argument, option
from neuromap.registry import unknown
from neuromap.render.numbers import joules, seconds
from neuromap.render.table import print_rest

if TYPE_CHECKING:
    from neuromap.backends.imported import Imported as FromScript
    from neuromap.exchange.imported import Imported


def import_of_script(format: str, script: Path, found: FromScript) -> Imported:
    """Convert the network of a script to an import, with the figures of its run as notes."""
    from neuromap.exchange.imported import Imported, Note
    from neuromap.quantise.quantisation import read_quantisation

    run = found.figures["report"]
    notes = [
        Note("groups", _named(found.figures["groups"])),
        Note("sources", _named(found.figures["sources"])),
        Note(
            "run",
            f"{counted(run['spikes'], 'spike')} in {counted(run['ticks'], 'tick')}, {seconds(run['model_seconds'])} of "
            f"the model and {seconds(run['chip_seconds'])} of {run['chip']}",
        ),
    ]
    if run["is_exact"]:
        notes.append(Note("chip", "gave exactly the spikes of the network in integers"))
    if run["joules"] is not None:
        notes.append(Note("energy", f"{joules(run['joules'])} in that run, by the figures that the chip file has"))
    return Imported(
        network=found.network,
        format=format,
        source=str(script),
        kept=tuple(note for note in notes if note.text),
        quantisation=read_quantisation(run["quantisation"]),
    )


def _named(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({counted(size, 'neuron')})" for name, size in sizes.items())


# Flags of the options that only some formats take.
_FLAGS = {"chip": "--chip", "dt": "--dt", "tool": "--tool", "calibration": "--calibrate", "data": "--data"}

EXAMPLES = """\
\b
Examples:
  neuromap import onnx net.onnx -o net.toml
  neuromap import torch net.pt2 --calibrate npz:images.npz -o net.toml
  neuromap import onnx float.onnx --calibrate inputs.npz -o net.toml
  neuromap import rates examples/graded/digits.toml --chip truenorth --data digits -o digits_truenorth.toml
  neuromap import sanafe dvs.yaml -o dvs.toml --pins dvs.pins.toml
  neuromap import brian2 examples/brian2/current.py
  neuromap import brian2 examples/brian2/current.py -o current.toml
  neuromap import brian2 examples/brian2/leak.py --chip truenorth --json
  neuromap import nir examples/nir/snntorch.nir --tool snntorch -o net.toml
  neuromap import nir examples/nir/norse.nir --tool norse --html norse.html
"""


@command
def import_command(
    format: str = argument(
        "FORMAT  Whose file or script it is: brian2, nir, onnx, rates, sanafe, torch.",
        groups=("neuromap.import_formats", "neuromap.backends"),
    ),
    source: Path = argument("SOURCE  The file, or the script."),
    output: str | None = option("--output, -o FILE  Write the integer network to this file."),
    chip: str | None = option(
        "CHIP  A packaged chip (see neuromap chips) or a chip file; of onnx and torch, for an estimate of cores.  "
        "[default: that of the script, or loihi1; of onnx none, of rates truenorth]"
    ),
    dt: float | None = option(
        "SECONDS  Step of the model, for a file of equations (nir).  [default: that of --tool, of the file, or 0.001]",
        group="formats",
    ),
    tool: str | None = option(
        "TOOL  Who wrote the file, for its step and scheme (nir): norse, rockpool, sinabs, snntorch, spikingjelly.",
        group="formats",
    ),
    data: str | None = option(
        f"SOURCE  Labelled images on which values are found (rates): {shared.SOURCES}.", group="formats"
    ),
    pins: str | None = option(
        "FILE  Write the core of every neuron, where the file says it (sanafe), as pins of neuromap map (TOML, and an "
        ".npz beside it).",
        group="formats",
    ),
    calibrate: str | None = option(
        f"SOURCE  Quantise a float network (onnx, torch) to 8 bits by these images: {shared.SOURCES}; or an .npz file "
        "with an array for every input, and perhaps labels.",
        group="formats",
    ),
    html: str | None = option("FILE  Write the summary with pictures as one self-contained HTML page to this file."),
    every: bool = shared.EVERY,
    as_json: bool = shared.AS_JSON,
) -> None:
    """Take over a network from another tool, and say what was kept, approximated and refused.

    A file is data: nothing in it is executed. A script (brian2) is executed, as python SCRIPT would, on a
    simulated chip: only import scripts that you would run; what it prints goes to stderr, and the network that ran last
    is imported.
    """
    from neuromap.backends.scripts import SCRIPT_FORMATS, import_script
    from neuromap.exchange.formats import IMPORT_FORMATS, import_file
    from neuromap.exchange.of_imports import print_answers
    from neuromap.exchange.page import findings
    from neuromap.render.value import form

    is_script = format not in IMPORT_FORMATS and format in SCRIPT_FORMATS
    files = {
        "script" if is_script else "file": source,
        "chip file": None if chip is None else shared.chip_file_of(chip),
        "calibration set": None if calibrate is None else calibrate.removeprefix("npz:"),
        "image file": shared.image_file_of(data),
    }
    written = {"--output": output, "--output, its weights": shared.weights_beside(output), "--html": html}
    written |= {"--pins": pins, "--pins, its tables": None if pins is None else str(Path(pins).with_suffix(".npz"))}
    shared.check_destinations(written, files)
    asked = (("dt", dt), ("tool", tool), ("calibration", calibrate), ("data", data))
    options = {key: value for key, value in asked if value is not None}
    if is_script:
        if options or pins is not None:
            given = ", ".join([*options, *(["pins"] if pins is not None else [])])
            raise InputError(f"format {format}: is a script, which takes no {given}; set it there")
        ran = import_script(format, source, chip, width=text_width())
        _write(import_of_script(format, source, ran), output, html)
        if as_json:
            print_json({"format": "neuromap import 1", "from": format, **ran.figures, "file": output})
            return
        console = text_console()
        print_form(console, ran.text if every else ran.text.partition("\n\n")[0])
        if not every:
            print_rest(console, ["what became of neurons and synapses"], "--all, --html FILE or --json")
        print_written(console, output, html)
        return
    if format not in IMPORT_FORMATS:
        raise InputError(f"format {unknown(format, [*IMPORT_FORMATS, *SCRIPT_FORMATS])}")
    taken = signature(IMPORT_FORMATS.find(format).load()).parameters
    for key in options:
        if key not in taken:
            flags = ", ".join(flag for name, flag in _FLAGS.items() if name in taken)
            raise InputError(f"{_FLAGS[key]} {options[key]}: format {format} takes none; it takes {flags}")
    found = import_file(source, format, chip=chip, **options)
    if pins is not None:
        if not found.cores:
            raise InputError(f"--pins {pins}: {source} does not say in which core a neuron is; leave it out")
        from neuromap.mapping.options.pins_file import save_tables

        save_tables(pins, found.cores)
    _write(found, output, html)
    if as_json:
        print_json({**form(found, "dict"), "file": output})
        return
    console = text_console()
    if every:
        print_form(console, form(found, "text", console.width))
    else:
        said = [
            f"{part.lower()}: {text}" if part in ("Approximated", "Left out") else text
            for part, texts in findings(found).items()
            for text in texts
        ]
        print_answers(found, console, [text.rstrip(".") for text in said])
    print_written(console, output, html)


def _write(found: Imported, output: str | None, html: str | None) -> None:
    """Write the network and the page; both are made before either is written."""
    page = None if html is None else found.to_html()
    if output is not None:
        found.network.save(output)
    if html is not None and page is not None:
        write_whole(html, page)
