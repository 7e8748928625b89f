"""``neuromap explore``: which rollout to run, as Pareto fronts over patterns, executions and chips."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuromap.cli.arguments.explore_arguments import above_zero, read_limits, read_ticks
from neuromap.cli.arguments.options import (
    DEFAULT_CHIP,
    DensityOption,
    FramesOption,
    JsonFlag,
    NetworkFile,
    SeedOption,
    StimulusOption,
    chip_file_of,
    file_option,
)
from neuromap.cli.arguments.pattern_argument import read_pattern, split_executions, split_names
from neuromap.cli.arguments.stimulus_argument import check_run_length, frame_arguments
from neuromap.cli.printing.output import check_destinations, one_line, print_error, text_console
from neuromap.cli.printing.progress import progress_bar
from neuromap.errors import DoesNotFitError, InputError, VerificationError

if TYPE_CHECKING:
    from neuromap.explorer.answer.advice import Advice
    from neuromap.explorer.answer.exploration import Exploration
    from neuromap.explorer.answer.limits import Limits

__all__ = ["EXAMPLES", "explore", "leave"]

EXAMPLES = """\
\b
Examples:
  neuromap explore examples/digits/sr.toml
  neuromap explore examples/digits/sr.toml --max-cores 200 --max-full-response 5ms --best sampling-frequency
  neuromap explore examples/digits/sr.toml --given hybrid --within class --html sr.html --svg sr.svg
  neuromap explore examples/digits/sr.toml --executions pipelined --splitters slack,anywhere --csv sr.csv
  neuromap explore examples/digits/sr.toml --seconds 60 --results sr.results --json
"""


def _text(*names: str, metavar: str, text: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, show_default=False)


def explore(
    network: NetworkFile,
    given: Annotated[
        str,
        typer.Option(
            "--given",
            metavar="PATTERN",
            help="The pattern that the weights were trained for: a name or its streaming edges. Patterns of its "
            "behaviour class need no retraining.",
        ),
    ] = "streaming",
    within: Annotated[
        str,
        typer.Option(
            "--within", metavar="WHERE", help="all patterns, or only those of the given one's behaviour class: class."
        ),
    ] = "all",
    chips: Annotated[
        list[str] | None,
        _text(
            "--chip",
            metavar="CHIP",
            text=f"A packaged chip or a chip file; may be repeated.  [default: {DEFAULT_CHIP}]",
        ),
    ] = None,
    executions: Annotated[
        list[str] | None,
        _text(
            "--executions",
            metavar="EXECUTIONS",
            text="windowed, pipelined, pipelined:P for a frame every P update steps; with commas between them.  "
            "[default: windowed,pipelined]",
        ),
    ] = None,
    splitters: Annotated[
        list[str] | None,
        _text(
            "--splitters",
            metavar="WHERE",
            text="Where splitters may stand: slack, anywhere, never, or several with commas.  [default: slack]",
        ),
    ] = None,
    ticks_per_step: Annotated[
        list[str] | None,
        _text(
            "--ticks-per-step",
            metavar="NUMBERS",
            text="Ticks of an update step, or several with commas.  [default: as few as the delays need]",
        ),
    ] = None,
    max_cores: Annotated[str | None, _text("--max-cores", metavar="N", text="Cores, at most.")] = None,
    max_first_response: Annotated[
        str | None, _text("--max-first-response", metavar="TIME", text="First response, at most, such as 5ms.")
    ] = None,
    max_full_response: Annotated[
        str | None, _text("--max-full-response", metavar="TIME", text="Full response, at most.")
    ] = None,
    max_reaction: Annotated[
        str | None, _text("--max-reaction", metavar="TIME", text="Worst-case reaction, at most.")
    ] = None,
    min_sampling_frequency: Annotated[
        str | None,
        _text("--min-sampling-frequency", metavar="FREQUENCY", text="Sampling frequency, at least, such as 300Hz."),
    ] = None,
    max_energy: Annotated[
        str | None, _text("--max-energy", metavar="ENERGY", text="Energy per frame, at most, such as 100uJ.")
    ] = None,
    best: Annotated[
        str | None,
        _text(
            "--best",
            metavar="OBJECTIVE",
            text="Name the best row within the limits, and the command that maps it: first-response, full-response, "
            "worst-case-reaction, sampling-frequency, cores or energy.",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Also list mapped rows that are on no front.")] = False,
    seconds: Annotated[
        float | None,
        _text("--seconds", metavar="S", text="Time for mapping and simulating; what is open then is said."),
    ] = None,
    most_mapped: Annotated[
        int | None, _text("--most-mapped", metavar="N", text="Rows that are mapped and simulated, at most.")
    ] = None,
    processes: Annotated[
        int | None, _text("--processes", metavar="N", text="Processes to map in; the results are the same.")
    ] = None,
    results: Annotated[
        str | None,
        _text(
            "--results",
            metavar="FILE",
            text="Keep every result in this file as soon as it is there, and take up those that it holds.",
        ),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Whether chip and reference are compared in every mapped row.")
    ] = True,
    stimulus: StimulusOption = None,
    n_frames: FramesOption = None,
    seed: SeedOption = 0,
    density: DensityOption = None,
    html: Annotated[str | None, file_option("--html", holds="fronts and rows as one self-contained HTML page")] = None,
    svg: Annotated[str | None, file_option("--svg", holds="the picture of the fronts")] = None,
    csv: Annotated[str | None, file_option("--csv", holds="all rows as CSV")] = None,
    json_file: Annotated[str | None, file_option("--json-file", holds="the exploration as JSON")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Find the rollouts worth running: the Pareto front of responses, sampling frequency, cores and energy.

    Times are computed for every candidate, cores and energy by mapping and simulating those that can be on the
    front. Rows that compute the same function as the given pattern come first (no retraining), then the others.
    Limits leave rows out; times take ns, us, ms or s, energies pJ to J, frequencies Hz, kHz or MHz, bare numbers are
    s, J and Hz.
    """
    import neuromap as nm
    from neuromap.explorer.answer.advice import advise
    from neuromap.explorer.answer.limits import ClosestRow
    from neuromap.explorer.answer.objectives import objective_named
    from neuromap.explorer.explore import explore as search
    from neuromap.files.whole_file import write_all
    from neuromap.mapping.asked.options import SPLITTERS

    typed = {
        "max_first_response": max_first_response,
        "max_full_response": max_full_response,
        "max_reaction": max_reaction,
        "min_sampling_frequency": min_sampling_frequency,
        "max_cores": max_cores,
        "max_energy": max_energy,
    }
    limits = read_limits(typed)
    objective = None if best is None else objective_named(best, "--best")
    if within not in ("all", "class"):
        raise InputError(f"--within {within}: unknown; choose all or class")
    search_arguments: dict[str, Any] = {
        "executions": split_executions(executions) if executions else None,
        "splitters": split_names(splitters, "--splitters", SPLITTERS) if splitters else None,
        "ticks_per_step": read_ticks(ticks_per_step) if ticks_per_step else None,
        "seconds": above_zero("--seconds", seconds),
        "most_mapped": above_zero("--most-mapped", most_mapped),
        "processes": above_zero("--processes", processes),
    }
    named = list(dict.fromkeys(chips or [DEFAULT_CHIP]))
    check_destinations(
        {"--html": html, "--svg": svg, "--csv": csv, "--json-file": json_file, "--results": results},
        {
            "network file": network,
            "stimulus file": stimulus,
            **{f"chip file {name}": chip_file_of(name) for name in named},
        },
    )
    check_run_length(n_frames)
    net = nm.load_network(network)
    specs = [nm.load_chip(name) for name in named]
    pattern = read_pattern(net, given)
    watched = ClosestRow(limits)
    with progress_bar("explore") as progress:
        found = search(
            net,
            specs,
            pattern,
            within=within,
            limits=watched if limits else None,
            verify=verify,
            results=results,
            progress=progress,
            **frame_arguments(stimulus, n_frames, seed, density),
            **{name: value for name, value in search_arguments.items() if value is not None},
        )
    # a chip's file is what --chip takes, its name need not be
    chip_files = {spec.name: name for spec, name in zip(specs, named, strict=True) if chip_file_of(name)}
    advice, refusal = None, None
    try:
        if objective is not None:
            advice = advise(found, objective, limits, str(network), chip_files, watched.refused)
        elif limits or not any(row.status == "mapped" for row in found.rows):
            advise(found, objective_named("full response"), limits, refused=watched.refused)
    except DoesNotFitError as error:
        refusal = error
    wanted: tuple[tuple[str | None, Callable[[], str]], ...] = (
        (html, lambda: _page(found, limits, advice, (str(network), chip_files), every=every)),
        (svg, lambda: _picture(found, limits, every=every)),
        (csv, lambda: _csv(found, limits)),
        (json_file, lambda: _json(found, limits, advice)),
    )
    written = [(path, form()) for path, form in wanted if path is not None]
    write_all(written)
    if as_json:
        sys.stdout.write(_json(found, limits, advice))
    else:
        _print(found, limits, advice, [path for path, _ in written], every=every)
    leave(found, refusal)


