"""Measure what faults of a chip do to SR of the digits under three rollout patterns: the curves of docs/faults.md.

    python examples/digits/faults.py                      # about 3 minutes of one core
    python examples/digits/faults.py --images 20 --seeds 2 --out build/faults.json --svg build/faults.svg

The chip is TrueNorth with cores of 32 neurons, so that the network takes about 30 cores and its spikes cross about 60
links. Chips that are measured are kept in build/faults.results, and not measured again. It needs scikit-learn.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import neuromap as nm
from neuromap.errors import NeuromapError
from neuromap.faults import ShownImages, study_faults
from neuromap.files.whole_file import write_whole

HERE = Path(__file__).resolve().parent
PATTERNS = ("streaming", "sequential", "hybrid")
SHOWN = PATTERNS[:2]
"""Patterns in the table of docs/faults.md: hybrid is of the class of sequential, and hardly differs."""
RATES = (0.0, 0.01, 0.02, 0.05, 0.1)
FRAMES = 3


def page_table(document: dict[str, Any]) -> str:
    """Give the table of docs/faults.md: output error and accuracy at 2 % and at 10 %, but for hybrid."""
    points = {(p["kind"], p["pattern"], p["rate"]): p for p in document["points"]}
    lines = [
        "| fault | pattern | output error at 2 % | at 10 % | accuracy at 2 % | at 10 % |",
        "|---|---|---|---|---|---|",
    ]
    for kind in document["kinds"]:
        for pattern in SHOWN:
            few, many = (points[kind, pattern, rate] for rate in (0.02, 0.1))
            cells = [kind, pattern, *(estimate(p["error"]) for p in (few, many))]
            cells += [estimate(p["accuracy"]) for p in (few, many)]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def estimate(found: dict[str, float]) -> str:
    """Write a figure with its interval."""
    return f"{found['value']:.3f} ({found['low']:.3f} to {found['high']:.3f})"


def main() -> int:
    """Parse the command line, measure, write points and picture; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=200, help="test images (%(default)s)")
    parser.add_argument("--seeds", type=int, default=10, help="chips of every kind and rate (%(default)s)")
    parser.add_argument("--processes", type=int, default=1, help="chips at the same time (%(default)s)")
    parser.add_argument("--results", default="build/faults.results", help="what is kept (%(default)s)")
    parser.add_argument("--out", default=str(HERE / "faults.json"), help="points, as JSON (%(default)s)")
    parser.add_argument("--svg", default=str(HERE.parents[1] / "docs" / "img" / "faults.svg"), help="the curves")
    args = parser.parse_args()
    try:
        net = nm.load_network(HERE / "sr.toml")
        Path(args.results).parent.mkdir(parents=True, exist_ok=True)
        study = study_faults(
            [nm.Rollout(net, pattern) for pattern in PATTERNS],
            nm.load_chip("truenorth", {"core.neurons": 32}),
            rates=RATES,
            seeds=args.seeds,
            stimuli=ShownImages(nm.datasets.load_images("digits", "test", limit=args.images), FRAMES, seed=1),
            results=args.results,
            processes=args.processes,
        )
        document = study.to_dict()
        del document["runs"]  # 900 chips; their means are enough
        points = ",\n".join(json.dumps(point) for point in document.pop("points"))
        head = json.dumps(document, indent=1).removesuffix("\n}")
        write_whole(args.out, f'{head},\n "points": [\n{points}\n]\n}}\n')
        write_whole(args.svg, study.to_svg())
    except NeuromapError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    print(page_table(study.to_dict()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
