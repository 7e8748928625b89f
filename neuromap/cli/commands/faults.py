"""``neuromap faults``: what becomes of a mapped network when parts of the chip fail."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuromap.cli.arguments.chip_figures import SetOption, is_sweep, one_value_each, read_figures
from neuromap.cli.arguments.destinations import check_destinations
from neuromap.cli.arguments.engine_options import EngineOptions
from neuromap.cli.arguments.frame_options import FrameOptions, check_run_length, stimuli_arguments
from neuromap.cli.arguments.mapping_flags import MappingFlags
from neuromap.cli.arguments.option_blocks import with_option_blocks
from neuromap.cli.arguments.options import (
    ChipOption,
    JsonFlag,
    NetworkFile,
    chip_file_of,
    chosen_chip,
    file_option,
    said_option,
)
from neuromap.cli.arguments.training_flags import LimitOption
from neuromap.cli.arguments.typed_lists import split_executions, split_names, split_rates
from neuromap.cli.arguments.typed_patterns import read_pattern, split_patterns
from neuromap.cli.printing.progress import progress_bar
from neuromap.cli.printing.text_output import print_written, text_console
from neuromap.errors import InputError
from neuromap.simulation.frame_defaults import DEFAULT_STIMULI, MOST_STIMULI

if TYPE_CHECKING:
    from neuromap.network.network import Network
    from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["EXAMPLES", "faults"]

EXAMPLES = """\
\b
Examples:
  neuromap faults examples/digits/sr.toml --seeds 2 --stimuli 2
  neuromap faults examples/digits/sr.toml --pattern streaming,hybrid --kind silent-neurons --rates 0,0.1 --html sr.html
  neuromap faults examples/digits/sr.toml --kind flipped-synapses --rates 0,0.02 --data digits --limit 50 --json
  neuromap faults examples/digits/sr.toml --kind dead-cores,dead-links --set core.neurons=32 --results faults.results