def _page(
    found: Exploration, limits: Limits, advice: Advice | None, names: tuple[str, dict[str, str]], *, every: bool
) -> str:
    from neuromap.explorer.forms.html import to_html

    return to_html(found, limits, advice, *names, every=every)


def _picture(found: Exploration, limits: Limits, *, every: bool) -> str:
    from neuromap.explorer.forms.draw_front import standalone_svg

    return standalone_svg(found, limits, every=every)


def _csv(found: Exploration, limits: Limits) -> str:
    from neuromap.explorer.forms.csv_form import to_csv

    return to_csv(found, limits)


def _json(found: Exploration, limits: Limits, advice: Advice | None) -> str:
    from neuromap.explorer.forms.json_form import to_json

    return to_json(found, limits, advice)


def _print(found: Exploration, limits: Limits, advice: Advice | None, written: Sequence[str], *, every: bool) -> None:
    from neuromap.explorer.forms.text import print_exploration

    console = text_console()
    print_exploration(found, console, limits, every=every)
    if advice is not None:
        for line in ("", *advice.lines()):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    for path in written:
        console.print(f"written to {one_line(path)}", markup=False, soft_wrap=True)


def leave(found: Exploration, refusal: DoesNotFitError | None) -> None:
    """Say in the exit code what the tables say: nothing within the limits, or a chip that computes something else.

    Raises
    ------
    typer.Exit
        With 5 where a row is not verified, 3 where there is a refusal.
    """
    wrong = [row for row in found.rows if row.verified is False]
    if wrong:
        head = f"{len(wrong)} of {found.n_mapped} rows failed, first {wrong[0].pattern}, {wrong[0].candidate.execution}"
        print_error(one_line(f"{head}: chip and reference differ {wrong[0].message}"))
        raise typer.Exit(VerificationError.exit_code)
    if refusal is not None:
        print_error(one_line(str(refusal)))
        raise typer.Exit(refusal.exit_code)
