"""``neuromap accuracy``: run labelled images through a network on a chip and measure its accuracy."""

from __future__ import annotations

import re
from pathlib import Path

import neuromap as nm
from neuromap.cli.arguments import options as shared
from neuromap.cli.arguments.command import Given, command
from neuromap.cli.arguments.mapping_flags import MappingFlags
from neuromap.cli.arguments.run_options import check_run_length
from neuromap.cli.printing.text_output import give_form, progress_bar
from neuromap.errors import InputError
from neuromap.files.messages import show_name
from neuromap.files.whole_file import write_whole
from neuromap.options import option
from neuromap.render.quantities import parse_quantity
from neuromap.simulation.engine.engine_choice import EngineChoice

EXAMPLES = """\
\b
Examples:
  neuromap accuracy examples/digits/for_chip/trained.toml
  neuromap accuracy examples/digits/for_chip/trained.toml --pattern sequential --execution pipelined --frames 3
  neuromap accuracy examples/digits/for_chip/trained.toml --frames 3 --sure 95%
  neuromap accuracy examples/digits/for_chip/trained.toml --summed --at 1,2,4
  neuromap accuracy examples/digits/for_chip/trained.toml --part validation --limit 50 --csv frames.csv --json
"""


@command
def accuracy(
    network: Path = shared.NETWORK,
    data: str = shared.DATA,
    pattern: str = shared.PATTERN,
    execution: str = shared.EXECUTION,
    chip: str | None = shared.CHIP,
    part: str = option("PART  Which images: test, validation or train.", "test"),
    frames: int | None = option(
        "N  Frames of the output to decide on, from its first response on.  [default: 1, or the last of --at]"
    ),
    summed: bool = option(
        "Let a frame decide with all before it: for networks whose values are rates.", False, group="decision"
    ),
    at: str | None = option("LIST  Tell only these frames, such as 16,32,64.", group="decision"),
    sure: str | None = option(
        "LEAD  Answer as soon as a class leads by LEAD votes in all frames so far, else at the last frame; all: every "
        "lead; 95%: the least whose sure answers to the training images are right that often.",
        group="decision",
    ),
    limit: int | None = option("N  Only the first N images."),
    seed: int = option("N  Seed of what the encoding draws.", 0, group="decision"),
    *,
    engine: Given[EngineChoice],
    flags: MappingFlags,
    csv: str | None = option("FILE  Write the accuracy of every frame to this file.", group="output"),
    as_json: bool = shared.AS_JSON,
) -> None:
    """Map a network, run a whole set of labelled images through the simulated chip, print its accuracy frame by frame.

    Images become spikes as [inputs.NAME] of the network file says. Neuron n of the output votes for class
    n // (size / classes); a frame names the class with most spikes in it (with the greatest value, where nodes are
    graded), the lowest of equals. With --summed it decides with all frames before it.
    """
    from neuromap.accuracy.measure import ImageFrames, accuracy_on_chip, require_margin

    read = {
        "network file": network,
        "image file": shared.image_file_of(data),
        "chip file": shared.chip_file_of(chip or ""),
        **flags.files,
    }
    shared.check_destinations({"--csv": csv}, read)
    net = nm.load_network(network)
    rollout = nm.Rollout(net, shared.read_pattern(net, pattern), execution)
    spec = flags.chip(shared.chosen_chip(chip))
    options = flags.options(net, spec)
    told, asked = None if at is None else _numbers(at), None if sure is None else _lead(sure)
    last = 1 if told is None else told[-1]
    frames = last if frames is None else frames
    if 0 < frames < last:
        raise InputError(f"--at {at:.60}: frame {last} is beyond --frames {frames}; raise it, or leave it away")
    images = nm.datasets.load_images(data, part, limit=limit)
    training = nm.datasets.load_images(data, "train", limit=limit) if isinstance(asked, float) else None
    n_shown = len(images.images) + (0 if training is None else len(training.images))
    check_run_length(frames * n_shown)
    require_margin(asked, frames, images, training)
    ImageFrames.of(rollout, images, frames, seed)  # mismatches are reported before the mapping, which may take long
    with progress_bar("mapping") as progress:
        mapping = nm.mapping.map_with_stages(rollout, spec, options, progress)
    check_run_length(frames * n_shown, mapping.program)
    with progress_bar("simulating (images)") as progress:
        found = accuracy_on_chip(
            mapping.rollout,
            mapping.program,
            images,
            frames,
            summed=summed,
            at=told,
            sure=asked,
            training=training,
            seed=seed,
            progress=progress,
            **engine,
        )
    if csv is not None:
        write_whole(csv, found.to_csv())
    give_form(found, csv, as_json=as_json)


def _numbers(text: str) -> list[int]:
    found = [int(word) if re.fullmatch("[0-9]{1,9}", word.strip(), re.ASCII) else 0 for word in text.split(",")]
    if found[0] < 1 or sorted({*found}) != found:
        raise InputError(f"--at {text:.60}: must be numbers of frames from 1 on, ascending, such as 16,32,64")
    return found


def _lead(text: str) -> int | float | str:
    """Read a number of votes, a fraction of sure answers, or ``all``."""
    if text == "all":
        return text
    if text.endswith("%"):
        part = parse_quantity(text, "part", "--sure")
        if part < 1:
            return part
    elif re.fullmatch("[0-9]{1,9}", text, re.ASCII):
        return int(text)
    raise InputError(
        f"--sure {show_name(text)}: must be a lead in votes, such as 12, all, or a part below 100 %, such as 95%"
    )
