"""Which pattern is right most often by when, on moving digits: one network trained alike under three patterns.

    python examples/streams/study.py examples/streams/results.json

Every pattern is trained for TrueNorth with the frames that it has by the deadline, and measured on the simulated chip
with the test streams. What the file holds is not done again, so a run that was stopped goes on.
"""

import json
import sys
from itertools import product
from pathlib import Path
from statistics import fmean, stdev

import neuromap as nm
from neuromap.accuracy import accuracy_on_chip
from neuromap.datasets import load_images
from neuromap.files.whole_file import write_whole
from neuromap.training import train_for_chip

SCENES = {
    "flashes": "moving-digits:canvas=12,frames=12,flash=4",
    "fence": "moving-digits:canvas=12,frames=12,bars=2",
}
PATTERNS = ("streaming", "hybrid", "sequential")
DEADLINE = 12
"""Ticks: frames that are known by then are trained and measured."""
SEEDS = range(3)
OPTIONS = {"epochs": 16, "batch": 128, "shift": 0, "threads": 1}
FORMAT = "neuromap study of streams 1"


def trained_and_measured(scene, pattern, seed):
    """Accuracy at every tick at which an answer is known, and the cores."""
    rollout = nm.Rollout(nm.load_network(Path(__file__).parent / "sr.toml"), pattern)
    frames = 1 + (DEADLINE - rollout.first_response("O")) // rollout.frame_period
    images = {part: load_images(scene, part) for part in ("train", "test")}
    made = train_for_chip(rollout, nm.load_chip("truenorth"), images, {**OPTIONS, "frames": frames, "seed": seed})
    mapped = nm.Rollout(made.network, pattern)
    found = accuracy_on_chip(mapped, nm.map_rollout(mapped), images["test"], frames, seed=0)
    assert [round(frame.accuracy, 6) for frame in found.frames] == [*made.result.accuracy]  # the model's, on the chip
    return {
        "cores": found.cores,
        "streams": found.n_images,
        "frame_period": int(rollout.frame_period),
        "ticks": [frame.tick for frame in found.frames],
        "accuracy": [frame.accuracy for frame in found.frames],
    }


def by_tick(runs):
    """Accuracy of the last answer that is known at every tick up to the deadline: mean over seeds, standard error."""
    found = []
    for tick in range(1, DEADLINE + 1):
        known = [max((t, a) for t, a in zip(run["ticks"], run["accuracy"], strict=True) if t <= tick)[1]
                 for run in runs if run["ticks"][0] <= tick]  # fmt: skip
        mean = fmean(known) if known else None
        error = stdev(known) / len(known) ** 0.5 if len(known) > 1 else None
        found.append({"tick": tick, "accuracy": mean, "standard_error": error})
    return found


def main(path):
    """Do what the file does not hold yet."""
    path = Path(path)
    runs = json.loads(path.read_text())["runs"] if path.exists() else {}
    for seed, (name, scene), pattern in product(SEEDS, SCENES.items(), PATTERNS):
        key = f"{name} {pattern} {seed}"
        if key not in runs:
            runs[key] = trained_and_measured(scene, pattern, seed)
            print(key, *(f"{told} {runs[key][told]}" for told in ("cores", "ticks", "accuracy")), flush=True)
            write(path, runs)


def write(path, runs):
    """Write all runs, and what they come to."""
    curves = {
        f"{name} {pattern}": by_tick(mine)
        for name in SCENES
        for pattern in PATTERNS
        if (mine := [runs[key] for seed in SEEDS if (key := f"{name} {pattern} {seed}") in runs])
    }
    document = {
        "format": FORMAT,
        "command": "python examples/streams/study.py examples/streams/results.json",
        "scenes": SCENES,
        "deadline_ticks": DEADLINE,
        "options": OPTIONS,
        "by_tick": curves,
        "runs": runs,
    }
    write_whole(path, (json.dumps(document, indent=1) + "\n").encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
