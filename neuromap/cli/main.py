"""The program ``neuromap``: its commands and its entry point.

Only typer is imported here. Each command imports what it needs when it runs, so that ``neuromap --help``
starts at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

import neuromap
from neuromap.cli.boundary import run_guarded
from neuromap.cli.commands.accuracy import EXAMPLES as ACCURACY_EXAMPLES
from neuromap.cli.commands.accuracy import accuracy
from neuromap.cli.commands.bench import EXAMPLES as BENCH_EXAMPLES
from neuromap.cli.commands.bench import bench
from neuromap.cli.commands.chips import EXAMPLES as CHIPS_EXAMPLES
from neuromap.cli.commands.chips import chips
from neuromap.cli.commands.exchange.export_command import EXAMPLES as EXPORT_EXAMPLES
from neuromap.cli.commands.exchange.export_command import export_command
from neuromap.cli.commands.exchange.import_command import EXAMPLES as IMPORT_EXAMPLES
from neuromap.cli.commands.exchange.import_command import import_command
from neuromap.cli.commands.experiment import EXAMPLES as EXPERIMENT_EXAMPLES
from neuromap.cli.commands.experiment import experiment
from neuromap.cli.commands.explore import EXAMPLES as EXPLORE_EXAMPLES
from neuromap.cli.commands.explore import explore
from neuromap.cli.commands.faults import EXAMPLES as FAULTS_EXAMPLES
from neuromap.cli.commands.faults import faults
from neuromap.cli.commands.live.studio import EXAMPLES as STUDIO_EXAMPLES
from neuromap.cli.commands.live.studio import studio
from neuromap.cli.commands.live.watch import EXAMPLES as WATCH_EXAMPLES
from neuromap.cli.commands.live.watch import watch
from neuromap.cli.commands.map import EXAMPLES as MAP_EXAMPLES
from neuromap.cli.commands.map import map_command
from neuromap.cli.commands.report import EXAMPLES as REPORT_EXAMPLES
from neuromap.cli.commands.report import report
from neuromap.cli.commands.rollouts import EXAMPLES as ROLLOUTS_EXAMPLES
from neuromap.cli.commands.rollouts import rollouts
from neuromap.cli.commands.simulate import EXAMPLES as SIMULATE_EXAMPLES
from neuromap.cli.commands.simulate import simulate
from neuromap.cli.commands.sweep import EXAMPLES as SWEEP_EXAMPLES
from neuromap.cli.commands.sweep import sweep
from neuromap.cli.commands.train import EXAMPLES as TRAIN_EXAMPLES
from neuromap.cli.commands.train import train
from neuromap.cli.commands.verify import EXAMPLES as VERIFY_EXAMPLES
from neuromap.cli.commands.verify import verify

__all__ = ["app", "main"]

_EPILOG = """\
\b
Exit codes:
  0 ok   2 usage or bad input   3 does not fit the chip   4 not supported
  5 verification failed   130 interrupted
\b
Examples:
  neuromap rollouts examples/structures/sr.toml
  neuromap report examples/digits/sr.toml --patterns streaming,sequential,hybrid
  neuromap explore examples/digits/sr.toml --max-cores 200 --max-full-response 5ms --best sampling-frequency
"""


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"neuromap {neuromap.__version__}")
        raise typer.Exit


def _program(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Map rolled-out networks onto simulated neuromorphic chips; predict, measure and prove their latency."""


app = typer.Typer(
    name="neuromap",
    callback=_program,
    epilog=_EPILOG,
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.command("rollouts", short_help="Count and list rollout patterns, with times.", epilog=ROLLOUTS_EXAMPLES)(rollouts)
app.command("chips", short_help="List packaged chips, or show one in full.", epilog=CHIPS_EXAMPLES)(chips)
app.command("map", short_help="Map a rolled-out network onto a chip.", epilog=MAP_EXAMPLES)(map_command)
app.command("simulate", short_help="Run a program on input frames.", epilog=SIMULATE_EXAMPLES)(simulate)
app.command("watch", short_help="A run in the terminal, while it goes.", epilog=WATCH_EXAMPLES)(watch)
app.command("verify", short_help="Check that the chip computes the rollout.", epilog=VERIFY_EXAMPLES)(verify)
app.command("report", short_help="Responses and costs per pattern.", epilog=REPORT_EXAMPLES)(report)
app.command("explore", short_help="Which rollout to run: Pareto fronts.", epilog=EXPLORE_EXAMPLES)(explore)
app.command("sweep", short_help="Many runs at once, into one store.", epilog=SWEEP_EXAMPLES)(sweep)
app.command("accuracy", short_help="How often a chip is right, by tick.", epilog=ACCURACY_EXAMPLES)(accuracy)
app.command("faults", short_help="What a network does on a chip with faults.", epilog=FAULTS_EXAMPLES)(faults)
app.command("studio", short_help="Patterns and a running chip in the browser.", epilog=STUDIO_EXAMPLES)(studio)
app.command("bench", short_help="How fast this machine runs a chip.", epilog=BENCH_EXAMPLES)(bench)
app.command("train", short_help="Train a network under a rollout pattern.", epilog=TRAIN_EXAMPLES)(train)
app.command("experiment", short_help="Patterns trained and compared.", epilog=EXPERIMENT_EXAMPLES)(experiment)
app.command("import", short_help="A network from another tool.", epilog=IMPORT_EXAMPLES)(import_command)
app.command("export", short_help="A program or trace for another tool.", epilog=EXPORT_EXAMPLES)(export_command)


def main(arguments: list[str] | None = None) -> int:
    """Run the program and give its exit code; nothing is raised and no traceback is shown."""
    return run_guarded(app, arguments)
