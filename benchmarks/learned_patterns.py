"""Learned patterns against the exhaustive front: SR and S on digits under noise, right at deadlines of 2 to 6 steps.

python -m benchmarks.learned_patterns            runs that benchmarks/results/learned_patterns.json lacks: half an hour
python -m benchmarks.learned_patterns --tell     what it says, nothing is run
python -m benchmarks.learned_patterns --network S      runs of one network, beside a process with those of the other

Ten runs learn a pattern with its weights, one for each network and deadline. The front is exhaustive: every behaviour
class that answers by the deadline is trained alone for it, twice, as long as a run that learns. All are measured on the
400 test images, which nothing else sees.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import neuromap as nm
from neuromap.datasets.sources import load_images
from neuromap.files.whole_file import write_whole
from neuromap.training import LearnedPattern, TrainingOptions, train_network

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "learned_patterns.json"
DEADLINES, EXECUTION, SEEDS = (2, 3, 4, 5, 6), "pipelined", (0, 1)
OPTIONS = TrainingOptions(
    epochs=40, batch=32, frames=1, optimiser="adam", learning_rate=3e-3, schedule="cosine", threads=1
)


def networks() -> dict[str, nm.Network]:
    """Give SR of the example, and S: the same without its recurrent edge."""
    sr = nm.load_network(ROOT / "examples" / "digits" / "real" / "sr.toml")
    edges = {key: edge for key, edge in sr.edges.items() if key != ("H1", "H1")}
    return {"SR": sr, "S": replace(sr, name="S", edges=edges, patterns={})}


def trained(what: Any, deadline: int, seed: int) -> dict[str, Any]:
    """Train for a deadline, and measure the frame that is known by then."""
    options = replace(OPTIONS, loss_over_time=f"deadline={deadline}", seed=seed)
    started = time.process_time()
    found = train_network(what, {part: load_images("digits", part) for part in ("train", "test")}, options)
    times = zip(found.times.executed, found.accuracy, strict=True)
    in_time = [accuracy for step, accuracy in times if step <= deadline]
    told: dict[str, Any] = {"accuracy": in_time[-1], "cpu_seconds": round(time.process_time() - started, 1)}
    if found.learned is not None:
        told |= {"pattern": found.pattern, "class": found.learned.behaviour_class}
        told |= {"gates": dict(zip(found.learned.gates, found.history[-1].gates, strict=True))}
    return told


def tasks() -> dict[str, tuple[Any, int, int]]:
    """Name all runs: what is trained, the deadline, the seed; those that learn first."""
    found: dict[str, tuple[Any, int, int]] = {}
    for name, network in networks().items():
        for number, deadline in enumerate(DEADLINES):
            found[f"{name} deadline {deadline} learned"] = LearnedPattern(network, EXECUTION), deadline, 100 + number
    for seed in SEEDS:
        for name, network in networks().items():
            for number, patterns in enumerate(nm.rollout.behaviour_classes(network), start=1):
                rollout = nm.Rollout(network, patterns[0], EXECUTION)
                for deadline in DEADLINES:
                    if rollout.first_response("O") <= deadline:
                        found[f"{name} deadline {deadline} class {number} seed {seed}"] = rollout, deadline, seed
    return found


def tell(found: dict[str, Any]) -> None:
    """Print every run beside the front, and how many are within a standard error of it."""
    within = total = 0
    for name in networks():
        for deadline in DEADLINES:
            start = f"{name} deadline {deadline} "
            classes: dict[str, list[float]] = {}
            for key, told in found.items():
                if key.startswith(f"{start}class"):
                    classes.setdefault(key.split()[4], []).append(told["accuracy"])
            run = found.get(f"{start}learned")
            if run is None or str(run["class"]) not in classes:
                continue
            best = max(classes, key=lambda number: mean(classes[number]))
            front = mean(classes[best])
            error = math.sqrt(front * (1 - front) / 400)  # of one network on so many images
            is_near = run["accuracy"] >= front - error
            within, total = within + is_near, total + 1
            alone, runs = mean(classes[str(run["class"])]), len(classes[best])
            print(
                f"{name:>2}, by step {deadline}: front {front:.3f} (class {best}, {runs} runs); learned "
                f"{run['accuracy']:.3f} (class {run['class']}, alone {alone:.3f}); standard error {error:.3f}: "
                f"{'within' if is_near else 'below'}"
            )
    once: dict[str, list[float]] = {}
    for key, told in found.items():
        once.setdefault(key.partition(" seed ")[0], []).append(told["cpu_seconds"])
    learned = sum(mean(seconds) for key, seconds in once.items() if key.endswith("learned"))
    every = sum(map(mean, once.values())) - learned
    print(f"{within} of {total} runs within one standard error of the front, or above it")
    print(f"CPU: {learned:.0f} s for all that learn, {every:.0f} s for every class once")


def main() -> None:
    """Run what is missing, and tell; several processes may take a network each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tell", action="store_true")
    parser.add_argument("--network", choices=[*networks()])
    asked = parser.parse_args()
    for key, task in ({} if asked.tell else tasks()).items():
        if key.startswith(f"{asked.network or ''} ".lstrip()) and key not in results():
            found = {key: trained(*task)}
            write_whole(RESULTS, json.dumps(dict(sorted((results() | found).items())), indent=1) + "\n")
            print(found, flush=True)
    tell(results())


def results() -> dict[str, Any]:
    """Read what was found."""
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    return found


if __name__ == "__main__":
    main()
