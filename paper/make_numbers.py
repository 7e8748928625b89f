"""Write paper/numbers.json: every number of the paper, from committed results and from the library.

    python -m paper.make_numbers

Not called ``numbers``: a module of that name hides one of Python's own. Seconds of work; what takes longer has a
command of its own, which README.md of this folder names, and is read from its results.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import ceil
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import neuromap as nm
from neuromap.experiments.experiment_file import load_experiment
from neuromap.experiments.experiment_result import ExperimentResult, first_answers
from neuromap.experiments.experiment_run import run_experiment
from neuromap.files.whole_file import write_whole
from neuromap.report.over_cores import SECONDS, SecondsOverCores, seconds_over_cores
from neuromap.rollout import best_in_class, fastest_phases, period_curve, unfold
from neuromap.rollout.behaviour import count_valid
from neuromap.simulation.cost.frame_work import count_frame_work

ROOT = Path(__file__).resolve().parents[1]
RESULTS, EXPLORER = ROOT / "benchmarks" / "results", ROOT / "examples" / "explorer" / "results"
NUMBERS = Path(__file__).parent / "numbers.json"
THREE = ("streaming", "sequential", "hybrid")
CORES = (1, 4, 16, 64)
PERIODS = (1, 2, 3, 4)
REACH = 15
"""Update steps that a spike waits by itself on TrueNorth, at a tick a step."""


def result(name: str, folder: Path = RESULTS) -> Any:
    """Read a committed result."""
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def structure(name: str) -> nm.Network:
    """Load a network of the publication, without weights."""
    return nm.load_network(ROOT / "examples" / "structures" / f"{name}.toml")


def words(text: str) -> nm.Network:
    """Make a network of edges such as ``I-a``."""
    return nm.Network.from_edges([tuple(edge.split("-")) for edge in text.split()])  # type: ignore[misc]


def classes() -> dict[str, Any]:
    """Count patterns, classes and rows; counterexamples to the lemma's published form; the best pattern of a class."""
    small = {name: structure(name) for name in ("ff", "s", "sr", "poster")}
    skip = words("I-A A-B B-O I-O")
    given = nm.RolloutPattern.sequential(skip)
    return {
        "small": {
            name: {"patterns": count_valid(net), "classes": nm.rollout.count_behaviour_classes(net)}
            for name, net in small.items()
        },
        "dsr": result("schedules", EXPLORER)["rows"],
        "lemma": [
            {"patterns": count_valid(words("I-a a-b b-a a-c c-a a-d d-a")), "claimed": 2**6 - 1},
            {"patterns": count_valid(words("I-0 0-2 3-0 2-1 0-3 2-0 1-0 1-3 3-2 0-1")), "claimed": (2**3 - 1) ** 3},
        ],
        "best": {
            "given": given.inference_factor,
            "binary": best_in_class(given).inference_factor,
            "bridging": best_in_class(given, bridging=True).inference_factor,
        },
    }


def executions() -> dict[str, Any]:
    """Schedules of SR, a ring that frames pass at unequal intervals, its copies, and what buffers cost."""
    sr = structure("sr")
    rows = []
    for name in THREE:
        pattern = nm.RolloutPattern.named(sr, name)
        for execution in ("windowed", "pipelined"):
            rollout = nm.Rollout(sr, pattern, execution)
            rows.append({"pattern": name, "execution": execution, "period": rollout.frame_period, **responses(rollout)})
    ring = words("I-A A-B B-C C-A C-O")
    turning = nm.RolloutPattern.from_streaming_edges(ring, [("I", "A"), ("A", "B"), ("B", "C")])
    copied = unfold(ring, turning, 2)
    slow = words("I-O I-A A-B B-O")
    waiting = nm.RolloutPattern.from_streaming_edges(slow, [("I", "A")])
    several = nm.Rollout(words("I1-O1 I1-O2 I2-B B-O2"), "sequential", "pipelined")
    return {
        "sr": rows,
        "ring": {
            execution: {"period": str(rollout.frame_period), **responses(rollout)}
            for execution in ("pipelined", "pipelined:best")
            for rollout in [nm.Rollout(ring, turning, execution)]
        },
        "copies": {
            "copies": copied.copies,
            "period": nm.Rollout(copied.network, copied.pattern, "pipelined").frame_period,
        },
        "slow": {
            execution: {"period": rollout.frame_period, **responses(rollout)}
            for execution in ("pipelined", "pipelined:2", "windowed")
            for rollout in [nm.Rollout(slow, waiting, execution)]
        },
        "several": {"least": by_pair(several), "fastest": by_pair(fastest_phases(several).rollout)},
        "curves": {
            name: {
                key: result(f"curves-{name}", EXPLORER)[key]
                for key in ("windowed_patterns", "on_their_curve", "below_their_curve")
            }
            for name in ("digits-s", "dsr1", "dsr2")
        },
        "held": {name: held(structure(name)) for name in ("sr", *(f"dsr{n}" for n in range(7)))},
        "reach": REACH,
        "cheapest": {name: row["mapped"] for name, row in result("phases")["paper"].items()},
    }


