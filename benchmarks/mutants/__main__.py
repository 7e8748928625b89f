"""Mutants: programs with one fault each, to see whether a proof is ever given that it must not be.

    python -m benchmarks.mutants --programs 50 --per-program 400     20,000 mutants: some twenty CPU minutes
    python -m benchmarks.mutants --from benchmarks/results/mutants.json      the page again, nothing is run

Small random networks of several kinds are mapped onto both kinds of cores, and one value of a program is changed at a
time. A mutant that is proven must compute the network: it is run on all sequences of few frames and on many random
ones. One that is rejected should differ for some input, which is searched for. The exit code is 1 if a proof is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.mutants.fates import PROVEN, REFUSED, SHOWN, UNSHOWN, WRONG, Fate, fates
from neuromap.files.whole_file import write_whole

ROOT = Path(__file__).resolve().parents[2]
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "mutants.json", ROOT / "docs" / "mutants.md"

HEAD = """\
# Mutants against proofs

<!-- Written by `python -m benchmarks.mutants`; edit benchmarks/mutants/__main__.py instead. -->

A checker that accepts everything would accept every program of the mapper, too. So programs are broken: {programs}
random networks of {kinds} kinds, mapped onto both kinds of cores, {each} mutants of each, with one value changed: a
weight, a bit, a delay, a target, a row of the host, a label, a clock. {total} mutants (seed {seed}).

- *Refused*: indices point outside the program, or its frames cannot be simulated.
- *Shown*: not proven, and a [counterexample](cli.md#prove) was found: by random frames, sequences aimed at the fault,
  or an integer programme.
- *Not shown*: not proven, and no input was found for which an output differs.
- *Proven*: the mutant computes the network all the same: on all sequences of as many frames as make 12 bits, and on
  {sequences} random ones, every value and every stray spike was equal.
- *Wrong*: proven, although some input differs: **{wrong}**.

Rules that only say what a chip can hold are left out: what breaks nothing but such a rule has to be proven.

## By kind of program

`benchmarks/results/mutants.json` has the counts by kind of fault.
"""


def table(rows: Mapping[str, Counter[str]], first: str) -> Iterator[str]:
    """Write a table of what became of mutants."""
    columns = (REFUSED, SHOWN, UNSHOWN, PROVEN)
    yield f"| {first} | mutants | refused | shown | not shown | proven |"
    yield "|---|---|---|---|---|---|"
    for name, counts in rows.items():
        found = " | ".join(str(counts.get(column, 0)) for column in columns)
        yield f"| {name} | {sum(counts.values())} | {found} |"


def _by(rows: list[dict[str, Any]], key: str, outcome: str | None = None) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        if outcome in (None, row["outcome"]):
            found[row[key]][row["outcome" if outcome is None else "fault"]] += row["mutants"]
    order = sorted(found, key=lambda name: -found[name].total()) if outcome else sorted(found)
    return {name: found[name] for name in order}


def _reasons(rows: list[dict[str, Any]], outcome: str, first: str) -> Iterator[str]:
    yield f"| {first} | mutants |"
    yield "|---|---|"
    for why, faults in _by(rows, "why", outcome).items():
        yield f"| {why} | {faults.total()} |"


def page(found: Mapping[str, Any]) -> str:
    """Write the page."""
    rows, asked = found["rows"], found["asked"]
    every = Counter[str]()
    for row in rows:
        every[row["outcome"]] += row["mutants"]
    head = HEAD.format(
        programs=asked["programs"],
        kinds=len(_by(rows, "family")),
        each=asked["per_program"],
        total=f"{every.total():,}",
        seed=asked["seed"],
        sequences=asked["sequences"],
        wrong=every[WRONG],
    )
    lines = [head, *table({**_by(rows, "family"), "all": every}, "program")]
    lines += ["", "## Not proven, and no counterexample", ""]
    lines += [NOT_SHOWN, *_reasons(rows, UNSHOWN, "what the checker finds")]
    lines += ["", "## Proven", "", PROVEN_TEXT, *_reasons(rows, PROVEN, "what shows it")]
    return "\n".join(lines) + "\n"


NOT_SHOWN = """\
What the checker asks is enough, and not always necessary. Labels and clocks are claims: where one is wrong the proof is
refused, though the chip computes the same. Some faults lie where no output shows them, and some are felt only in
potentials that no input reaches.
"""
PROVEN_TEXT = """\
Many faults change nothing: a weight that no axon uses, a copy for another copy, a threshold in a gap between sums.
"""


def main() -> int:
    """Run the campaign, or write the page of one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=50)
    parser.add_argument("--per-program", type=int, default=400)
    parser.add_argument("--sequences", type=int, default=128, help="random sequences of frames for each mutant")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--from", dest="source", type=Path, help="write the page of these results")
    asked = parser.parse_args()
    if asked.source is not None:
        found = json.loads(asked.source.read_text(encoding="utf-8"))
    else:
        found = run(asked.programs, asked.per_program, asked.seed, asked.sequences, asked.processes)
        write_whole(RESULTS, json.dumps(found, indent=1) + "\n")
    write_whole(PAGE, page(found))
    print("\n".join(table(_by(found["rows"], "family"), "program")))
    return int(bool(found["wrong"]))


def run(n_programs: int, per_program: int, seed: int, n_sequences: int, processes: int) -> dict[str, Any]:
    """Run the campaign, and count."""
    counts: Counter[tuple[str, str, str, str]] = Counter()
    wrong: list[str] = []
    job = partial(_of_program, per_program=per_program, seed=seed, n_sequences=n_sequences)
    seconds = 0.0
    with ProcessPoolExecutor(processes) as pool:
        for k, (found, took) in enumerate(pool.map(job, range(n_programs)), 1):
            seconds += took
            for fate in found:
                why = "" if fate.outcome == SHOWN else fate.why
                counts[fate.family, fate.fault, fate.outcome, why] += 1
                if fate.outcome == WRONG:
                    wrong.append(f"{fate.family}: {fate.fault}: {fate.what}: {fate.why}: {fate.shown}")
                    print(wrong[-1], flush=True)
            print(f"{k} programs, {seconds:.0f} s of CPU", file=sys.stderr, flush=True)
    rows = [
        {"family": family, "fault": fault, "outcome": outcome, "why": why, "mutants": count}
        for (family, fault, outcome, why), count in sorted(counts.items())
    ]
    asked = {"programs": n_programs, "per_program": per_program, "seed": seed, "sequences": n_sequences}
    return {"asked": asked, "cpu_seconds": round(seconds), "wrong": wrong, "rows": rows}


def _of_program(k: int, per_program: int, seed: int, n_sequences: int) -> tuple[list[Fate], float]:
    began = time.process_time()
    return list(fates(k, per_program, seed, n_sequences)), time.process_time() - began


if __name__ == "__main__":
    sys.exit(main())
