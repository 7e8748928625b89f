"""``neuromap explore``: which rollout to run, as Pareto fronts over patterns, executions and chips."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuromap.cli.arguments.chip_figures import SetOption, is_sweep, one_value_each, read_figures, refuse_in_sweep
from neuromap.cli.arguments.deadline_options import DeadlineOptions
from neuromap.cli.arguments.destinations import check_destinations
from neuromap.cli.arguments.frame_options import FrameOptions, check_run_length, stimuli_arguments
from neuromap.cli.arguments.limit_options import LimitOptions
from neuromap.cli.arguments.option_blocks import with_option_blocks
from neuromap.cli.arguments.options import (
    DEFAULT_CHIP,
    ExecutionsOption,
    JsonFlag,
    NetworkFile,
    SchedulerOption,
    StimuliOption,
    check_workers,
    chip_file_of,
    file_option,
    said_option,
)
from neuromap.cli.arguments.typed_lists import (
    above_zero,
    split_executions,
    split_names,
    split_ticks,
    split_wide,
    split_words,
)
from neuromap.cli.arguments.typed_patterns import read_pattern
from neuromap.cli.printing.progress import progress_bar
from neuromap.cli.printing.sweep_output import give_sweep
from neuromap.cli.printing.text_output import one_line, print_error, print_written, text_console
from neuromap.errors import DoesNotFitError, InputError, VerificationError
from neuromap.files.messages import counted

if TYPE_CHECKING:
    from neuromap.explorer.answer.advice import Advice
    from neuromap.explorer.answer.exploration import Exploration
    from neuromap.explorer.answer.limits import ClosestRow, Limits
    from neuromap.explorer.answer.objectives import Objective

__all__ = ["EXAMPLES", "explore", "leave"]

EXAMPLES = """\
\b
Examples:
  neuromap explore examples/digits/sr.toml
  neuromap explore examples/digits/sr.toml --max-cores 200 --max-full-response 5ms --best sampling-frequency
  neuromap explore examples/digits/sr.toml --given hybrid --within class --html sr.html --svg sr.svg
  neuromap explore examples/digits/sr.toml --given sequential --objectives times
  neuromap explore examples/digits/sr.toml --executions pipelined --splitters slack,anywhere --csv sr.csv
  neuromap explore examples/digits/sr.toml --seconds 60 --store sr.sqlite --json
  neuromap explore examples/digits/sr.toml --set core.axons=128,256 --html sweep.html
  neuromap explore examples/digits/sr.toml --deadline 3ms --trained hybrid=examples/digits/sr.toml --limit 50
