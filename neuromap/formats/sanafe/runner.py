"""The script beside exported files that runs them in SANA-FE; it knows nothing of neuromap."""

from __future__ import annotations

_SCRIPT = '''\
"""Run this folder's network in SANA-FE and compare its spikes: python run.py [FOLDER FOR TRACES]

The exit code is 0 if all spikes are equal, 1 if not. Traces are kept where a folder for them is given.
"""

import csv
import importlib.metadata
import json
import sys
import tempfile
from pathlib import Path

import sanafe

STEPS = {steps}


def spikes(path):
    with open(path, newline="") as file:
        return {{(row["neuron"], int(row["timestep"])) for row in csv.DictReader(file)}}


def main(here, traces):
    architecture = sanafe.load_arch(here / "arch.yaml")
    chip = sanafe.SpikingChip(architecture)
    chip.load(sanafe.load_net(here / "network.yaml", architecture))
    kept = {{f"{{name}}_trace": str(traces / f"{{name}}.csv") for name in ("spike", "perf", "message")}}
    found = chip.sim(STEPS, timing_model="{timing}", processing_threads=1, scheduler_threads=0, **kept)
    ours, theirs = spikes(here / "expected_spikes.csv"), spikes(traces / "spike.csv")
    energy = {{name: joules for name, joules in found["energy"].items()}}
    answer = {{
        "sanafe": importlib.metadata.version("sanafe"),
        "spikes_expected": len(ours),
        "spikes": len(theirs),
        "equal": ours == theirs,
        "energy_joules": energy,
        "seconds": found["sim_time"],
    }}
    (traces / "answer.json").write_text(json.dumps(answer))
    print(f"\\nSANA-FE {{answer['sanafe']}}: {{len(theirs):,}} spikes, {{len(ours):,}} expected: "
          + ("equal" if ours == theirs else "NOT EQUAL"))
    for side, rows in (("only in SANA-FE", theirs - ours), ("only expected", ours - theirs)):
        if rows:
            print(f"{{side}}: {{len(rows)}}, first {{min(rows, key=lambda row: row[1])}}")
    print("energy: " + ", ".join(f"{{name}} {{joules:.4g}} J" for name, joules in energy.items()))
    return 0 if ours == theirs else 1


if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    if len(sys.argv) > 1:
        raise SystemExit(main(here, Path(sys.argv[1])))
    with tempfile.TemporaryDirectory() as folder:
        raise SystemExit(main(here, Path(folder)))
'''


def runner_script(steps: int, timing: str = "simple") -> str:
    """Write the script; ``timing`` is SANA-FE's model of the network on chip."""
    return _SCRIPT.format(steps=steps, timing=timing)