"""


@dataclass(frozen=True)
class FaultOptions:
    """Which faults, and how many; one parameter of the command (see ``option_blocks``)."""

    kinds: Annotated[
        list[str] | None,
        said_option(
            "--kinds",
            "--kind",
            metavar="KINDS",
            text="Kinds of faults, separated by commas: dead-cores, dead-links, dropped-spikes, silent-neurons, "
            "firing-neurons, flipped-synapses. A chip has faults of one kind.  [default: all]",
        ),
    ] = None
    rates: Annotated[
        list[str] | None,
        said_option(
            "--rates",
            metavar="RATES",
            text="Parts of what is at risk that fail, 0 to 1, separated by commas.  [default: 0,0.01,0.02,0.05,0.1]",
        ),
    ] = None
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", help="Chips of every kind and rate, 1 to 1000.")] = 5
    processes: Annotated[int, typer.Option("--processes", metavar="N", help="Chips that run at the same time.")] = 1
    results: Annotated[
        str | None,
        said_option("--results", metavar="FILE", text="Keep every chip in this file; what is in it is not done again."),
    ] = None

    def arguments(self) -> dict[str, Any]:
        """Make the library's arguments.

        Raises
        ------
        InputError
            If a kind is unknown, or a rate is no part from 0 to 1.
        """
        from neuromap.faults.measure_study import DEFAULT_RATES
        from neuromap.faults.struck_program import KINDS

        return {
            "kinds": split_names(self.kinds, "--kinds", tuple(KINDS)) if self.kinds else tuple(KINDS),
            "rates": split_rates(self.rates, "--rates") if self.rates else DEFAULT_RATES,
            "seeds": self.seeds,
            "processes": self.processes,
            "results": self.results,
        }


@with_option_blocks
def faults(
    network: NetworkFile,
    patterns: Annotated[
        list[str] | None,
        said_option(
            "--patterns",
            "--pattern",
            metavar="PATTERNS",
            text="Names separated by commas, or the streaming edges of one pattern ('H1 -> O, H2 -> O'). "
            "May be repeated.  [default: streaming]",
        ),
    ] = None,
    executions: Annotated[
        list[str] | None,
        said_option(
            "--executions",
            "--execution",
            metavar="EXECUTIONS",
            text="windowed, pipelined, pipelined:P, pipelined:best; separated by commas.  [default: windowed]",
        ),
    ] = None,
    chip: ChipOption = None,
    other_figures: SetOption = None,
    *,
    struck: FaultOptions,
    fed: FrameOptions,
    stimuli: Annotated[
        int | None,
        said_option(
            "--stimuli",
            metavar="N",
            text=f"Without --stimulus: random stimuli, 1 to {MOST_STIMULI}, with the seeds from --seed on; every "
            f"chip is shown all.  [default: {DEFAULT_STIMULI}]",
        ),
    ] = None,
    data: Annotated[
        str | None,
        said_option(
            "--data",
            metavar="SOURCE",
            text="Show the test images of mnist:PATH, cifar10:PATH, gtsrb:PATH or digits instead of random frames, for "
            "the accuracy.",
        ),
    ] = None,
    accuracy_frames: Annotated[
        int | None,
        said_option(
            "--accuracy-frames",
            metavar="N",
            text="With --data: frames of the output, from its first response on, of which the last one names the class."
            "  [default: 1]",
        ),
    ] = None,
    limit: LimitOption = None,
    engine: EngineOptions,
    flags: MappingFlags,
    html: Annotated[str | None, file_option("--html", holds="curves and table as one self-contained HTML page")] = None,
    svg: Annotated[str | None, file_option("--svg", holds="the curves as a picture")] = None,
    csv: Annotated[str | None, file_option("--csv", holds="the table as CSV")] = None,
    json_file: Annotated[str | None, file_option("--json-file", holds="table and single chips as JSON")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Map a network onto a whole chip, let parts of it fail, and print output error and first response over the rates.

    Dead cores and links, dropped spikes, silent and firing neurons, flipped synapses, drawn by seed: what fails at a
    rate fails at every higher one. With --data the accuracy too.
    """
    import neuromap as nm
    from neuromap.faults.forms import print_study
    from neuromap.faults.measure_study import study_faults
    from neuromap.files.whole_file import write_all
    from neuromap.simulation.engine.engine_choice import EngineChoice

    asked, how = struck.arguments(), EngineChoice(**engine.arguments())
    chip, figures = chosen_chip(chip), read_figures(other_figures)
    if is_sweep(figures):
        raise InputError("--set: gives the chip several values; give one each, faults are of one chip")
    files = {"--html": html, "--svg": svg, "--csv": csv, "--json-file": json_file, "--results": struck.results}
    read = {"network file": network, "stimulus file": fed.stimulus, "chip file": chip_file_of(chip), **flags.files}
    check_destinations(files, read)
    net = nm.load_network(network)
    rollouts = _rollouts(net, patterns, executions)
    spec = flags.chip(chip, one_value_each(figures))
    shown = _stimuli(fed, stimuli, data, accuracy_frames, limit)
    with progress_bar("faults") as progress:
        study = study_faults(
            rollouts, spec, options=flags.options(net, spec), choice=how, progress=progress, **asked, **shown
        )
    forms = ((html, study.to_html), (svg, study.to_svg), (csv, study.to_csv), (json_file, study.to_json))
    written = [(path, form()) for path, form in forms if path is not None]
    write_all(written)
    if as_json:
        sys.stdout.write(study.to_json())
        return
    console = text_console()
    print_study(study, console)
    for path, _ in written:
        print_written(console, path)


def _rollouts(net: Network, patterns: list[str] | None, executions: list[str] | None) -> list[Rollout]:
    from neuromap.rollout.schedule.rollout import Rollout

    names = split_patterns(patterns or ["streaming"]) or list(patterns or [])
    wanted = split_executions(executions) if executions else ["windowed"]
    return [Rollout(net, read_pattern(net, name), execution) for name in names for execution in wanted]


def _stimuli(
    fed: FrameOptions, stimuli: int | None, data: str | None, accuracy_frames: int | None, limit: int | None
) -> dict[str, Any]:
    """Make the library's arguments ``stimuli`` and ``n_stimuli``."""
    from neuromap.datasets.sources import load_images
    from neuromap.faults.measure_study import ShownImages

    if data is None:
        for option, value in (("--accuracy-frames", accuracy_frames), ("--limit", limit)):
            if value is not None:
                raise InputError(f"{option} {value}: is for images; give --data too")
        check_run_length(fed.n_frames)
        n_stimuli = stimuli_arguments(fed, stimuli).get("n_stimuli")
        said = {} if n_stimuli is None else {"n_stimuli": n_stimuli}
        return {"stimuli": fed.random() if fed.stimulus is None else fed.stimulus, **said}
    for name, given in (("--stimulus", fed.stimulus), ("--frames", fed.n_frames), ("--stimuli", stimuli),
                        ("--density", fed.density)):  # fmt: skip
        if given is not None:
            raise InputError(f"--data and {name}: give one of them, images are the stimuli")
    images = load_images(data, "test", limit=limit)
    n_frames = 1 if accuracy_frames is None else accuracy_frames
    check_run_length(n_frames * len(images.images))
    return {"stimuli": ShownImages(images, n_frames, fed.seed)}
