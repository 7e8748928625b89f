"""``neuromap report``: response times and costs per pattern, predicted and measured."""

from __future__ import annotations

import sys
from pathlib import Path

import neuromap as nm
from neuromap.cli.arguments import options as shared
from neuromap.cli.arguments.command import Given, command
from neuromap.cli.arguments.mapping_flags import MappingFlags
from neuromap.cli.arguments.run_options import StimuliFlags, check_run_length
from neuromap.cli.printing.fault_section import FaultSection, shown_to_faults
from neuromap.cli.printing.store_report import StoreOptions, report_on_store
from neuromap.cli.printing.text_output import fail, give_sweep, one_line, print_written, progress_bar, text_console
from neuromap.errors import InputError, prefixed
from neuromap.files.messages import counted
from neuromap.files.whole_file import write_all
from neuromap.options import argument, option
from neuromap.simulation.engine.engine_choice import EngineChoice

EXAMPLES = """\
\b
Examples:
  neuromap report examples/digits/sr.toml
  neuromap report examples/digits/sr.toml --patterns streaming,sequential,hybrid --html sr.html
  neuromap report examples/digits/sr.toml --patterns "H1 -> H1, H1 -> O" --executions pipelined --json
  neuromap report examples/digits/sr.toml --program sr.nmp --csv sr.csv
  neuromap report examples/digits/sr.toml --splitters never --no-packing
  neuromap report examples/digits/sr.toml --figures figures
  neuromap report examples/digits/sr.toml --faults dead-cores,dropped-spikes --fault-rates 0,0.05 --html sr.html
  neuromap report examples/digits/sr.toml --set core.axons=128,256 --html sweep.html
  neuromap report --from digits.sqlite --over core.axon_types,network --figure cores --svg cores.svg
"""


