"""The paper's networks at full connectivity, no groups, on as many TrueNorth chips as they need.

    python -m benchmarks.wide.paper [--only ff,s,sr,dsr0,...] [--ticks 16]      an hour and 16 GB for all of them

Weights are drawn (-1, 0, 1), since only shapes and connections matter here. Every program is legal by the checker; the
chip's outputs are held against the reference for the frames that the table says. What is done is kept in
``benchmarks/results/wide_paper.json`` and not done again; the table of ``docs/wide-neurons.md`` is made from it.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import neuromap as nm
from benchmarks.wide.page import with_paper
from neuromap.files.whole_file import write_whole
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.options import MappingOptions
from neuromap.network.weights import as_weight_source
from neuromap.verification.law import verify

_ROOT = Path(__file__).resolve().parents[2]
_RESULTS = _ROOT / "benchmarks" / "results" / "wide_paper.json"
_PAGE = _ROOT / "docs" / "wide-neurons.md"
_NAMES = ("ff", "s", "sr", *(f"dsr{n}" for n in range(7)))
_BOARD = (16, 16)
"""Chips of the board: more than any of them needs."""
_FRAMES = 12
_SMALL = ("ff", "s", "sr")
_FAR = ("dsr3", "dsr4", "dsr5", "dsr6")
"""So many cores that no layout was found in the time at hand that keeps every target within 255 cores of its source."""


def full_network(name: str) -> nm.Network:
    """Draw weights for one of the paper's structures, all connections kept."""
    paper = nm.load_network(_ROOT / "examples" / "structures" / f"{name}.toml")
    rng = np.random.default_rng(1)
    edges = {}
    for key, edge in paper.edges.items():
        transform: Any = edge.transform
        edges[key] = replace(transform, weights=as_weight_source(rng.integers(-1, 2, transform.weight_shape)))
    nodes = {n: (node.shape, None if n in paper.inputs else 1) for n, node in paper.nodes.items()}
    return nm.build_network(nodes, edges, outputs=paper.outputs, name=name)


def _row(name: str, ticks: int | None) -> dict[str, Any]:
    network = full_network(name)
    one = nm.load_chip("truenorth")
    board = replace(one, name="TrueNorth board", chips=_BOARD, reach=None if name in _FAR else one.reach)
    # what saves cores takes longest: large networks are mapped without it
    quick = (
        {} if name in _SMALL else {"packing": False, "splitters": "never", "placer": "hilbert", "partitioner": "blocks"}
    )
    options = MappingOptions(wide="partial-sums", wide_ticks=ticks, **quick)  # type: ignore[arg-type]
    rollout = nm.Rollout(network, "streaming")
    mapped = map_with_stages(rollout, board, options)
    program = mapped.program
    checked = verify(rollout, program, n_frames=_FRAMES)
    return {
        "network": name,
        "ticks": ticks,
        "neurons": sum(network.nodes[n].size for n in network.nodes if n not in network.inputs),
        "synapses": sum(edge.matrix().nnz for edge in network.edges.values()),
        "parts": 0 if program.is_part is None else int(program.is_part.sum()),
        "cores": program.n_cores,
        "reach": list(board.reach) if board.reach else None,
        "chips": -(-program.n_cores // one.n_cores),
        "period": program.period,
        "first": mapped.rollout.first_response("O"),
        "verified": checked.verified,
        "compared": checked.n_compared,
        "spikes": checked.n_spikes,
    }


def main() -> int:
    """Map what is not mapped yet, write results and table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=",".join(_NAMES))
    parser.add_argument("--ticks", type=int)
    asked = parser.parse_args()
    rows = json.loads(_RESULTS.read_text(encoding="utf-8")) if _RESULTS.exists() else []
    for name in asked.only.split(","):
        if any((row["network"], row["ticks"]) == (name, asked.ticks) for row in rows):
            continue
        rows.append(_row(name, asked.ticks))
        print(rows[-1], flush=True)
        rows.sort(key=lambda row: (_NAMES.index(row["network"]), -(row["ticks"] or 2**30)))
        write_whole(_RESULTS, json.dumps(rows, indent=1) + "\n")
    write_whole(_PAGE, with_paper(_PAGE.read_text(encoding="utf-8"), rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
