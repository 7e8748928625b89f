"""What phases at least cost save: relays, neurons and cores of the paper's networks and of random ones; write the page.

python -m benchmarks.phases                              all cases: about ten CPU minutes
python -m benchmarks.phases --cases random               the random networks
python -m benchmarks.phases --from benchmarks/results/phases.json      the page again, nothing is run
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import neuromap as nm
from neuromap.files.whole_file import write_whole
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.program.usage import count_usage
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.options import MappingOptions
from neuromap.mapping.partition.partition_rollout import TimedRollout, choose_phases
from neuromap.mapping.tile.tilings import Tilings
from neuromap.network.build import build_network
from neuromap.rollout.schedule.cheapest_phases import move_ranges

ROOT = Path(__file__).resolve().parents[1]
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "phases.json", ROOT / "docs" / "cheapest-phases.md"
PAPER = [f"dsr{k}" for k in range(7)]
DRAWN = 100
"""Hybrid patterns that are drawn of every network of the paper."""
FAMILIES = {"shallow": (range(8, 15), 3, 300), "deep": (range(26, 33), 2, 64)}
"""Nodes, edges that skip nodes per node at most, and most neurons of a node of the random networks."""
SEEDS = 6

HEAD = """\
# Phases at least cost, measured

<!-- Written by `python -m benchmarks.phases`; edit benchmarks/phases.py instead. -->

