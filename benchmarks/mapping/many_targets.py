"""Map the families of a published mapper of many-target cores, and count its mappings beside ours with one counter.

    python -m benchmarks.mapping.many_targets                         ours, all families: minutes
    python -m benchmarks.mapping.many_targets --families "LeNet-like"
    python -m benchmarks.mapping.many_targets --write DIR             the networks, for another mapper to read
    python -m benchmarks.mapping.many_targets --others DIR            count what another mapper left there
    python -m benchmarks.mapping.many_targets --turns "VGG-like"      ours, once for every line of standard input

``--write`` leaves ``FAMILY.npz`` with ``start`` and ``source`` of every neuron and the limits ``neurons``, ``axons``
and ``side``. ``--others`` reads ``FAMILY-METHOD.json``: ``part``, the core of every neuron, ``where``, x and y of every
core, ``partition_s`` and ``place_s``, CPU seconds; without ``where`` and ``place_s`` it is a partition that was not
placed. ``ours``, if there, has the same two figures of ours, medians of as many ``turns`` that both took (``--turns``).
With ``--earlier FILE``, results that were written before, mappings that are not in DIR are kept as they are there,
each with our figures of that time.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.mapping.hypergraphs import FAMILIES, Family, Hypergraph, random_hypergraph
from neuromap.bench.bench_report import this_machine
from neuromap.cores.synapse_list.fill_cores import partition_groups
from neuromap.cores.synapse_list.grow_order import Layer
from neuromap.cores.synapse_list.list_network import NeuronGroups, Room
from neuromap.files.whole_file import write_whole
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.place.place import place

__all__ = ["count", "map_family"]

Ints = NDArray[np.int64]
RESULTS = Path(__file__).resolve().parents[1] / "results" / "many_targets.json"
_NO_LIMIT = 2**40


def map_family(family: Family, graph: Hypergraph) -> dict[str, Any]:
    """Partition and place a network.

    Parameters
    ----------
    family : Family
        Limits.
    graph : Hypergraph
        What every neuron reads.

    Returns
    -------
    dict
        ``family``, ``method``, what :func:`count` gives, and ``partition_s`` and ``place_s``, CPU seconds; what a
        placer is given, the pairs of a neuron and a core, is not timed.
    """
    groups = groups_of(graph)
    room = Room(family.neurons, family.axons, _NO_LIMIT, _NO_LIMIT, 0, 0)
    begun = time.process_time()
    part = partition_groups(groups, room, layers_of(graph))
    divided = time.process_time() - begun
    source, target = _ways(graph, part)
    begun = time.process_time()
    where = place(int(part.max()) + 1, (part[source], target), _chip(family))
    times = {"partition_s": divided, "place_s": time.process_time() - begun}
    return {"family": family.name, "method": "neuromap"} | count(graph, family, part, where) | times


def count(graph: Hypergraph, family: Family, part: Ints, where: Ints | None) -> dict[str, Any]:
    """Count a mapping.

    Parameters
    ----------
    graph : Hypergraph
        What every neuron reads.
    family : Family
        Limits that it must keep.
    part : ndarray of int64, shape (n,)
        Core of every neuron.
    where : ndarray of int64, shape (cores, 2), or None
        x and y of every core, if it was placed.

    Returns
    -------
    dict
        ``cores``; ``deliveries``, distinct pairs of a neuron and a core that reads it; ``between``, those whose neuron
        is in another core; ``hops``, columns plus rows summed over them, or None; ``legal``, whether all limits are
        kept.
    """
    source, target = _ways(graph, part)
    n_cores = len(np.unique(part))
    legal = np.bincount(part).max() <= family.neurons and np.bincount(target).max() <= family.axons
    if where is not None:
        apart = len(np.unique(where, axis=0)) == n_cores == len(where)
        legal = legal and apart and where.min() >= 0 and where.max() < family.side
    return {
        "cores": n_cores,
        "deliveries": len(source),
        "between": int((part[source] != target).sum()),
        "hops": None if where is None else int(np.abs(where[part[source]] - where[target]).sum()),
        "legal": bool(legal),
    }


def groups_of(graph: Hypergraph) -> NeuronGroups:
    """Put a network as the mapper's partitioner takes it: every neuron for itself.

    Parameters
    ----------
    graph : Hypergraph
    """
    n = graph.n_neurons
    alone, itself = np.ones(n, np.int64), np.arange(n)
    return NeuronGroups(itself, graph.start, graph.source.astype(np.int32), alone, np.diff(graph.start), itself.copy())


def layers_of(graph: Hypergraph) -> list[Layer]:
    first = np.cumsum([0, *(rows * columns * features for rows, columns, features in graph.shapes)]).tolist()
    return [(n, shape) for n, shape in zip(first, graph.shapes, strict=False) if shape[0] * shape[1] > 1]


def _ways(graph: Hypergraph, part: Ints) -> tuple[Ints, Ints]:
    n_cores = int(part.max()) + 1
    pairs = np.unique(graph.source * n_cores + np.repeat(part, np.diff(graph.start)))
    source, target = np.divmod(pairs, n_cores)
    return source, target


def _chip(family: Family) -> ChipSpec:
    return replace(load_chip("loihi1"), name=f"{family.side}x{family.side}", cores=(family.side, family.side))


def _others(folder: Path, family: Family, graph: Hypergraph) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob(f"{family.name.replace(' ', '_')}-*.json")):
        given = json.loads(path.read_text(encoding="utf-8"))
        if "part" in given:
            where = np.array(given["where"]) if "where" in given else None
            found = count(graph, family, np.array(given["part"]), where)
            times = {key: given[key] for key in ("ours", "turns") if key in given}
            times |= {key: given.get(key) for key in ("partition_s", "place_s")}
            yield {"family": family.name, "method": given["method"]} | found | times


def _earlier(path: Path, family: str, known: set[str]) -> Iterator[dict[str, Any]]:
    """Give the rows of other mappers that are not known, with when they were taken and our figures of that run."""
    before = json.loads(path.read_text(encoding="utf-8"))
    mine = {row["family"]: row for row in before["rows"] if row["method"] == "neuromap"}
    ours = {key: mine[family][key] for key in ("partition_s", "place_s")}
    run = {"date": before["date"], "cpu": before["machine"]["cpu"], "unit_s": next(iter(mine.values()))["partition_s"]}
    for row in before["rows"]:
        if row["family"] == family and row["method"] not in known:
            yield {"earlier": run, "ours": ours} | row


def _take_turns(family: Family) -> None:
    graph = family.graph()
    for _ in sys.stdin:
        print(json.dumps(map_family(family, graph)), flush=True)


def main(argv: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mapping.many_targets")
    parser.add_argument("--families", action="append", choices=[family.name for family in FAMILIES])
    parser.add_argument("--write", type=Path, help="leave the networks in this folder, map nothing")
    parser.add_argument("--others", type=Path, help="folder with mappings of another mapper")
    parser.add_argument("--earlier", type=Path, help="results from which other mappings are kept")
    parser.add_argument("--turns", choices=[family.name for family in FAMILIES], help="map once for every line read")
    parser.add_argument("--repeat", type=int, default=1, help="times that ours is mapped; the row has the medians")
    parser.add_argument("--results", type=Path, default=RESULTS, help="JSON file that is written")
    asked = parser.parse_args(argv)
    found: dict[str, Any] = {"date": datetime.date.today().isoformat(), "machine": asdict(this_machine()), "rows": []}
    found["compile_s"] = _warm_up()
    if asked.turns:
        _take_turns(next(family for family in FAMILIES if family.name == asked.turns))
        return 0
    for family in (f for f in FAMILIES if asked.families is None or f.name in asked.families):
        graph = family.graph()
        if asked.write:
            _write(asked.write, family, graph)
            continue
        known: set[str] = set()
        rows = chain(
            [_median(family, graph, asked.repeat)], _others(asked.others, family, graph) if asked.others else ()
        )
        for row in chain(rows, _earlier(asked.earlier, family.name, known) if asked.earlier else ()):
            known.add(row["method"])
            found["rows"].append(row)
            write_whole(asked.results, (json.dumps(found, indent=1) + "\n").encode())  # what is finished stays
            print(json.dumps(row), file=sys.stderr, flush=True)
    return 0


def _median(family: Family, graph: Hypergraph, times: int) -> dict[str, Any]:
    """Map so many times; what comes out is the same, but for the CPU time."""
    rows = [map_family(family, graph) for _ in range(times)]
    return rows[0] | {key: statistics.median(row[key] for row in rows) for key in ("partition_s", "place_s")}


def _warm_up() -> float:
    """Load the compiler and what it compiled, so that it is in no row; CPU seconds."""
    begun = time.process_time()
    map_family(Family("", 32, 512), random_hypergraph(2048, 64, 8))
    return time.process_time() - begun


def _write(folder: Path, family: Family, graph: Hypergraph) -> None:
    path = folder / f"{family.name.replace(' ', '_')}.npz"
    arrays = {"start": graph.start, "source": graph.source}
    limits = {"neurons": family.neurons, "axons": family.axons, "side": family.side}
    np.savez(path, allow_pickle=False, **arrays, **{name: np.array(value) for name, value in limits.items()})


if __name__ == "__main__":
    sys.exit(main())
