"""``neuromap experiment``: train networks repeatedly under several patterns, and draw their accuracy."""

from __future__ import annotations

from pathlib import Path

import neuromap as nm
from neuromap.cli.arguments.command import command
from neuromap.cli.arguments.options import AS_JSON, LIMIT, check_destinations, image_file_of
from neuromap.cli.printing import text_output
from neuromap.options import argument, option

EXAMPLES = """\
\b
Examples:
  neuromap experiment
  neuromap experiment examples/digits/real/experiment.toml --epochs 1 --repetitions 1
  neuromap experiment examples/digits/real/experiment.toml --epochs 1 --limit 99 --folder quick --csv sr.csv
"""


@command
def experiment(
    name: str | None = argument("NAME  Name of an experiment, or its file; without one, those that there are.", None),
    data: str | None = option("SOURCE  Where the images are, such as mnist:PATH.  [default: digits, if those]"),
    folder: Path | None = option(
        "FOLDER  Holds checkpoints and results; what is done there is not done again.  [default: build/NAME]"
    ),
    processes: int = option("N  Runs at the same time.", 1),
    repetitions: int | None = option("N  Runs of every curve.  [default: the experiment's]"),
    epochs: int | None = option("N  Epochs of every run.  [default: the experiment's]"),
    limit: int | None = LIMIT,
    only: list[str] | None = option(
        "NAMES  Only these curves, or all of these networks, such as DSR0,DSR4.", items="str", group="training"
    ),
    device: str | None = option("NAME  cpu or cuda.  [default: the experiment's]", group="training"),
    precision: str | None = option("NAME  float32 or bfloat16.  [default: the experiment's]", group="training"),
    graphs: bool = option("With --device cuda: captured graphs.", False, group="training"),
    csv: str | None = option("FILE  Write the points to this file."),
    svg: str | None = option("FILE  Write the figure to this file."),
    save: str | None = option("-o, --save FILE  Write the whole result, as JSON, to this file."),
    as_json: bool = AS_JSON,
) -> None:
    """Train every curve of an experiment as often as it asks for, and hold the accuracies against published ones.

    A run that was stopped goes on from its last epoch. Needs PyTorch: pip install 'neuromap-rollouts[training]'.
    """
    if name is None:
        names = nm.experiments.list_experiments()
        if as_json:
            text_output.print_json({"experiments": list(names)})
            return
        for known in names:
            text_output.print_line(
                text_output.text_console(), f"{known}: {nm.experiments.load_experiment(known).title}"
            )
        return
    from neuromap.experiments.experiment import RESULTS

    asked = nm.experiments.load_experiment(name)
    folder = Path("build") / asked.name if folder is None else folder
    source = asked.data if data is None else data
    read: dict[str, str | Path | None] = {"experiment file": name, "file of results": folder / RESULTS}
    read["image file"] = image_file_of(source)
    check_destinations({"--csv": csv, "--svg": svg, "--save": save}, read)
    with text_output.progress_bar(asked.name) as progress:
        found = nm.experiments.run_experiment(
            asked,
            source,
            folder,
            processes=processes,
            repetitions=repetitions,
            epochs=epochs,
            limit=limit,
            only=only or (),
            device=device,
            precision=precision,
            graphs=graphs,
            progress=progress,
        )
    written = text_output.write_forms((csv, found.to_csv), (svg, found.to_svg), (save, found.to_json))
    text_output.give_form(found, *written, as_json=as_json)
