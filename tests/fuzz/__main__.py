"""``python tests/fuzz``: fuzz readers for a while or with so many mutants each; exit code 1 where faults are found.

With ``--seconds`` readers have their turns in a drawn order; those that time is too short for have theirs another time.
"""

import argparse
import random
import sys
import time
from pathlib import Path

import harness
from readers import READERS


def main():
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("readers", nargs="*", help="names or their beginnings; all where none is given")
    parser.add_argument(
        "--count", type=int, default=20_000, help="mutants of each; a tenth where a reader starts processes"
    )
    parser.add_argument("--seconds", type=float, help="for all readers together, in place of a count")
    parser.add_argument("--json", type=Path, help="add up in this file what each has read since its last fault")
    parser.add_argument("--seed", type=int, help="of the mutants; without it another one every time")
    parser.add_argument("--start", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--keep", action="store_true", help="put mutants that show faults into the corpus")
    parser.add_argument("--no-corpus", action="store_true", help="do not read the corpus first")
    parser.add_argument("--list", action="store_true", help="list the readers")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        return harness.serve()
    names = [name for name in READERS if not asked.readers or any(name.startswith(start) for start in asked.readers)]
    if asked.list:
        return print("\n".join(names))
    seed = int(time.time()) if asked.seed is None else asked.seed
    print(f"seed {seed}, {len(names)} readers", flush=True)
    harness.preload()  # where nothing is compiled yet this takes longer than many a budget
    faults, began = 0, time.monotonic()
    if asked.seconds is not None:
        random.Random(seed).shuffle(names)
    for name in names:
        if asked.seconds is not None and time.monotonic() - began > asked.seconds:
            print(f"{len(names) - names.index(name)} readers are left for another time")
            break
        if harness.missing(name):
            print(f"{name}: left out, needs {harness.missing(name)}")
            continue
        seconds = None if asked.seconds is None else max(1.0, asked.seconds / len(names))
        count = asked.count if seconds is None else 10**9
        found = harness.fuzz(name, count, seed=seed, start=asked.start, seconds=seconds, corpus=not asked.no_corpus)
        print(
            f"{name}: {found.read} read, {found.taken} taken, {found.unmade} unmade, {found.seconds:.1f} s,"
            f" {found.processor_seconds:.1f} of processors"
            f" (slowest {found.slowest:.2f} s){', starts processes' if found.starts_children else ''}",
            flush=True,
        )
        for fault in found.faults:
            print(f"  {fault}" + (f"  -> {harness.keep(fault)}" if asked.keep else ""), flush=True)
        faults += len(found.faults)
        if asked.json:
            harness.count_up(asked.json, found)
    print(f"{faults} faults")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
