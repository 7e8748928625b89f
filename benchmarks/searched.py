"""A search beside training every behaviour class fully: the same front, at what part of the processor time.

    python -m benchmarks.searched                                          digits SR and S, three seeds
    python -m benchmarks.searched examples/digits/s.toml --epochs 24       other networks, shorter trainings
    python -m benchmarks.searched examples/streams/sr.toml --data moving-digits:canvas=12,frames=8 --deadline 8ms
    python -m benchmarks.searched --from benchmarks/results/searched.json  what was measured, in sentences

Runs that the file of results holds are not done again: remove it to begin anew; ``--again`` does the searches anew and
takes the full trainings that are there.

Both are ``neuromap search``, one process on one thread, each in a folder of its own: as it is, and with ``--full``,
where every class is trained from drawn weights and none is dropped. What is compared is the accuracy of the best point
at every moment, on validation images; the front holds where the mean over the seeds is no lower than that of full
trainings less their standard deviation between seeds. Processor time is of the whole command, mapping, verification
and imports included.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]
_RESULTS = _ROOT / "benchmarks" / "results" / "searched.json"
_NETWORKS = ("examples/digits/deadline/untrained.toml", "examples/digits/s.toml")


def measured(words: Sequence[str]) -> tuple[dict[str, Any], float]:
    """Give a search in a process of its own; its document, and the processor time that it took."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "neuromap", "search", *words, "--json", "--output", f"{folder}/search"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=_ROOT, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return json.loads(done.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def told(found: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Keep of a search what is compared, and whether all its points are verified."""
    curves = [{at["seconds"]: at["accuracy"] for at in point["curve"]} for point in found["points"]]
    best = [max((curve.get(moment, 0.0) for curve in curves), default=0.0) for moment in found["moments_seconds"]]
    return {
        "cpu_seconds": round(seconds, 1),
        "epochs": found["spent_epochs"],
        "moments_seconds": found["moments_seconds"],
        "best_accuracy": [round(part, 6) for part in best],
        "cores": [point["cores"] for point in found["points"]],
        "patterns": [f"{point['pattern']}, {point['execution']}" for point in found["points"]],
        "classes": [f"{one['pattern']}: {one['status']}" for one in found["classes"]],
        "points_verified": all(point["verified"] and point["agrees"] for point in found["points"]),
        "points_proven": all(point["proven"] for point in found["points"]),
    }


def compared(known: dict[str, Any], seeds: Sequence[int], *, again: bool) -> Iterator[dict[str, Any]]:
    """Search a network and train all its classes fully, with the seeds that are not known yet; tell it after each."""
    runs = {run["seed"]: run for run in known["runs"]}
    for seed in seeds:
        if seed in runs and not again:
            continue
        words = [known["network"], "--data", known["data"], "--seeds", str(seed), *known["options"]]
        searched = told(*measured(words))
        full = runs[seed]["full"] if seed in runs else told(*measured([*words, "--full"]))
        runs[seed] = {"seed": seed, "searched": searched, "full": full}
        print(f"{words[0]}, seed {seed}: {searched['cpu_seconds']} s of {full['cpu_seconds']} s", file=sys.stderr)
        every = [runs[one] for one in sorted(runs)]
        yield {**known, "runs": every, **verdict(every)}


def verdict(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Hold the two against each other, moment by moment, and their processor times."""
    moments = [moment for moment in runs[0]["full"]["moments_seconds"] if all(_has(run, moment) for run in runs)]
    rows = []
    for moment in moments:
        searched, full = ([_at(run[which], moment) for run in runs] for which in ("searched", "full"))
        spread = stdev(full) if len(full) > 1 else 0.0
        row = {"seconds": moment, "searched": fmean(searched), "full": fmean(full), "full_spread": spread}
        row["searched_spread"] = stdev(searched) if len(searched) > 1 else 0.0
        row["holds"] = row["searched"] >= row["full"] - spread if len(runs) > 1 else None  # one seed has no spread
        rows.append({name: round(value, 6) if isinstance(value, float) else value for name, value in row.items()})
    # a search that ran beside other work has no processor time in the file: only runs alike are held against each other
    alike = [run for run in runs if run["searched"]["cpu_seconds"] is not None]
    cpu = {which: sum(run[which]["cpu_seconds"] for run in alike) for which in ("searched", "full")}
    return {
        "moments": rows,
        "front_holds": all(row["holds"] for row in rows) if len(runs) > 1 else None,
        "cpu_ratio": round(cpu["searched"] / cpu["full"], 4),
        "points_verified": all(run[which]["points_verified"] for run in runs for which in cpu),
    }


def _has(run: dict[str, Any], moment: float) -> bool:
    return all(moment in run[which]["moments_seconds"] for which in ("searched", "full"))


def _at(found: dict[str, Any], moment: float) -> float:
    return float(found["best_accuracy"][found["moments_seconds"].index(moment)])


_SAID = {True: "yes", False: "no", None: "one seed does not tell"}


def sentences(document: dict[str, Any]) -> str:
    """Say what was found."""
    lines = []
    for one in document["networks"]:
        lines.append(
            f"{one['network']}, {one['data']}: {one['cpu_ratio']:.2f} of the processor time of full trainings; front "
            f"within their spread: {_SAID[one['front_holds']]}; points verified: "
            f"{'yes' if one['points_verified'] else 'no'}"
        )
        lines += [
            f"  by {1e3 * row['seconds']:g} ms: searched {row['searched']:.3f} +- {row['searched_spread']:.3f}, full "
            f"{row['full']:.3f} +- {row['full_spread']:.3f}"
            for row in one["moments"]
        ]
    return "\n".join(lines)


def main() -> None:
    """Read what is asked for, measure it, write it down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("networks", nargs="*", default=_NETWORKS, help="network files")
    parser.add_argument("--data", default="digits", help="labelled images, as neuromap search takes them")
    parser.add_argument("--seeds", default="0,1,2", help="seeds of trainings")
    parser.add_argument("--epochs", help="epochs of a full training")
    parser.add_argument("--deadline", help="compare at this time alone")
    parser.add_argument("--again", action="store_true", help="search again, against the full trainings that are there")
    parser.add_argument("--limit", help="only so many images of every part")
    parser.add_argument("--batch", help="images of a step")
    parser.add_argument("--output", type=Path, default=_RESULTS, help="file to write")
    parser.add_argument("--from", dest="given", type=Path, help="only say what this file holds")
    asked = parser.parse_args()
    if asked.given is not None:
        print(sentences(json.loads(asked.given.read_text(encoding="utf-8"))))
        return
    passed_on = ("epochs", "deadline", "limit", "batch")
    more = [f"--{name}={value}" for name in passed_on if (value := getattr(asked, name)) is not None]
    seeds = [int(seed) for seed in asked.seeds.split(",")]
    found = json.loads(asked.output.read_text(encoding="utf-8")) if asked.output.exists() else {"networks": []}
    for network in asked.networks:
        what = {"network": network, "data": asked.data, "options": more}
        known = next((one for one in found["networks"] if what.items() <= one.items()), {**what, "runs": []})
        for one in compared(known, seeds, again=asked.again):
            others = [other for other in found["networks"] if not what.items() <= other.items()]
            found = {"networks": [*others, one]}
            asked.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(sentences(found))


if __name__ == "__main__":
    main()
