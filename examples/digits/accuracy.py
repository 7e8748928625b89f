"""Measure how often a mapped network names held-out digits, on the simulated chip.

    python examples/digits/accuracy.py examples/digits/sr.toml --pattern hybrid --frames 12

Every digit is a stimulus of its own, from the chip's initial state: a blank frame 0, the digit for some frames, three
blank frames that let the last answer out. The digit whose neurons spike most often in all frames wins, the smaller one
of equals.
"""

from __future__ import annotations

import argparse
import sys

import data
import numpy as np

import neuromap as nm
from neuromap.errors import NeuromapError


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
    args = parser.parse_args()
    if not 1 <= args.digits <= data.HELD_OUT:
        parser.error(f"--digits {args.digits}: must be 1 to {data.HELD_OUT}, the number of held-out digits")
    if not 1 <= args.frames <= 1000:
        parser.error(f"--frames {args.frames}: must be 1 to 1000")
    if args.seed < 0:
        parser.error(f"--seed {args.seed}: must be 0 or more")

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
