"""Write a stimulus of held-out handwritten digits, shown one after the other.

    python examples/digits/stimulus.py digits.safetensors --digits 8 --frames 6

The file holds one uint8 tensor "I" of 0 and 1, shape (1 + digits * frames + 3, 64): frame 0 is blank, then each
digit is shown for some frames, then three blank frames let the last answer out. The metadata entry "digits" is JSON:
labels, first_frame, frames_per_digit.
"""

from __future__ import annotations

import argparse
import json
import sys

import data
import numpy as np

from neuromap.errors import InputError
from neuromap.files.sealed import sealed_bytes
from neuromap.files.whole_file import write_whole


def main() -> int:
    """Parse the command line, write the file; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", metavar="OUT.safetensors", help="the file to write")
    parser.add_argument("--digits", type=int, default=8, help="how many digits (%(default)s)")
    parser.add_argument("--frames", type=int, default=6, help="frames per digit (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the frames (%(default)s)")
    args = parser.parse_args()
    if not 1 <= args.digits <= data.HELD_OUT:
        parser.error(f"--digits {args.digits}: must be 1 to {data.HELD_OUT}, the number of held-out digits")
    if not 1 <= args.frames <= 1000:
        parser.error(f"--frames {args.frames}: must be 1 to 1000")
    if args.seed < 0:
        parser.error(f"--seed {args.seed}: must be 0 or more")

    intensities, labels = data.load("held-out")
    labels = labels[: args.digits]
    frames = data.stream(intensities[: args.digits], args.frames, args.seed)
    shown = {"labels": labels.tolist(), "first_frame": 1, "frames_per_digit": args.frames}
    try:
        write_whole(args.out, sealed_bytes("frames", {"I": frames.astype(np.uint8)}, {"digits": json.dumps(shown)}))
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    print(f"{args.out}: {len(frames)} frames, digits {' '.join(map(str, labels))}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
