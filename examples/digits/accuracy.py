"""Measure how often a mapped network names held-out digits, on the simulated chip.

    python examples/digits/accuracy.py examples/digits/sr.toml --pattern hybrid --frames 12
    python examples/digits/accuracy.py examples/digits/sr.toml --rows     # rows of the tables in README.md

Every digit is a stimulus of its own, from the chip's initial state: a blank frame 0, the digit for some frames, three
blank frames that let the last answer out. The digit whose neurons spike most often in all frames wins, the smaller one
of equals. With --rows, digits follow each other without pauses, and no chip is simulated: spikes are those of
neuromap.reference, 12 frames for each digit, under every pattern that the network file names.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import data
import numpy as np

import neuromap as nm
from neuromap.errors import NeuromapError

ROWS_FRAMES = 12
FRAME_COLUMNS = (1, 2, 3, 6, 12)
STEP_COLUMNS = (3, 6, 9, 12)


def rows(path: Path) -> list[str]:
    """Give the rows of README.md's tables: accuracies by frame, then by update step in windowed execution."""
    net = nm.load_network(path)
    intensities, labels = data.load("held-out")
    frames = data.stream(intensities, ROWS_FRAMES, seed=1)
    by_frame, by_step = [], []
    for pattern in ("streaming", "sequential", *net.patterns):
        rollout = nm.Rollout(net, pattern)
        spikes = nm.reference(rollout, {"I": frames})["O"]
        single, accumulated = data.curves(rollout, spikes, labels, ROWS_FRAMES)
        by_frame.append(row(path.stem, pattern, *(c[k - 1] for c in (single, accumulated) for k in FRAME_COLUMNS)))
        period, first = int(rollout.frame_period), rollout.first_response("O")
        known = [accumulated[(step - first) // period] for step in STEP_COLUMNS]
        by_step.append(row(path.stem, pattern, period, first, *known))
    return [*by_frame, *by_step]


def row(*cells: str | int | float) -> str:
    """Write one line of a Markdown table."""
    return "| " + " | ".join(f"{c:.3f}" if isinstance(c, float) else str(c) for c in cells) + " |"


def main() -> int:
    """Parse the command line, print the accuracy; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", metavar="NET", help="a network file of this folder")
    parser.add_argument("--pattern", default="streaming", help="rollout pattern (%(default)s)")
    parser.add_argument("--execution", default="windowed", help="windowed or pipelined (%(default)s)")
    parser.add_argument("--chip", default="truenorth", help="chip (%(default)s)")
    parser.add_argument("--digits", type=int, default=data.HELD_OUT, help="how many digits (%(default)s)")
    parser.add_argument("--frames", type=int, default=12, help="frames per digit (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the frames (%(default)s)")
    parser.add_argument("--threads", type=int, default=None, help="digits at the same time (the cores of the machine)")
    parser.add_argument("--rows", action="store_true", help="print rows of the tables in README.md instead")
    args = parser.parse_args()
    if not 1 <= args.digits <= data.HELD_OUT:
        parser.error(f"--digits {args.digits}: must be 1 to {data.HELD_OUT}, the number of held-out digits")
    if not 1 <= args.frames <= 1000:
        parser.error(f"--frames {args.frames}: must be 1 to 1000")
    if args.seed < 0:
        parser.error(f"--seed {args.seed}: must be 0 or more")

    if args.rows:
        print(*rows(Path(args.network)), sep="\n")
        return 0
    intensities, labels = data.load("held-out")
    labels = labels[: args.digits]
    shown = data.encode(intensities[: args.digits], args.frames, args.seed)
    stimuli = np.pad(shown, ((0, 0), (1, data.TAIL), (0, 0)))
    try:
        net = nm.load_network(args.network)
        rollout = nm.Rollout(net, args.pattern, args.execution)
        program = nm.map_rollout(rollout, chip=args.chip)
        batch = nm.simulate_batch(program, {"I": stimuli}, keep="counts", threads=args.threads)
    except NeuromapError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    votes = batch.counts("O").reshape(len(labels), data.CLASSES, -1).sum(axis=2)
    accuracy = (votes.argmax(axis=1) == labels).mean()
    shown_how = f"{len(labels)} digits, {args.frames} frames each"
    print(f"{net.name} ({args.pattern}, {args.execution}) on {program.chip.name}: {accuracy:.3f} of {shown_how}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
