"""``neuromap train``: train a network under a rollout pattern."""

from __future__ import annotations

from typing import Annotated

import typer

from neuromap.cli.arguments.destinations import check_destinations
from neuromap.cli.arguments.option_blocks import with_option_blocks
from neuromap.cli.arguments.options import JsonFlag, NetworkFile, PatternOption, file_option, said_option
from neuromap.cli.arguments.training_flags import DataOption, LimitOption, TrainingFlags
from neuromap.cli.arguments.typed_patterns import read_pattern
from neuromap.cli.printing.json_output import print_json
from neuromap.cli.printing.progress import progress_bar
from neuromap.cli.printing.text_output import print_written, text_console, text_width

__all__ = ["EXAMPLES", "train"]

EXAMPLES = """\
\b
Examples:
  neuromap train examples/digits/real/sr.toml --epochs 5
  neuromap train examples/digits/real/sr.toml --pattern hybrid --epochs 5 -o sr.safetensors
  neuromap train examples/digits/real/sr.toml --pattern sequential --epochs 5 --test --csv epochs.csv --json
"""


@with_option_blocks
def train(
    network: NetworkFile,
    data: DataOption = "digits",
    pattern: PatternOption = "streaming",
    *,
    flags: TrainingFlags,
    limit: LimitOption = None,
    test: Annotated[
        bool,
        typer.Option("--test", help="Measure on the test images at the end, instead of the validation images."),
    ] = False,
    checkpoint: Annotated[
        str | None,
        said_option(
            "-o",
            "--checkpoint",
            metavar="FILE",
            text="Keep weights and state in this file (safetensors) after every epoch; if it is there, go on from it.",
        ),
    ] = None,
    csv: Annotated[str | None, file_option("--csv", holds="loss and accuracy of every epoch")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Train a real-valued network under a rollout pattern, and print its accuracy frame by frame.

    Noise, activations and dropout stand in the network file. A run that was stopped goes on from its checkpoint and
    ends with the weights that it would have had. Needs PyTorch: pip install 'neuromap-rollouts[training]'.
    """
    import neuromap as nm
    from neuromap.datasets.sources import load_images
    from neuromap.files.whole_file import write_whole
    from neuromap.training.asked.torch_extra import require_torch
    from neuromap.training.forms.text import render_text
    from neuromap.training.train_network import train_network

    options = flags.options()
    check_destinations({"--checkpoint": checkpoint, "--csv": csv}, {"network file": network})
    net = nm.load_network(network)
    rollout = nm.Rollout(net, read_pattern(net, pattern))
    require_torch("train")
    parts = ("train", "validation", "test") if test else ("train", "validation")
    images = {part: load_images(data, part, limit=limit) for part in parts}
    with progress_bar("training") as progress:
        found = train_network(rollout, images, options, checkpoint, progress)
    if csv is not None:
        write_whole(csv, found.to_csv())
    if as_json:
        print_json(found.to_dict())
        return
    console = text_console()
    console.print(render_text(found, text_width()), markup=False, soft_wrap=True, end="")
    print_written(console, checkpoint)
    print_written(console, csv)
