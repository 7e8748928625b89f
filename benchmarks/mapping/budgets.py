"""Give every command that searches several budgets of time, and see whether each is kept and what it buys.

    python -m benchmarks.mapping.budgets                          minutes
    python -m benchmarks.mapping.budgets --requests "map irregular"

A budget is kept if a request takes at most a fifth and a second more than the budget, or than the least time: that of
a request whose searches are all ended at once. Wall-clock time, compiled code loaded before; CPU time beside it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.mapping.networks import convolution_network, irregular_network
from neuromap.bench.bench_report import this_machine
from neuromap.explorer.explore import explore
from neuromap.files.whole_file import write_whole
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.lower_bounds import core_bound
from neuromap.mapping.legalise.legalise import legalise
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.budget import Budget
from neuromap.mapping.options.options import MappingOptions
from neuromap.network import Network, build_network, load_network
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["is_kept", "run_in"]

RESULTS = Path(__file__).resolve().parents[1] / "results" / "mapping_budgets.json"
_DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "sr.toml"
NO_TIME = 1e-6
"""A budget that ends every search at once."""
BUDGETS = (1.0, 3.0, 10.0)
Found = tuple[int | None, tuple[str, ...]]
"""Cores, or ``None``; stages that were cut short."""


def _mapping(network: Network, chip: str | ChipSpec) -> Callable[[float], Found]:
    rollout = Rollout(network, "streaming")

    def run(seconds: float) -> Found:
        mapped = map_with_stages(rollout, chip, MappingOptions(seconds=seconds))
        return mapped.program.n_cores, mapped.cut_short

    return run


def _bound(network: Network) -> Callable[[float], Found]:
    chip = load_chip("truenorth")
    legal = legalise(Rollout(network, "streaming"), chip)

    def run(seconds: float) -> Found:
        budget = Budget(seconds)
        return core_bound(legal, chip, budget=budget).total, budget.cut

    return run


def _exploration(network: Network) -> Callable[[float], Found]:
    def run(seconds: float) -> Found:
        found = explore(network, seconds=seconds)
        cut = dict.fromkeys(stage for row in found.rows for stage in row.cut_short)
        return found.gap.least_cores, (*cut, *(() if found.gap.is_exact else ("rows",)))

    return run


def _two_boards() -> ChipSpec:
    loihi = load_chip("loihi1")
    return replace(loihi, chips=(2 * loihi.chips[0], loihi.chips[1]))


def _random(neurons: int) -> Network:
    """Make a node whose neurons read inputs and themselves at random."""
    rng = np.random.default_rng(0)
    edges = {("I", "A"): rng.random((neurons, 256)) < 0.05, ("A", "A"): rng.random((neurons, neurons)) < 0.01}
    signs = {edge: where * rng.choice([-1, 1], where.shape) for edge, where in edges.items()}
    return build_network({"I": ((1, 1, 256), None), "A": ((1, 1, neurons), 1)}, signs, outputs=["A"])


REQUESTS: Mapping[str, Callable[[], Callable[[float], Found]]] = {
    "map digits SR": lambda: _mapping(load_network(_DIGITS), "truenorth"),
    "map irregular": lambda: _mapping(irregular_network(), "truenorth"),
    "map convolution, ternary": lambda: _mapping(convolution_network("ternary"), "truenorth"),
    "map 4,096 random neurons, loihi1": lambda: _mapping(_random(4096), "loihi1"),
    "map convolution, ternary, 2 of loihi1": lambda: _mapping(convolution_network("ternary"), _two_boards()),
    "bound irregular": lambda: _bound(irregular_network()),
    "bound convolution, ternary": lambda: _bound(convolution_network("ternary")),
    "explore digits SR": lambda: _exploration(load_network(_DIGITS)),
    "explore irregular": lambda: _exploration(irregular_network()),
}


def run_in(request: Callable[[float], Found], seconds: float) -> dict[str, Any]:
    """Run a request within a budget.

    Parameters
    ----------
    request : callable
        Takes seconds; gives cores and what was cut short.
    seconds : float
        The budget.

    Returns
    -------
    dict
        ``budget_s``, ``took_s``, ``cpu_s``, ``cores``, ``cut_short``.
    """
    began, cpu = time.monotonic(), time.process_time()
    cores, cut_short = request(seconds)
    took, cpu = time.monotonic() - began, time.process_time() - cpu
    found = {"budget_s": seconds, "took_s": round(took, 2), "cpu_s": round(cpu, 2)}
    return found | {"cores": cores, "cut_short": list(cut_short)}


def is_kept(budget_s: float, took_s: float, least_s: float) -> bool:
    """Whether a mapping took at most a fifth and a second more than it might: the budget, or the least time."""
    return took_s <= 1.2 * max(budget_s, least_s) + 1


def main(argv: list[str] | None = None) -> int:
    """Run the command; 1 if a budget was not kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mapping.budgets")
    parser.add_argument("--requests", action="append", choices=list(REQUESTS))
    parser.add_argument("--results", type=Path, default=RESULTS, help="JSON file that is written")
    asked = parser.parse_args(argv)
    found: dict[str, Any] = {"date": datetime.date.today().isoformat(), "machine": asdict(this_machine()), "rows": []}
    for name in asked.requests or REQUESTS:
        request = REQUESTS[name]()
        run_in(request, 1.0)  # loads what is compiled, and compiles what is not
        least = 0.0
        for budget in (NO_TIME, *BUDGETS):
            row = {"request": name} | run_in(request, budget)
            least = least or row["took_s"]
            row |= {"least_s": least, "kept": is_kept(budget, row["took_s"], least)}
            found["rows"].append(row)
            write_whole(asked.results, (json.dumps(found, indent=1) + "\n").encode())  # what is finished stays
            print(json.dumps(row), file=sys.stderr, flush=True)
    return int(not all(row["kept"] for row in found["rows"]))


if __name__ == "__main__":
    sys.exit(main())
