"""``neuromap explore``: Pareto fronts of rollouts over patterns, executions and chips."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import neuromap as nm
from neuromap.cli.arguments import options as shared
from neuromap.cli.arguments.command import Given, command, in_columns
from neuromap.cli.arguments.run_options import StimuliFlags
from neuromap.cli.printing import text_output
from neuromap.errors import DoesNotFitError, InputError, VerificationError
from neuromap.explorer.answer.limits import ACCURACY, ClosestRow, Limits, objective_named
from neuromap.explorer.candidates.options import ExploreOptions
from neuromap.files.messages import counted
from neuromap.options import option
from neuromap.render.quantities import parse_quantity
from neuromap.render.table import print_text
from neuromap.render.value import form

if TYPE_CHECKING:
    from neuromap.explorer.answer.advice import Advice

# Options of ``neuromap explore`` for accuracy at a deadline.


class DeadlineOptions(Given[None]):
    """Options of accuracy at a deadline."""

    _group: ClassVar = "accuracy"
    deadline: str | None = option(
        "TIME  With --trained: time from stimulus onset, such as 3ms; the accuracy of the last frame that is known by "
        "then becomes an objective."
    )
    trained: list[str] | None = option(
        "PATTERN=FILE  With --deadline: a network of this graph that was trained under this pattern (a name, its "
        "streaming edges, or R of every edge as digits); its weights are those of the pattern's behaviour class. May "
        "be repeated; only classes with such weights are searched."
    )
    data: str = option(f"SOURCE  With --deadline: labelled images, {shared.SOURCES}.", "digits")
    part: str = option("PART  With --deadline: which images, test, validation or train.", "test")
    limit: int | None = option("N  With --deadline: only the first N images.")

    @property
    def files(self) -> dict[str, str | None]:
        """Files to read, by their role."""
        trained = {f"trained network {file}": file for _, file in map(_split, self.trained or [])}
        return {**trained, "image file": shared.image_file_of(self.data)}

    def arguments(self, network: nm.Network) -> dict[str, Any]:
        """Make the arguments of ``explore``: load images, parse patterns and files."""
        if self.deadline is None:
            self.refuse("goes with a deadline; give --deadline TIME, or drop it")
            return {}
        if not self.trained:
            raise InputError(
                f"--deadline {self.deadline}: takes trained weights; give --trained PATTERN=FILE, one for a behaviour "
                "class"
            )
        seconds = parse_quantity(self.deadline, "s", "--deadline")
        pairs = [  # names and digits are left to the library
            (shared.read_pattern(network, text) if "->" in text else text, file)
            for text, file in map(_split, self.trained)
        ]
        images = nm.datasets.load_images(self.data, self.part, limit=self.limit)
        return {"trained": pairs, "images": images, "deadline": seconds}


def _split(text: str) -> tuple[str, str]:
    pattern, sign, file = (part.strip() for part in text.partition("="))
    if not (pattern and sign and file):
        raise InputError(f"--trained {text}: is not a PATTERN=FILE; write it like streaming=trained.toml")
    return pattern, file


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


@command
def explore(
    network: Path = shared.NETWORK,
    *,
    asked: Given[ExploreOptions],
    other: shared.OtherFigures,
    limited: Given[Limits],
    best: str | None = option(
        "OBJECTIVE  Name the best row within the limits, and the command that maps it: first-response, full-response, "
        "worst-case-reaction, sampling-frequency, accuracy-at-deadline, cores or energy."
    ),
    every: bool = option(
        "--all  Print every column and what it means, and also the mapped rows that are on no front.", False
    ),
    reached: DeadlineOptions,
    fed: StimuliFlags,
    html: str | None = option("FILE  Write fronts and rows as one self-contained HTML page to this file."),
    svg: str | None = option("FILE  Write the picture of the fronts to this file.", group="output"),
    csv: str | None = option("FILE  Write all rows as CSV to this file.", group="output"),
    json_file: str | None = option("FILE  Write the exploration as JSON to this file.", group="output"),
    as_json: bool = shared.AS_JSON,
) -> None:
    """Find the rollouts worth running: the Pareto front of responses, sampling frequency, cores and energy.

    Times are computed for every candidate, cores and energy by mapping and simulating those that can be on the
    front. Rows that compute the same function as the given pattern come first (no retraining), then the others.
    Limits leave rows out; times take ns, us, ms or s, energies pJ to J, frequencies Hz, kHz or MHz, bare numbers are
    s, J and Hz. With --deadline and --trained, rows also have the accuracy that they have reached by then. Where --set
    gives a figure of the chip several values, one table says what the front of each chip comes to.
    """
    from neuromap.explorer.answer.advice import advise
    from neuromap.explorer.candidates.asked import check_are_axes, read_objectives
    from neuromap.explorer.text import print_answers, print_exploration

    limits = limited.made()
    axes = read_objectives(asked.objectives, "--objectives")
    objective = None if best is None else objective_named(best, "--best")
    if reached.deadline is None and limits.accuracy_at_deadline is not None:
        raise InputError("--min-accuracy: is of accuracy at a deadline; give --deadline TIME, or drop it")
    if reached.deadline is None and objective == ACCURACY:
        raise InputError("--best accuracy-at-deadline: takes a deadline; give --deadline TIME, or another objective")
    check_are_axes(axes, limits, objective)
    shared.check_workers(asked)
    named = list(dict.fromkeys(asked.chips or [shared.DEFAULT_CHIP]))
    if other.make_several:
        other.refuse_with_several(best=best, svg=svg)
        if len(named) > 1:
            raise InputError(f"--chip {named[1]}: --set makes several chips of one; give one --chip")
    shared.check_destinations(
        {"--html": html, "--svg": svg, "--csv": csv, "--json-file": json_file, "--store": asked.store},
        {
            "network file": network,
            "stimulus file": fed.frames,
            **{f"chip file {name}": shared.chip_file_of(name) for name in named},
            **reached.files,
        },
    )
    fed.random()
    net = nm.load_network(network)
    pattern = shared.read_pattern(net, asked.given)
    how = {name: value for name, value in asked.items() if name not in ("chips", "given")}
    how |= {**reached.arguments(net), **fed}
    if other.make_several:
        with text_output.progress_bar("explore") as progress:
            sweep = nm.explorer.sweep_explorations(
                net, named[0], other.figures, pattern, limits=limits or None, progress=progress, **how
            )
        text_output.give_sweep(sweep, {"html": html, "csv": csv, "json": json_file}, every=every, as_json=as_json)
        return
    specs = [nm.load_chip(name, other.of_one) for name in named]
    watched = ClosestRow(limits)
    with text_output.progress_bar("explore") as progress:
        found = nm.explore(net, specs, pattern, limits=watched if limits else None, progress=progress, **how)
    # as --chip and --set take it, which a chip's name need not be
    chip_files = {
        spec.name: [name, *(f"--set={words}" for words in other.other_figures or ())]
        for spec, name in zip(specs, named, strict=True)
        if spec.name != name
    }
    advice: Advice | None = None
    refusal: DoesNotFitError | None = None
    try:  # the best row if requested, and the reason if there is none within the limits, or at all
        if objective is not None:
            advice = advise(found, objective, limits, str(network), chip_files, watched.refused)
        elif limits or not any(row.status == "mapped" for row in found.rows):
            advise(found, objective_named("full response"), limits, refused=watched.refused)
    except DoesNotFitError as error:
        refusal = error
    written = text_output.write_forms(
        (html, lambda: form(found, "html", limits, advice, str(network), chip_files, every=every)),
        (svg, lambda: form(found, "svg", limits, every=every)),
        (csv, lambda: form(found, "csv", limits)),
        (json_file, lambda: form(found, "json", limits, advice)),
    )
    if as_json:
        sys.stdout.write(form(found, "json", limits, advice))
    else:
        console = text_output.text_console()
        if every:
            print_exploration(found, console, limits, every=True)
        else:
            print_answers(found, console, limits, html)
        if advice is not None:
            *said, typed = advice.lines()
            for line in ("", *said):
                print_text(console, line, indent="  ")
            console.print(in_columns(typed.strip()).rstrip("\n"), markup=False, highlight=False, soft_wrap=True)
        text_output.print_written(console, *written)
    leave(found, refusal)


def leave(found: nm.explorer.Exploration, refusal: DoesNotFitError | None) -> None:
    """Set the exit code: nothing within the limits, or a chip that differs from the reference.

    Raises
    ------
    typer.Exit
        With 5 if a row is not verified, 3 if there is a refusal.
    """
    wrong = [row for row in found.rows if row.verified is False]
    if wrong:
        head = f"{len(wrong)} of {counted(found.n_mapped, 'row')} failed"
        head += f", first {wrong[0].pattern}, {wrong[0].candidate.execution}"
        text_output.fail(f"{head}: chip and reference differ {wrong[0].message}", VerificationError.exit_code)
    if refusal is not None:
        text_output.fail(str(refusal), refusal.exit_code)