def responses(rollout: nm.Rollout) -> dict[str, Any]:
    """Give responses and reaction of the one output."""
    (output,) = rollout.network.outputs
    return {
        "first": rollout.first_response(output),
        "full": rollout.full_response(output),
        "reaction": rollout.worst_case_reaction(output),
    }


def by_pair(rollout: nm.Rollout) -> dict[str, int]:
    """Give the first responses of every pair of an input and an output."""
    return {f"{i} {o}": int(first) for i, of in rollout.responses_of_inputs.items() for o, first in of.items()}


def held(net: nm.Network) -> dict[str, list[int]]:
    """Give the neurons that hold values, by frame period."""
    return {name: [point.held for point in period_curve(net, name, PERIODS)] for name in ("streaming", "sequential")}


def fronts() -> dict[str, Any]:
    """Give what the explorer found, and the brute force that it was held against."""
    small = {name: result(name, EXPLORER) for name in ("digits-ff", "digits-s", "digits-sr", "sr", "dsr1")}
    large = result("dsr6", EXPLORER)
    rows = {
        name: [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]] for name, found in small.items()
    }
    return {
        "small": [
            {
                "network": found["network"],
                **{key: found[key] for key in ("valid_patterns", "behaviour_classes", "distinct_rows", "mapped")},
                "front": sum(row["on_front"] for row in rows[name]),
                "exact": found["gap"]["is_exact"],
                "tolerance": found["energy_tolerance"],
                "verified": all(row["verified"] for row in rows[name] if row["status"] == "mapped"),
            }
            for name, found in small.items()
        ],
        "dsr1": [row for row in rows["dsr1"] if row["on_front"]],
        "dsr6": {
            **{key: large[key] for key in ("valid_patterns", "candidates", "distinct_rows", "mapped")},
            "gap": large["gap"],
        },
        "brute": {name: len(result(f"brute-{name}", EXPLORER)["rows"]) for name in ("sr", "dsr1")},
        "ticks": {name: shortest_ticks(name) for name in ("sr", "dsr1")},
    }


def shortest_ticks(name: str) -> dict[str, float]:
    """Compare the sequential pattern, windowed, with streaming where every row runs at its own shortest tick."""
    found = result("ticks", EXPLORER)["rows"]
    rows = {row["name"]: row for row in found if row["network"] == name and row["execution"] == "windowed"}
    one, other = rows["sequential"], rows["streaming"]
    tick = one["shortest_tick_cycles"] / other["shortest_tick_cycles"]
    return {"tick": tick, "first": tick * one["first_ticks"] / other["first_ticks"]}


def cores() -> dict[str, Any]:
    """Give cores found beside their bounds, tiles of a convolution, and the newest mapper of many-target cores."""
    bounds = [row for row in result("bounds") if row["after"] is not None]
    ratios = {row["network"]: row["found"] / row["after"] for row in bounds}
    family = [ratio for name, ratio in ratios.items() if name.startswith("family")]
    many = result("many_targets")["rows"]
    others = {row["family"]: [] for row in many}
    for row in many:
        if row["method"] != "neuromap":
            others[row["family"]].append(row)
    crops = result("crops")
    ours = {row["family"]: row for row in many if row["method"] == "neuromap"}
    best, box = tile(34, 3, 1), box_of(34, 3, 1)
    return {
        "found": {
            row["case"]: {"cores": row["cores"], "bound": row["bound"], "synapses": row["network_synapses"]}
            for row in result("mapping")["rows"]
            if row["packing"]
        },
        "family": {
            "networks": len(family),
            "mean": fmean(family),
            "within_a_tenth": sum(ratio <= 1.1 for ratio in family),
            "worst": max(family),
        },
        "tile": {"axons": 34, "kernel": 3, "positions": best[0], "columns": best[1], "tallest": best[2], "box": box},
        "crops": {
            "all": len(crops),
            "mapped": sum(row["found"] == row["least"] == row["most"] for row in crops),
            "bounded": sum(row["proven"] == row["least"] == row["most"] for row in crops),
            "solved": sum(row["least"] == row["most"] for row in crops),
        },
        "many": {
            name: {
                "deliveries": ours[name]["deliveries"] / min(row["deliveries"] for row in rows),
                "cores": ours[name]["cores"] / min(row["cores"] for row in rows),
                "hops": ours[name]["hops"] / min(row["hops"] for row in rows if row["hops"] is not None),
            }
            for name, rows in others.items()
        },
    }


