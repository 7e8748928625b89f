"""Map networks with several budgets of time, and see whether each is kept and what it buys.

    python -m benchmarks.mapping.budgets                          minutes
    python -m benchmarks.mapping.budgets --networks irregular

A budget is kept if the mapping takes at most a fifth and a second more than the budget, or than the least time: that of
a mapping whose searches are all ended at once. Wall-clock time, compiled code loaded before.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.mapping.networks import convolution_network, irregular_network
from neuromap.bench.machine import this_machine
from neuromap.files.whole_file import write_whole
from neuromap.mapping.asked.options import MappingOptions
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.network import Network, load_network
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["is_kept", "map_in"]

RESULTS = Path(__file__).resolve().parents[1] / "results" / "mapping_budgets.json"
_DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "sr.toml"
NO_TIME = 1e-6
"""A budget that ends every search at once."""
BUDGETS = (1.0, 3.0, 10.0, 30.0)
NETWORKS: Mapping[str, Callable[[], Network]] = {
    "digits SR": lambda: load_network(_DIGITS),
    "irregular": irregular_network,
    "convolution, ternary": lambda: convolution_network("ternary"),
}


def map_in(rollout: Rollout, seconds: float) -> dict[str, Any]:
    """Map a rollout within a budget.

    Parameters
    ----------
    rollout : Rollout
        What is mapped, onto TrueNorth.
    seconds : float
        The budget.

    Returns
    -------
    dict
        ``budget_s``, ``took_s``, ``cores``, ``cut_short``.
    """
    began = time.monotonic()
    mapped = map_with_stages(rollout, "truenorth", MappingOptions(seconds=seconds))
    took = time.monotonic() - began
    return {
        "budget_s": seconds,
        "took_s": round(took, 2),
        "cores": mapped.program.n_cores,
        "cut_short": list(mapped.cut_short),
    }


def is_kept(budget_s: float, took_s: float, least_s: float) -> bool:
    """Whether a mapping took at most a fifth and a second more than it might: the budget, or the least time."""
    return took_s <= 1.2 * max(budget_s, least_s) + 1


def main(argv: list[str] | None = None) -> int:
    """Run the command; 1 if a budget was not kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mapping.budgets")
    parser.add_argument("--networks", action="append", choices=list(NETWORKS))
    parser.add_argument("--results", type=Path, default=RESULTS, help="JSON file that is written")
    asked = parser.parse_args(argv)
    found: dict[str, Any] = {"date": datetime.date.today().isoformat(), "machine": asdict(this_machine()), "rows": []}
    for name in asked.networks or NETWORKS:
        rollout = Rollout(NETWORKS[name](), "streaming")
        map_in(rollout, BUDGETS[-1])  # loads what is compiled, and compiles what is not
        least = 0.0
        for budget in (NO_TIME, *BUDGETS):
            row = {"network": name} | map_in(rollout, budget)
            least = least or row["took_s"]
            row |= {"least_s": least, "kept": is_kept(budget, row["took_s"], least)}
            found["rows"].append(row)
            write_whole(asked.results, (json.dumps(found, indent=1) + "\n").encode())  # what is finished stays
            print(json.dumps(row), file=sys.stderr, flush=True)
    return int(not all(row["kept"] for row in found["rows"]))


if __name__ == "__main__":
    sys.exit(main())