"""


@with_option_blocks
def explore(
    network: NetworkFile,
    given: Annotated[
        str,
        typer.Option(
            "--given",
            metavar="PATTERN",
            help="The pattern that the weights were trained for: a name or its streaming edges. Patterns of its "
            "behaviour class need no retraining. With --deadline, where its class has no --trained weights, the first "
            "pattern that has takes its place.",
        ),
    ] = "streaming",
    within: Annotated[
        str,
        typer.Option(
            "--within", metavar="WHERE", help="all patterns, or only those of the given one's behaviour class: class."
        ),
    ] = "all",
    objectives: Annotated[
        list[str] | None,
        said_option(
            "--objectives",
            metavar="WHAT",
            text="Axes of the front: titles as for --best, or times for all that are times; several with commas. Where "
            "all are times, the best patterns of a class are found without listing any.  [default: all]",
        ),
    ] = None,
    chips: Annotated[
        list[str] | None,
        said_option(
            "--chip",
            metavar="CHIP",
            text=f"A packaged chip or a chip file; may be repeated.  [default: {DEFAULT_CHIP}]",
        ),
    ] = None,
    other_figures: SetOption = None,
    executions: ExecutionsOption = None,
    splitters: Annotated[
        list[str] | None,
        said_option(
            "--splitters",
            metavar="WHERE",
            text="Where splitters may be placed: slack, anywhere, never (commas between several).  [default: slack]",
        ),
    ] = None,
    ticks_per_step: Annotated[
        list[str] | None,
        said_option(
            "--ticks-per-step",
            metavar="NUMBERS",
            text="Ticks of an update step, or several, separated by commas.  [default: as few as the delays need]",
        ),
    ] = None,
    wide: Annotated[
        list[str] | None,
        said_option(
            "--wide",
            metavar="HOW",
            text="Neurons that read more than a core has axons: refuse, partial-sums (with few numbers of ticks, from "
            "which cores against first response follow), or ticks of your own; several with commas.  [default: refuse]",
        ),
    ] = None,
    phases: Annotated[
        str | None,
        said_option(
            "--phases",
            metavar="WHICH",
            text="When nodes between inputs and outputs are computed, in all rows: least (as early as they can be) or "
            "cheapest (as takes fewest cores, with the same times).  [default: least]",
        ),
    ] = None,
    *,
    limited: LimitOptions,
    best: Annotated[
        str | None,
        said_option(
            "--best",
            metavar="OBJECTIVE",
            text="Name the best row within the limits, and the command that maps it: first-response, full-response, "
            "worst-case-reaction, sampling-frequency, accuracy-at-deadline, cores or energy.",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Also list mapped rows that are on no front.")] = False,
    seconds: Annotated[
        float | None,
        said_option(
            "--seconds", metavar="S", text="Time limit for mapping and simulating; what is left open is stated."
        ),
    ] = None,
    most_mapped: Annotated[
        int | None, said_option("--most-mapped", metavar="N", text="Map and simulate at most so many rows.")
    ] = None,
    processes: Annotated[
        int | None,
        said_option("--processes", metavar="N", text="Number of processes for mapping; results are the same."),
    ] = None,
    scheduler: SchedulerOption = None,
    store: Annotated[
        str | None,
        said_option(
            "--store",
            "--results",
            metavar="FILE",
            text="Keep every row in this file (SQLite, on a disk of this machine) as soon as it is mapped, and reuse "
            "those that it holds.",
        ),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Whether chip and reference are compared in every mapped row.")
    ] = True,
    reached: DeadlineOptions,
    fed: FrameOptions,
    stimuli: StimuliOption = None,
    energy_tolerance: Annotated[
        float | None,
        said_option(
            "--energy-tolerance",
            metavar="PART",
            text="Energies that differ by at most this part, 0 to below 1, count as equal on the fronts.  "
            "[default: what another draw of stimuli might change]",
        ),
    ] = None,
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
    s, J and Hz. With --deadline and --trained, rows also have the accuracy that they have reached by then. Where --set
    gives a figure of the chip several values, one table says what the front of each chip comes to.
    """
    import neuromap as nm
    from neuromap.explorer.answer.limits import ClosestRow
    from neuromap.explorer.answer.objectives import objective_named
    from neuromap.explorer.candidates.asked import MAX_PERIOD, check_are_axes, read_objectives
    from neuromap.explorer.explore import explore as search
    from neuromap.explorer.explore_each import sweep_explorations
    from neuromap.explorer.search.best_first import check_tolerance
    from neuromap.files.whole_file import write_all
    from neuromap.mapping.options.options import SPLITTERS
    from neuromap.render.value import form

    limits = limited.limits()
    axes = read_objectives(split_words(objectives, "--objectives") if objectives else None, "--objectives")
    objective = None if best is None else objective_named(best, "--best")
    _check_accuracy_is_known(objective, limits, reached)
    check_are_axes(axes, limits, objective)
    if within not in ("all", "class"):
        raise InputError(f"--within {within}: unknown; choose all or class")
    search_arguments: dict[str, Any] = {
        "executions": split_executions(executions, MAX_PERIOD) if executions else None,
        "objectives": split_words(objectives, "--objectives") if objectives else None,
        "splitters": split_names(splitters, "--splitters", SPLITTERS) if splitters else None,
        "ticks_per_step": split_ticks(ticks_per_step) if ticks_per_step else None,
        "wide": split_wide(wide) if wide else None,
        "phases": phases,
        "seconds": above_zero("--seconds", seconds),
        "most_mapped": above_zero("--most-mapped", most_mapped),
        "energy_tolerance": check_tolerance(energy_tolerance, "--energy-tolerance"),
        **check_workers(processes, scheduler),
    }
    named, figures = list(dict.fromkeys(chips or [DEFAULT_CHIP])), read_figures(other_figures)
    if is_sweep(figures):
        refuse_in_sweep(best=best, all=every, svg=svg)
        if len(named) > 1:
            raise InputError(f"--chip {named[1]}: --set makes several chips of one; give one --chip")
    check_destinations(
        {"--html": html, "--svg": svg, "--csv": csv, "--json-file": json_file, "--store": store},
        {
            "network file": network,
            "stimulus file": fed.stimulus,
            **{f"chip file {name}": chip_file_of(name) for name in named},
            **reached.files,
        },
    )
    check_run_length(fed.n_frames)
    net = nm.load_network(network)
    pattern = read_pattern(net, given)
    search_arguments = {name: value for name, value in search_arguments.items() if value is not None}
    search_arguments |= {"within": within, "verify": verify, "store": store}
    search_arguments |= {**reached.arguments(net), **stimuli_arguments(fed, stimuli)}
    if is_sweep(figures):
        with progress_bar("explore") as progress:
            asked = {"limits": limits or None, "progress": progress, **search_arguments}
            sweep = sweep_explorations(net, named[0], figures, pattern, **asked)
        give_sweep(sweep, {"html": html, "csv": csv, "json": json_file}, as_json=as_json)
        return
    specs = [nm.load_chip(name, one_value_each(figures)) for name in named]
    watched = ClosestRow(limits)
    with progress_bar("explore") as progress:
        found = search(net, specs, pattern, limits=watched if limits else None, progress=progress, **search_arguments)
    # what --chip and --set take; a chip's name need not be that
    chip_files = {
        spec.name: [name, *(f"--set={words}" for words in other_figures or ())]
        for spec, name in zip(specs, named, strict=True)
        if spec.name != name
    }
    advice, refusal = _advice_or_refusal(found, objective, limits, watched, (str(network), chip_files))
    wanted: tuple[tuple[str | None, Callable[[], str]], ...] = (
        (html, lambda: form(found, "html", limits, advice, str(network), chip_files, every=every)),
        (svg, lambda: form(found, "svg", limits, every=every)),
        (csv, lambda: form(found, "csv", limits)),
        (json_file, lambda: form(found, "json", limits, advice)),
    )
    written = [(path, make()) for path, make in wanted if path is not None]
    write_all(written)
    if as_json:
        sys.stdout.write(form(found, "json", limits, advice))
    else:
        _print(found, limits, advice, [path for path, _ in written], every=every)
    leave(found, refusal)