@command
def report(
    network: Path | None = argument("NET  Network file (TOML); none with --from.", None),
    patterns: list[str] | None = option(
        "PATTERNS  Names separated by commas, or the streaming edges of one pattern ('H1 -> O, H2 -> O'). May be "
        "repeated. By default streaming, sequential and those of the file."
    ),
    executions: list[str] | None = shared.EXECUTIONS,
    *,
    onto: shared.ChipFlags,
    program_file: Path | None = option(
        "--program FILE  Report on this program instead of mapping; one row, whose prediction is that of --patterns "
        "and --executions, by default of the names in the program."
    ),
    fed: StimuliFlags,
    engine: Given[EngineChoice],
    flags: MappingFlags,
    html: str | None = option("FILE  Write the report as one self-contained HTML page to this file."),
    csv: str | None = option("FILE  Write the report as CSV to this file.", group="output"),
    json_file: str | None = option("FILE  Write the report as JSON to this file.", group="output"),
    data: str | None = option(
        f"SOURCE  Run test images on every program, for its accuracy over ticks: {shared.SOURCES}."
    ),
    accuracy_frames: int | None = option(
        "N  With --data: frames of the output that are decided on, from its first response on.  [default: 8]",
        group="accuracy",
    ),
    limit: int | None = shared.LIMIT,
    struck: FaultSection,
    kept: StoreOptions,
    every: bool = shared.EVERY,
    figure_folder: str | None = option(
        "--figures FOLDER  Write every figure of the report to this folder, as SVG and, with the extra pages, as PDF.",
        group="output",
    ),
    as_json: bool = shared.AS_JSON,
) -> None:
    """Report response times, sampling frequency, energy and costs for every pattern and execution.

    Every row is predicted from the schedule, measured on the mapped program, and verified against the
    chip-free reference. A row that fails does not keep the others from being shown; the exit code tells. Where --set
    gives a figure of the chip several values, one table has the main figures on each chip. With --faults a section
    shows what becomes of the outputs when parts of the chip fail. With --from the rows are
    those of a store of neuromap sweep or explore, and nothing is mapped.
    """
    from neuromap.render.svg import with_pdf
    from neuromap.report.figure_files import check_figure_folder, check_no_figure, figure_files
    from neuromap.report.figure_files import figure_folder as made_folder
    from neuromap.report.findings import leading
    from neuromap.report.latency import DEFAULT_ACCURACY_FRAMES, report_on_program, sweep_reports
    from neuromap.report.text import print_answers, print_report

    if kept.store is not None:
        mapped = (network, patterns, executions, program_file, html, data, accuracy_frames, limit, figure_folder)
        kept.require_alone(mapped, (onto, fed, engine, flags, struck))
        report_on_store(kept, csv, json_file, every=every, as_json=as_json)
        return
    kept.require_none()
    struck.require_none()
    if network is None:
        raise InputError("NET: is missing; give a network file, or --from with a store of neuromap sweep or explore")
    shared.chosen_chip(onto.chip, program_file)
    figures = onto.figures
    flags.require_none(program_file)
    if onto.make_several:
        onto.refuse_with_several(figures=figure_folder, data=data)
        struck.require_none("is of one chip, and --set gives several; give one value each")
    if program_file is not None:
        struck.require_none("is of programs that are mapped; drop --program")
    if figures and program_file is not None:
        raise InputError(f"--program and --set {next(iter(figures))}: give one of them, a program holds its chip")
    written = {"--html": html, "--csv": csv, "--json-file": json_file, "--fault-results": struck.fault_results}
    read = {
        "network file": network,
        "program file": program_file,
        "stimulus file": fed.frames,
        "image file": shared.image_file_of(data),
        "chip file": onto.file,
        **flags.files,
    }
    shared.check_destinations(written, read)
    if figure_folder is not None:
        check_figure_folder(figure_folder)
        for name, path in {**written, **read}.items():
            if path is not None:
                with prefixed(f"{name} ", InputError):
                    check_no_figure(path, figure_folder)
    fed.random()
    for name, value in (("--accuracy-frames", accuracy_frames), ("--limit", limit)):
        if data is None and value is not None:
            raise InputError(f"{name} {value}: is of labelled images; give --data, or drop it")
    if data is not None and program_file is not None:
        raise InputError(f"--data {data}: is for programs that are mapped; measure this one with neuromap accuracy")
    net = nm.load_network(network)
    wanted = executions or []
    named = shared.split_patterns(patterns or []) or list(patterns or [])
    arguments = {**fed, **engine}
    if program_file is not None:
        if len(named) > 1 or len(wanted) > 1:
            raise InputError(f"{program_file}: one program has one pattern and one execution; give one of each")
        program = nm.load_program(program_file)
        check_run_length(fed.n_frames, program)
        rollout = shared.read_rollout(net, program, program_file, next(iter(named), None), next(iter(wanted), None))
        with progress_bar("report"):
            made = report_on_program(rollout, program, **arguments)
    else:
        spec = flags.chip(onto.name, onto.of_one)
        options = flags.options(net, spec)
        names = named or net.pattern_names
        # the report finds and counts the most sequential patterns together
        chosen = [name if name == "sequential" else shared.read_pattern(net, name) for name in names]
        if onto.make_several:
            with progress_bar("report") as progress:
                asked = {"options": options, "progress": progress, **arguments}
                sweep = sweep_reports(net, spec, figures, chosen, wanted or None, **asked)
            give_sweep(sweep, {"html": html, "csv": csv, "json": json_file}, every=every, as_json=as_json)
            return
        images = None if data is None else nm.datasets.load_images(data, "test", limit=limit)
        frames = DEFAULT_ACCURACY_FRAMES if accuracy_frames is None else accuracy_frames
        shown = {"options": options, "images": images, "n_accuracy_frames": frames, **arguments}
        with progress_bar("report") as progress:
            made = nm.latency_report(net, spec, chosen, wanted or None, progress=progress, **shown)
            if struck.faults is not None:
                to_show = shown_to_faults(fed, images, accuracy_frames)
                made = struck.added(made, options, to_show, engine.made(), progress)
    files = ((html, made.to_html), (csv, made.to_csv), (json_file, made.to_json))
    contents = [(path, form()) for path, form in files if path is not None]
    drawn: list[tuple[Path, str | bytes]] = []
    if figure_folder is not None:
        drawn = [(Path(figure_folder) / name, content) for name, content in with_pdf(figure_files(made)).items()]
    with made_folder(figure_folder if drawn else None, [path.name for path, _ in drawn]):
        write_all([*contents, *drawn])
    if as_json:
        sys.stdout.write(made.to_json().rstrip("\n") + "\n")
    else:
        console = text_console()
        if every:
            print_report(made, console)
        else:
            print_answers(made, console, leading(made), html)
        print_written(console, *(path for path, _ in contents))
        if figure_folder is not None:
            text = f"{len(drawn)} files of figures written to {one_line(figure_folder)}"
            if not any(path.suffix == ".pdf" for path, _ in drawn):
                text += "; PDF needs the extra pages: pip install 'neuromap-rollouts[pages]'"
            console.print(text, markup=False, soft_wrap=True)
    if made.exit_code:
        failed = [row for row in made.rows if row.exit_code]
        first = failed[0]
        why = first.message or (first.verification.message if first.verification else "")
        head = f"{len(failed)} of {counted(len(made.rows), 'row')} failed, first {first.pattern}, {first.execution}"
        fail(f"{head}: {why}", made.exit_code)
