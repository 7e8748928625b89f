"""Time the paper's CIFAR networks with 8-bit activations on Loihi 2, under three rollouts.

    python -m benchmarks.graded_rollouts [--only cifar,dsr0,...]    an hour of one CPU core and 14 GB for all of them

Networks are those of ``examples/graded``. Every program is verified, value for value, on the frames that are timed.
Seconds are simulated: a tick lasts as long as its slowest core. What is done is kept in
``benchmarks/results/graded_rollouts.json`` and not done again.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import neuromap as nm
from neuromap.files.whole_file import write_whole

_ROOT = Path(__file__).resolve().parents[1]
_RESULTS = _ROOT / "benchmarks" / "results" / "graded_rollouts.json"
_CHIPS = {"cifar": "loihi2", **{f"dsr{n}": "loihi2" for n in range(6)}, "dsr6": "loihi2x8"}
_SPREAD = {"cifar 512": ("cifar", 512), "dsr0 1024": ("dsr0", 1024)}
"""The same with fewer neurons in a core, hence on more cores."""
_PATTERNS = ("streaming", "sequential", "hybrid")
_FRAMES = 12


def rows_of(name: str) -> list[dict[str, Any]]:
    """Map, verify and time a network under every pattern."""
    base, neurons = _SPREAD.get(name, (name, None))
    network = nm.load_network(_ROOT / "examples" / "graded" / f"{base}.toml")
    chip = nm.load_chip(_CHIPS[base], {} if neurons is None else {"core.neurons": neurons})
    report = nm.latency_report(network, chip, _PATTERNS, ["windowed"], n_frames=_FRAMES, n_stimuli=1)
    return [
        {
            "network": name,
            "chip": _CHIPS[base],
            "pattern": row["pattern"],
            "cores": row["cores"],
            "synapses": row["synapses"],
            "first_ticks": row["measured"]["first_response_ticks"],
            "full_ticks": row["measured"]["full_response_ticks"],
            "first_seconds": row["measured"]["first_response_seconds"],
            "full_seconds": row["measured"]["full_response_seconds"],
            "sampling_hz": row["sampling_frequency_hz"],
            "reaction_seconds": row["worst_case_reaction_seconds"],
            "verified": row["verified"],
            "proven": row["proven"],
        }
        for row in report.to_dict()["rows"]
    ]


def main() -> None:
    """Do what is not done yet."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default=",".join([*_CHIPS, *_SPREAD]), help="networks, with commas")
    wanted = parser.parse_args().only.split(",")
    for name in wanted:
        done = json.loads(_RESULTS.read_text(encoding="utf-8")) if _RESULTS.exists() else []
        if all(row["network"] != name for row in done):
            found = rows_of(name)
            order = [*_CHIPS, *_SPREAD]
            rows = sorted([*done, *found], key=lambda row: order.index(row["network"]))
            write_whole(_RESULTS, json.dumps(rows, indent=1) + "\n")
            for row in found:
                print(name, row["pattern"], f"{row['first_seconds'] * 1e3:.3g} ms", flush=True)


if __name__ == "__main__":
    main()
