"""``neuromap verify``: check that the simulated chip computes what the rollout defines."""

from __future__ import annotations

from pathlib import Path

import neuromap as nm
from neuromap.cli.arguments.command import Given, command
from neuromap.cli.arguments.mapping_flags import MappingFlags, ProgramFlags
from neuromap.cli.arguments.options import AS_JSON, NETWORK
from neuromap.cli.arguments.run_options import FrameFlags, check_run_length
from neuromap.cli.printing.text_output import print_json, progress_bar, text_console
from neuromap.options import option
from neuromap.simulation.choose_frames import choose_frames
from neuromap.simulation.engine.engine_choice import EngineChoice

EXAMPLES = """\
\b
Examples:
  neuromap verify examples/digits/sr.toml
  neuromap verify examples/digits/sr.toml --pattern hybrid --execution pipelined --frames 100
  neuromap verify examples/digits/sr.toml --splitters anywhere --placer hilbert
  python examples/digits/stimulus.py digits.safetensors  (needs scikit-learn)
  neuromap verify examples/digits/sr.toml --program sr.nmp --stimulus digits.safetensors
"""


class VerifiedFlags(ProgramFlags):
    """The program that is verified."""

    program_file: Path | None = option("--program FILE  Verify this program instead of mapping.")


@command
def verify(
    network: Path = NETWORK,
    *,
    asked: VerifiedFlags,
    fed: FrameFlags,
    engine: Given[EngineChoice],
    flags: MappingFlags,
    as_json: bool = AS_JSON,
) -> None:
    """Compare the simulated chip with the chip-free reference, frame by frame, spike for spike.

    Fails with exit code 5 where a frame differs, a spike belongs to no frame, the program breaks a rule of its
    chip, or its frame period is not the rollout's.
    """
    from neuromap.cli.printing.documents import TITLE, VERIFICATION, labels_of

    asked.check(flags)
    check_run_length(fed.n_frames)
    net = nm.load_network(network)
    frames, made = choose_frames(net, fed.frames, fed.random())
    with progress_bar("mapping") as progress:
        rollout, program = asked.read(net, flags, progress)
    check_run_length(made["n_frames"], program)
    with progress_bar("comparing chip and reference"):
        found = nm.verify(rollout, program, frames, **engine)

    labels = labels_of(net, rollout, program)
    if as_json:
        print_json(labels | VERIFICATION.write(found))
    elif found.verified:
        console = text_console()
        console.print(f"{TITLE.format_map(labels)}: verified", markup=False)
        console.print(found.message, markup=False)
    nm.verification.require_verified(found)