[Time](time.md#phases-at-least-cost) says what these phases are. `--phases cheapest` maps a rollout with them and with
the least ones, and keeps what takes fewer cores, of equals what takes fewer neurons. All on one TrueNorth chip.
"""
PAPER_TEXT = """
## The paper's networks

`examples/on_chip`. Under the streaming and the sequential pattern no node of DSR0 to DSR6 can move, in either
execution, and none in the [mapping benchmark](mapping-benchmarks.md). Elsewhere nodes can move: of {drawn} hybrid
patterns of each, drawn with seed 0 (every edge streams with probability 1/2), the table counts those that promise
fewer neurons. Search: mean CPU milliseconds that the phases take, weights read once before.
"""
MAPPED_TEXT = """
Of each network the windowed one of these that promises most was mapped. *Promised*: neurons that the delays take at
least, before and after. Patterns are R of every edge in the order of the file.
"""
RANDOM_TEXT = """
## Random networks

Neurons read 5 to 40 neighbours of every source, with the source's sign. *Shallow*: 8 to 14 nodes, few delays beyond the
longest of the chip. *Deep*: 26 to 32 nodes, with skips over many of them. Patterns: sequential, and one drawn edge by
edge. Sums over the rollouts in which phases promise something:"""
MEANING = """
*Kept*: rollouts of which the mapping with phases at least cost was the smaller one. A delay that two readers share
saves a copy only where they share a core: what is promised is a bound, so both are mapped.
"""


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.phases", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--cases",
        nargs="*",
        choices=["random", *PAPER],
        metavar="NAME",
        help=f"of random, {', '.join(PAPER)}; all by default",
    )
    parser.add_argument(
        "--results",
        type=Path,
        default=RESULTS,
        help="JSON file that is written, case by case; the page only with that by default",
    )
    parser.add_argument("--from", dest="source", type=Path, help="figures that were written before")
    asked = parser.parse_args()
    found: dict[str, Any] = {"paper": {}, "random": {}}
    if asked.source is not None or (asked.cases and asked.results.exists()):
        found = json.loads((asked.source or asked.results).read_text())
    if asked.source is None:
        for name in asked.cases or ["random", *PAPER]:
            if name == "random":
                found["random"] = {family: random_family(family) for family in FAMILIES}
            else:
                found["paper"][name] = paper_network(name)
            write_whole(asked.results, (json.dumps(found, indent=1) + "\n").encode())
            print(name, "done", file=sys.stderr, flush=True)
    if asked.results == RESULTS:
        write_whole(PAGE, page_text(found).encode())
    return 0


def paper_network(name: str) -> dict[str, Any]:
    """Count the hybrid patterns that promise something, and map the windowed one that promises most."""
    network = nm.load_network(ROOT / "examples" / "on_chip" / f"{name}.toml")
    for pattern in ("streaming", "sequential"):
        for execution in ("windowed", "pipelined"):
            ranges = move_ranges(nm.Rollout(network, pattern, execution))
            assert all(low == high for low, high in ranges.values()), (name, pattern, execution)
    rng = np.random.default_rng(0)
    counts, seconds, best = {"windowed": 0, "pipelined": 0}, [], (0, None)
    for _ in range(DRAWN):
        values = [int(rng.random() < 0.5 or u == v) for u, v in network.edges]
        for execution in counts:
            rollout = nm.Rollout(network, nm.RolloutPattern.from_values(network, values), execution)
            began = time.process_time()
            saved = promised(rollout)
            seconds.append(time.process_time() - began)
            counts[execution] += saved > 0
            if execution == "windowed" and saved > best[0]:
                best = (saved, rollout)
    told = {"promising": counts, "mean_ms": 1e3 * float(np.mean(seconds[2:])), "longest_ms": 1e3 * max(seconds[2:])}
    return {**told, "mapped": None if best[1] is None else mapped(best[1])}


def promised(rollout: nm.Rollout) -> int:
    """Neurons that phases at least cost promise to save."""
    _, choice = choose_phases(TimedRollout(rollout, 1), load_chip("truenorth"))
    return 0 if choice is None else choice.neurons_before - choice.neurons


def mapped(rollout: nm.Rollout) -> dict[str, Any]:
    """Map a rollout both ways; times and responses must be the same."""
    tilings = Tilings(MappingOptions(placer="hilbert"))
    found: dict[str, Any] = {"pattern": "".join(map(str, rollout.pattern.values)), "period": rollout.frame_period}
    for phases in ("least", "cheapest"):
        one = map_with_stages(rollout, "truenorth", MappingOptions(placer="hilbert", phases=phases), tilings=tilings)
        assert (one.rollout.frame_period, one.rollout.full_responses) == (rollout.frame_period, rollout.full_responses)
        assert one.rollout.first_responses == rollout.first_responses
        usage = count_usage(one.program)
        found[phases] = {"cores": usage.cores, "neurons": usage.neurons, "relays": usage.relays}
        if one.phases is not None:
            found |= {"promised": [one.phases.neurons_before, one.phases.neurons], "is_taken": one.phases.is_taken}
            found["is_proven"] = one.phases.is_proven
    return found


def random_family(family: str) -> list[dict[str, Any]]:
    """Map the rollouts of random networks in which phases promise something."""
    rows = []
    for seed in range(SEEDS):
        for label, rollout in rollouts(family, seed):
            row = {"seed": seed, "pattern": label, "execution": rollout.execution}
            rows.append(row | (mapped(rollout) if promised(rollout) else {}))
    return rows


def rollouts(family: str, seed: int) -> Iterator[tuple[str, nm.Rollout]]:
    """Give the rollouts of one random network: sequential and drawn, windowed and pipelined."""
    rng = np.random.default_rng(seed)
    network = random_network(family, rng)
    drawn = [
        int(bit or u == v) for bit, (u, v) in zip(rng.random(len(network.edges)) < 0.3, network.edges, strict=True)
    ]
    for label, pattern in (("sequential", "sequential"), ("drawn", nm.RolloutPattern.from_values(network, drawn))):
        for execution in ("windowed", "pipelined"):
            yield label, nm.Rollout(network, pattern, execution)


def random_network(family: str, rng: np.random.Generator) -> nm.Network:
    """Draw a network: most edges lead on by a node or two, some over any number of nodes."""
    counts, skips, most = FAMILIES[family]
    names = ["I", *(f"n{k}" for k in range(int(rng.choice(counts)))), "O"]
    size = {name: int(rng.integers(20, most)) for name in names}
    edges = {(names[int(rng.integers(max(0, k - 2), k))], v) for k, v in enumerate(names) if k}
    for k, v in enumerate(names):
        edges |= {(names[int(rng.integers(0, k))], v) for _ in range(int(rng.integers(0, skips))) if k}
    read = {u for u, _ in edges}
    edges |= {(u, names[int(rng.integers(k + 1, len(names)))]) for k, u in enumerate(names[:-1]) if u not in read}
    edges.add((names[2], names[2]))
    matrices = {edge: neighbours(size[edge[0]], size[edge[1]], rng) for edge in sorted(edges)}
    return build_network({n: (s, None if n == "I" else 1) for n, s in size.items()}, matrices, outputs=["O"])


def neighbours(sources: int, targets: int, rng: np.random.Generator) -> np.ndarray:
    """Draw weights of neurons that read some neighbours, each source with one sign."""
    reach = min(sources, int(rng.integers(5, 40)))
    near = (np.arange(targets)[:, None] * sources // targets + np.arange(reach)) % sources
    weights = np.zeros((targets, sources), int)
    np.put_along_axis(weights, near, 1, axis=1)
    return weights * rng.choice([-1, 1], sources)


def page_text(found: dict[str, Any]) -> str:
    """Make the page."""
    paper, rows = found["paper"], []
    counts = [("network", "windowed", "pipelined", "search [ms]")]
    for name in sorted(paper):
        one = paper[name]
        promising = [f"{one['promising'][execution]} of {DRAWN}" for execution in ("windowed", "pipelined")]
        counts.append((name.upper(), *promising, f"{one['mean_ms']:.1f}"))
        if one["mapped"] is not None:
            rows.append((name.upper(), one["mapped"]["pattern"], *figures(one["mapped"])))
    names = ("promised before", "after", "cores, least", "cheapest", "neurons, least", "cheapest")
    parts = [HEAD, PAPER_TEXT.format(drawn=DRAWN), table(counts, 1), MAPPED_TEXT]
    parts += [table([("network", "pattern", *names), *rows], 2), RANDOM_TEXT]
    sums = [("family", "rollouts", "that promise", *names, "relays, least", "cheapest", "kept", "more cores")]
    for family, all_rows in found["random"].items():
        some = [row for row in all_rows if "promised" in row]
        kept = sum(row["is_taken"] for row in some)
        more = sum(row["cheapest"]["cores"] > row["least"]["cores"] for row in some)
        total = {p: {f: sum(row[p][f] for row in some) for f in ("cores", "neurons", "relays")} for p in LEAST_CHEAPEST}
        before, after = (sum(row["promised"][k] for row in some) for k in (0, 1))
        sums.append((family, str(len(all_rows)), str(len(some)), *both(before, after, total), str(kept), str(more)))
    return "\n".join(["".join(parts), table(sums, 1) + MEANING])


LEAST_CHEAPEST = ("least", "cheapest")


def figures(row: dict[str, Any]) -> tuple[str, ...]:
    """Write the figures of a row."""
    return both(*row["promised"], row)[:6]


def both(before: int, after: int, of: dict[str, Any]) -> tuple[str, ...]:
    """Write what is promised, and cores, neurons and relays with either phases."""
    each = [of[phases][figure] for figure in ("cores", "neurons", "relays") for phases in LEAST_CHEAPEST]
    return tuple(f"{number:,}" for number in (before, after, *each))


def table(lines: list[tuple[str, ...]], n_left: int) -> str:
    """Make a table, its first columns to the left."""
    header, *rows = lines
    rule = ["---"] * n_left + ["---:"] * (len(header) - n_left)
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in (header, rule, *rows))


if __name__ == "__main__":
    sys.exit(main())
