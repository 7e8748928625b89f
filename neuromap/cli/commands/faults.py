"""``neuromap faults``: the effect of faults on the outputs of a mapped network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import neuromap as nm
from neuromap.cli.arguments import options as shared
from neuromap.cli.arguments.command import Given, command
from neuromap.cli.arguments.mapping_flags import MappingFlags
from neuromap.cli.arguments.run_options import StimuliFlags
from neuromap.cli.printing.fault_section import shown_to_faults
from neuromap.cli.printing.text_output import give_shown, progress_bar, write_forms
from neuromap.errors import InputError
from neuromap.faults.options import StudyOptions
from neuromap.options import option
from neuromap.rollout.schedule.execution import executions_option
from neuromap.simulation.choose_frames import DEFAULT_STIMULI, MOST_STIMULI
from neuromap.simulation.engine.engine_choice import EngineChoice

EXAMPLES = """\
\b
Examples:
  neuromap faults examples/digits/sr.toml --seeds 2 --stimuli 2
  neuromap faults examples/digits/sr.toml --pattern streaming,hybrid --kind silent-neurons --rates 0,0.1 --html sr.html
  neuromap faults examples/digits/sr.toml --kind flipped-synapses --rates 0,0.02 --data digits --limit 50 --json
  neuromap faults examples/digits/sr.toml --kind dead-cores,dead-links --set core.neurons=32 --results faults.results
"""


class FaultFrames(StimuliFlags):
    """Input frames for every chip."""

    n_stimuli: int = option(
        f"--stimuli N  Without --stimulus: random stimuli, 1 to {MOST_STIMULI}, with the seeds from --seed on; every "
        "chip is shown all.",
        DEFAULT_STIMULI,
        within=(1, MOST_STIMULI),
    )


@command
def faults(
    network: Path = shared.NETWORK,
    patterns: list[str] | None = option(
        "--patterns, --pattern PATTERNS  Names separated by commas, or the streaming edges of one pattern ('H1 -> O, "
        "H2 -> O'). May be repeated.  [default: streaming]"
    ),
    executions: list[str] | None = executions_option(
        "--executions, --execution EXECUTIONS  windowed, pipelined, pipelined:P, pipelined:best; separated by "
        "commas.  [default: windowed]"
    ),
    *,
    onto: shared.ChipFlags,
    struck: Given[StudyOptions],
    fed: FaultFrames,
    data: str | None = option(
        f"SOURCE  Show test images instead of random frames, for the accuracy: {shared.SOURCES}."
    ),
    accuracy_frames: int | None = option(
        "N  With --data: frames of the output, from its first response on, of which the last one names the class.  "
        "[default: 1]",
        group="accuracy",
    ),
    limit: int | None = shared.LIMIT,
    engine: Given[EngineChoice],
    flags: MappingFlags,
    every: bool = shared.EVERY,
    html: str | None = option("FILE  Write curves and table as one self-contained HTML page to this file."),
    svg: str | None = option("FILE  Write the curves as a picture to this file.", group="output"),
    csv: str | None = option("FILE  Write the table as CSV to this file.", group="output"),
    json_file: str | None = option("FILE  Write table and single chips as JSON to this file.", group="output"),
    as_json: bool = shared.AS_JSON,
) -> None:
    """Map a network onto a whole chip, let parts of it fail, and print output error and first response over the rates.

    Dead cores and links, dropped spikes, silent and firing neurons, flipped synapses, drawn by seed: what fails at a
    rate fails at every higher one. With --data the accuracy too.
    """
    from neuromap.faults.page import print_study

    if onto.make_several:
        raise InputError("--set: gives the chip several values; give one each, faults are of one chip")
    files = {"--html": html, "--svg": svg, "--csv": csv, "--json-file": json_file, "--results": struck.results}
    read = {
        "network file": network,
        "stimulus file": fed.frames,
        "image file": shared.image_file_of(data),
        "chip file": onto.file,
        **flags.files,
    }
    shared.check_destinations(files, read)
    net = nm.load_network(network)
    rollouts = [
        nm.Rollout(net, shared.read_pattern(net, name), execution)
        for name in shared.split_patterns(patterns or ["streaming"]) or list(patterns or [])
        for execution in executions or ["windowed"]
    ]
    spec = flags.chip(onto.name, onto.of_one)
    shown = _stimuli(fed, data, accuracy_frames, limit)
    with progress_bar("faults") as progress:
        study = nm.faults.study_faults(
            rollouts, spec, options=flags.options(net, spec), choice=engine.made(), progress=progress, **struck, **shown
        )
    written = write_forms((html, study.to_html), (svg, study.to_svg), (csv, study.to_csv), (json_file, study.to_json))
    give_shown(study, lambda console: print_study(study, console, every=every), *written, as_json=as_json)


def _stimuli(fed: FaultFrames, data: str | None, accuracy_frames: int | None, limit: int | None) -> dict[str, Any]:
    """Return the library's arguments ``stimuli`` and ``n_stimuli``."""
    if data is None:
        for flag, value in (("--accuracy-frames", accuracy_frames), ("--limit", limit)):
            if value is not None:
                raise InputError(f"{flag} {value}: is for images; give --data too")
        return shown_to_faults(fed, None, accuracy_frames)
    for name in (name for name in fed if name != "seed"):
        raise InputError(f"--data and {fed.said[name].flag}: give one of them, images are the stimuli")
    return shown_to_faults(fed, nm.datasets.load_images(data, "test", limit=limit), accuracy_frames)