def area(positions: int, tallest: int, kernel: int, stride: int) -> int:
    """Count the places that positions in full columns and a part of one cover."""
    over, columns = kernel - stride, ceil(positions / tallest)
    return stride * stride * positions + stride * over * (columns + tallest) + over * over


def tile(room: int, kernel: int, stride: int) -> tuple[int, int, int]:
    """Find the most positions that fit: their number, columns, and the tallest column."""
    for positions in range(room, 0, -1):
        least, tallest = min((area(positions, h, kernel, stride), h) for h in range(1, positions + 1))
        if least <= room:
            return positions, ceil(positions / tallest), tallest
    raise AssertionError("no position fits")


def box_of(room: int, kernel: int, stride: int) -> int:
    """Count the positions of the best rectangle."""
    sides = range(1, room + 1)
    return max(w * h for w in sides for h in sides if area(w * h, h, kernel, stride) <= room)


def wide() -> dict[str, Any]:
    """Give sums in parts: cores against the first response, and the publication's networks at full connectivity."""
    rows = [row for row in result("wide")["rows"] if "refused" not in row]
    return {
        "mlp": [
            {key: row[key] for key in ("ticks", "cores", "period", "measured_first")}
            for row in rows
            if row["network"] == "784-128-10" and row["pattern"] == "streaming" and row["axons"] == 256
        ],
        "rows": len(rows),
        "as_predicted": sum(row["verified"] and row["measured_first"] == row["predicted_first"] for row in rows),
        "paper": result("wide_paper"),
    }


def proofs() -> dict[str, Any]:
    """Give the mutants, and a program that frames do not tell from a wrong one."""
    found, outcomes = result("mutants"), Counter[str]()
    for row in found["rows"]:
        outcomes[row["outcome"]] += row["mutants"]
    threshold = 24
    right, wrong = (
        nm.build_network(
            {"I": ((1, 1, threshold), None), "O": ((1, 1, 1), k)}, {("I", "O"): np.ones((1, threshold), int)}
        )
        for k in (threshold, threshold - 1)
    )
    rollout = nm.Rollout(right, "streaming")
    program = nm.map_rollout(nm.Rollout(wrong, "streaming"), "truenorth")
    return {
        "mutants": {
            "all": sum(outcomes.values()),
            "wrong": len(found["wrong"]),
            "kinds": len({row["family"] for row in found["rows"]}),
            **outcomes,
        },
        "missed": {
            "threshold": threshold,
            "frames": 200,
            "verified": nm.verify(rollout, program, n_frames=200, density=0.5).verified,
            "faults": list(nm.prove(rollout, program).faults),
            "odds": 2**threshold // threshold,
        },
    }


def over_cores(cores: Sequence[int] | None) -> SecondsOverCores:
    """Time the patterns of the digits network on Loihi, evenly spread; by default on powers of two."""
    net = nm.load_network(ROOT / "examples" / "digits" / "sr.toml")
    return seconds_over_cores(
        count_frame_work(net, "loihi1"), [nm.RolloutPattern.named(net, name) for name in THREE], cores=cores
    )


def random_rows(name: str) -> list[dict[str, Any]]:
    """Give the rows of the ten random networks, in their order."""
    return sorted((r for r in result(name) if r["network"].startswith("random")), key=lambda r: str(r["network"]))


