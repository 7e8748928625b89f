"""``neuromap search``: search for the most accurate network and rollout, patterns and weights together."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import neuromap as nm
from neuromap.cli.arguments import options as shared
from neuromap.cli.arguments.command import Given, command
from neuromap.cli.printing.text_output import print_form, print_written, progress_bar, text_console, write_forms
from neuromap.errors import InputError
from neuromap.options import argument, option
from neuromap.render.value import form
from neuromap.searcher.options import KEPT, SearchOptions
from neuromap.training.options.training_options import HardwareOptions, TrainingOptions, require_torch

EXAMPLES = """\
\b
Examples:
  neuromap search examples/digits/deadline/untrained.toml --data digits --html search.html
  neuromap search examples/digits/deadline/untrained.toml --data digits --deadline 3ms --max-cores 5 -o digits-search
  neuromap search examples/digits/deadline/untrained.toml --data digits --budget 40 --epochs 40 --seeds 0,1 --json
"""


class TrainingFlags(Given[TrainingOptions]):
    """Options of a full training; a search sets seed and threads itself."""

    _group: ClassVar = "training"
    without = ("seed", "threads")
    epochs: int = option(
        "N  Epochs of a full training, of which the default budget is made.  [default: about 2,500 steps]",
        100,
        within=(1, 100_000),
    )


# options that are not typed are chosen for the chip, like train --for, rather than the defaults of plain training
TrainingFlags.said = {name: replace(said, default=None, group="training") for name, said in TrainingFlags.said.items()}


@command
def search(
    networks: list[Path] = argument(
        "NET  Network files (TOML): layers, bits of weights and codes of inputs may differ."
    ),
    data: str | None = option(
        f"SOURCE  Labelled images: {shared.SOURCES} (scikit-learn's); streams of them: {shared.STREAMS}."
    ),
    *,
    asked: Given[SearchOptions],
    flags: TrainingFlags,
    hardware: Given[HardwareOptions],
    limit: int | None = shared.LIMIT,
    html: str | None = option("FILE  Write curves, front and commands as one self-contained HTML page to this file."),
    svg: str | None = option("FILE  Write the curves as a picture to this file.", group="output"),
    csv: str | None = option("FILE  Write the curves as CSV to this file.", group="output"),
    every: bool = shared.EVERY,
    as_json: bool = shared.AS_JSON,
) -> None:
    """Find which network under which rollout is right most often on a chip, by a deadline or over time.

    One network is trained for each behaviour class, all from one set of weights, by successive halving under one budget
    of epochs; of several network files, all classes compete. Rollouts of the classes that stay are mapped, verified and
    run on all images. The same command goes on where it was ended, whatever ended it. Needs PyTorch: pip install
    'neuromap-rollouts[training]'.
    """
    if data is None:
        raise InputError("--data: is missing; give labelled images, such as --data digits")
    made, folder = asked.made(), asked.folder or f"{'-'.join(path.stem for path in networks)[:100]}-search"
    flags.made()
    hardware.made()
    kept = {f"{name} of the search": Path(folder) / name for name in KEPT}
    read = {
        **{f"network file {path}": path for path in (*networks, *Path(folder).glob("*.toml"))},
        "image file": shared.image_file_of(data),
        f"chip file {made.chip}": shared.chip_file_of(str(made.chip)),
        **kept,
    }
    shared.check_destinations({"--html": html, "--svg": svg, "--csv": csv}, read)
    nets = [nm.load_network(path) for path in networks]
    require_torch("search")
    images = {part: nm.datasets.load_images(data, part, limit=limit) for part in ("train", "validation", "test")}
    training = {**flags.keywords, **hardware.keywords}
    with progress_bar("search") as progress:
        how = {**asked.keywords, "folder": folder, "training": training, "progress": progress}
        found = nm.search(nets, images=images, **how)
    called = shlex.join(["neuromap", *sys.argv[1:]])
    written = write_forms(
        (html, lambda: form(found, "html", called, data, limit)), (svg, found.to_svg), (csv, found.to_csv)
    )
    if as_json:
        sys.stdout.write(found.to_json())
        return
    console = text_console()
    print_form(console, form(found, "text", console.width, every=every))
    print_written(console, folder, *written)
