"""``neuromap train``: train a network under a rollout pattern."""

from __future__ import annotations

from pathlib import Path

import neuromap as nm
from neuromap.cli.arguments import options as shared
from neuromap.cli.arguments.command import Given, command
from neuromap.cli.printing.text_output import give_form, print_line, progress_bar, text_console
from neuromap.errors import InputError
from neuromap.files.whole_file import write_whole
from neuromap.options import option
from neuromap.training.options.training_options import HardwareOptions, TrainingOptions, require_torch

EXAMPLES = """\
\b
Examples:
  neuromap train examples/digits/real/sr.toml --epochs 2 --limit 300
  neuromap train examples/digits/real/sr.toml --pattern hybrid --epochs 2 --limit 300 --checkpoint sr.safetensors
  neuromap train examples/digits/real/sr.toml --epochs 1 --limit 99 --test --csv epochs.csv --json
  neuromap train examples/digits/real/sr.toml --pattern learned --loss-over-time deadline=3 --epochs 4 --limit 99
  neuromap train examples/digits/for_chip/untrained.toml --for truenorth --epochs 2 --learning-rate 1e-2 -o mine.toml
"""


@command
def train(
    network: Path = shared.NETWORK,
    data: str = shared.DATA,
    pattern: list[str] | None = option(
        "PATTERN  Rollout pattern: streaming, sequential, a name from the file, or its streaming edges ('H1 -> O, H2 "
        "-> O'). Given several times: one set of weights for all, in turn. learned: learned with the weights.  "
        "[default: streaming]"
    ),
    execution: str = shared.EXECUTION,
    *,
    flags: Given[TrainingOptions],
    limit: int | None = shared.LIMIT,
    test: bool = option(
        "Measure on the test images at the end, instead of the validation images.", False, group="training"
    ),
    with_validation: bool = option(
        "With --test: train on the validation images too, measure at the end.", False, group="training"
    ),
    checkpoint: str | None = option(
        "FILE  Keep weights and state in this file (safetensors) after every epoch; if it is there, go on from it.",
        group="training",
    ),
    chip: str | None = option(
        "--for CHIP  Train integer weights and thresholds for this chip: a packaged one or a chip file."
    ),
    hardware: Given[HardwareOptions],
    output: str | None = option(
        "-o, --output NAME.toml  With --for: write the trained network to this file, and its weights beside it."
    ),
    csv: str | None = option("FILE  Write loss and accuracy of every epoch to this file.", group="output"),
    as_json: bool = shared.AS_JSON,
) -> None:
    """Train a network under a rollout pattern, or under several, and print its accuracy frame by frame.

    Values are real, or with --for spikes, or of a graded network integers, with weights and thresholds as a chip has
    them: what is chosen for the chip is printed first, and the network that is written maps without any loss. Noise,
    activations and dropout stand in the network file. A run that was stopped goes on from its checkpoint and ends with
    the weights that it would have had. Needs PyTorch: pip install 'neuromap-rollouts[training]'.
    """
    flags.made()  # out-of-range options are reported before anything is read
    for words in (*hardware.words, *([] if output is None else [f"--output {output}"])):
        if chip is None:
            raise InputError(
                f"{words}: is of training for a chip; give --for truenorth (graded networks: --for loihi2), or drop it"
            )
    if output is not None and not output.endswith(".toml"):
        raise InputError(f"--output {output}: is not a network file; give a name that ends in .toml")
    if with_validation and not test:
        raise InputError(
            "--with-validation: leaves no image to measure on but the test images; give --test, or drop it"
        )
    outputs = {"--checkpoint": checkpoint, "--csv": csv, "--output": output}
    read: dict[str, str | Path | None] = {
        "network file": network,
        "image file": shared.image_file_of(data),
        "chip file": shared.chip_file_of(chip or ""),
    }
    shared.check_destinations({**outputs, "--output, its weights": shared.weights_beside(output)}, read)
    net = nm.load_network(network)
    rollouts = _trained(net, pattern or ["streaming"], execution)
    require_torch("train")
    parts = ("train", "validation", "test") if test else ("train", "validation")
    images = {part: nm.datasets.load_images(data, part, limit=limit) for part in parts}
    if with_validation:
        images = {"train": images["train"].joined(images["validation"]), "test": images["test"]}
    made = None
    with progress_bar("training") as progress:
        if chip is None:
            found = nm.training.train_network(rollouts, images, flags.made(), checkpoint, progress)
        else:
            asked = {**flags.keywords, **hardware.keywords}
            made = nm.training.train_for_chip(rollouts, nm.load_chip(chip), images, asked, None, checkpoint, progress)
            found = made.result
            if output is not None:
                made.network.save(output)
    if csv is not None:
        write_whole(csv, found.to_csv())
    chosen = {} if made is None else {"chip": chip, "chosen": list(made.lines)}
    for line in () if made is None or as_json else made.lines:
        print_line(text_console(), line)
    give_form(found, checkpoint, csv, output, as_json=as_json, **chosen)


def _trained(network: nm.Network, patterns: list[str], execution: str) -> nm.training.LearnedPattern | list[nm.Rollout]:
    """Return what to train: a rollout for every pattern, or a pattern to learn."""
    from neuromap.training.network_training import LEARNED

    if LEARNED not in patterns:
        return [nm.Rollout(network, shared.read_pattern(network, text), execution) for text in patterns]
    if len(patterns) > 1:
        raise InputError(
            f"--pattern {LEARNED}: is given with --pattern {next(text for text in patterns if text != LEARNED)}; a "
            "pattern is learned alone, give one"
        )
    return nm.training.LearnedPattern(network, execution)