def _check_accuracy_is_known(objective: Objective | None, limits: Limits, reached: DeadlineOptions) -> None:
    """Refuse what is about accuracy at a deadline where there is none."""
    from neuromap.explorer.answer.objectives import ACCURACY

    if reached.deadline is not None:
        return
    if limits.accuracy_at_deadline is not None:
        raise InputError("--min-accuracy: is of accuracy at a deadline; give --deadline TIME, or drop it")
    if objective == ACCURACY:
        raise InputError("--best accuracy-at-deadline: takes a deadline; give --deadline TIME, or another objective")


def _advice_or_refusal(
    found: Exploration,
    objective: Objective | None,
    limits: Limits,
    watched: ClosestRow,
    names: tuple[str, dict[str, list[str]]],
) -> tuple[Advice | None, DoesNotFitError | None]:
    """Find the best row if one was asked for, and say why there is none within the limits, or at all."""
    from neuromap.explorer.answer.advice import advise
    from neuromap.explorer.answer.objectives import objective_named

    try:
        if objective is not None:
            return advise(found, objective, limits, *names, watched.refused), None
        if limits or not any(row.status == "mapped" for row in found.rows):
            advise(found, objective_named("full response"), limits, refused=watched.refused)
    except DoesNotFitError as error:
        return None, error
    return None, None


def _print(found: Exploration, limits: Limits, advice: Advice | None, written: Sequence[str], *, every: bool) -> None:
    from neuromap.explorer.text import print_exploration

    console = text_console()
    print_exploration(found, console, limits, every=every)
    if advice is not None:
        for line in ("", *advice.lines()):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    for path in written:
        print_written(console, path)


def leave(found: Exploration, refusal: DoesNotFitError | None) -> None:
    """Say in the exit code what the tables say: nothing within the limits, or a chip that computes something else.

    Raises
    ------
    typer.Exit
        With 5 where a row is not verified, 3 where there is a refusal.
    """
    wrong = [row for row in found.rows if row.verified is False]
    if wrong:
        head = f"{len(wrong)} of {counted(found.n_mapped, 'row')} failed"
        head += f", first {wrong[0].pattern}, {wrong[0].candidate.execution}"
        print_error(one_line(f"{head}: chip and reference differ {wrong[0].message}"))
        raise typer.Exit(VerificationError.exit_code)
    if refusal is not None:
        print_error(one_line(str(refusal)))
        raise typer.Exit(refusal.exit_code)