def seconds() -> dict[str, Any]:
    """Give times where a tick lasts as long as its work."""
    over = over_cores(CORES)
    validation = result("validation")
    by_time, theirs = (
        sorted(range(len(validation)), key=lambda k: validation[k][key])
        for key in ("microseconds", "their_microseconds")
    )
    ratios = [row["microseconds"] / row["their_microseconds"] for row in validation]
    return {
        "digits": SECONDS.write(over),
        "crossing": [
            {"predicted": row["first_predicted"], "timed": row["first_found"], "filled": other["first_found"]}
            for row, other in zip(random_rows("crossing_spread"), random_rows("crossing_filled"), strict=True)
        ],
        "validation": {
            "mappings": len(validation),
            "time": [min(ratios), max(ratios)],
            "correlation": [
                min(row["correlation"] for row in validation),
                max(row["correlation"] for row in validation),
            ],
            "energy": [f(row["millijoules"] / row["their_millijoules"] for row in validation) for f in (min, max)],
            "spikes_equal": all(row["spikes_equal"] for row in validation),
            "same_order": by_time == theirs,
        },
        "graded": result("graded_rollouts"),
    }


def trained() -> dict[str, Any]:
    """Give the publication's experiments, again: points read off its curves beside ours."""
    digits = {name: experiment(name, "mnist:NOWHERE", repetitions=1) for name in ("mnist-ff", "mnist-s", "mnist-sr")}
    curves = {curve.name: curve for found in digits.values() for curve in found.curves}
    gaps = [abs(gap) for curve in curves.values() for _, gap in curve.deviations()]
    depth = experiment("cifar-depth", "cifar10:NOWHERE", limit=15_000)
    whole = experiment(
        "cifar-dsr",
        "cifar10:NOWHERE",
        only=["DSR0", "DSR4"],
        epochs=61,
        device="cuda",
        precision="bfloat16",
        graphs=True,
    )
    sr = {name: curves[f"SR {name}"] for name in THREE}

    def told(found: ExperimentResult) -> list[dict[str, Any]]:
        return [
            {
                "network": answer.network.split()[0],
                "pattern": answer.pattern,
                "accuracy": answer.accuracy,
                "error": answer.standard_error,
                "published": answer.published,
                "step": answer.windowed,
            }
            for answer in first_answers(found)
        ]

    return {
        "points": len(gaps),
        "curves": len(curves),
        "deviation": fmean(gaps),
        "largest_sr": max(abs(gap) for curve in sr.values() for _, gap in curve.deviations()),
        "sr": {
            name: {"steps": [int(step) for step in curve.times.windowed], "accuracy": list(curve.accuracy)}
            for name, curve in sr.items()
        },
        "skip_gain": fmean(curves["S streaming"].accuracy[1:]) - fmean(curves["S sequential"].accuracy),
        "chain_gap": abs(fmean(curves["FF streaming"].accuracy) - fmean(curves["FF sequential"].accuracy)),
        "depth": told(depth),
        "whole": told(whole),
        "whole_epochs": whole.curves[0].epochs,
    }


def experiment(name: str, data: str, **options: Any) -> ExperimentResult:
    """Read an experiment that is done: nothing is trained."""
    kept = ROOT / "examples" / "paper" / name
    with TemporaryDirectory() as away:
        folder = Path(away) / name
        folder.mkdir()
        for file in kept.iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        return run_experiment(load_experiment(f"paper/{name}"), data, folder, **options)


def setting() -> dict[str, Any]:
    """Give figures of the chips, and sizes of the project's own means."""
    chips = {name: nm.load_chip(name) for name in ("truenorth", "loihi1", "loihi2")}
    return {
        "chips": {
            name: {"cores": chip.n_usable_cores, "axons": chip.axons, "neurons": chip.neurons, "delay": chip.delay[1]}
            for name, chip in chips.items()
        },
        "checker_lines": round(len((ROOT / "neuromap" / "proof" / "checker.py").read_text("utf-8").splitlines()), -2),
    }


SECTIONS: Iterable[Callable[[], dict[str, Any]]] = (
    setting,
    classes,
    executions,
    fronts,
    cores,
    wide,
    proofs,
    seconds,
    trained,
)


def numbers() -> dict[str, Any]:
    """Collect all numbers, as JSON holds them."""
    return json.loads(json.dumps({section.__name__: section() for section in SECTIONS}))  # type: ignore[no-any-return]


def main() -> None:
    """Write the file."""
    write_whole(NUMBERS, json.dumps(numbers(), indent=1) + "\n")


if __name__ == "__main__":
    main()
