"""The fast engine of synapse lists beside Brian2 or SANA-FE: CPU time of a tick on full Loihi cores, at equal spikes.

    python -m benchmarks.list_engine                    2 and 128 cores, 3 rounds: some minutes, 3 GB of memory
    python -m benchmarks.list_engine --cores 16 --rounds 5 --python build/peers/brian2/bin/python
    python -m benchmarks.list_engine --peer sanafe --cores 2,100 --ticks 50 --python build/peers/sanafe/bin/python

Every turn is a process of its own, on one thread, and both take turns in every round. The spikes of each of the first
ticks, and the sum of all measured ones, must be equal; else there is no figure, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.list_engine.network import FAN_OUT, PER_LIST, brian2_arrays, loihi_network, one_tick_network
from neuromap.bench.bench_report import this_machine
from neuromap.files.whole_file import write_whole

_ROOT = Path(__file__).resolve().parents[2]
_RESULTS = _ROOT / "benchmarks" / "results"
_FILES = {"brian2": "list_engine.json", "sanafe": "list_engine_sanafe.json"}
_NAMES = {"brian2": "Brian2", "sanafe": "SANA-FE"}
_WARM = 20


def _answer(command: list[str]) -> dict[str, Any]:
    done = subprocess.run(command, cwd=_ROOT, check=True, stdout=subprocess.PIPE, text=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def _measure(peer: str, n_cores: int, rounds: int, ticks: int, python: str) -> dict[str, Any]:
    """All rounds of one size."""
    how = ["--warm", str(_WARM), "--ticks", str(ticks)]
    found: dict[str, list[dict[str, Any]]] = {"neuromap": [], peer: []}
    with tempfile.TemporaryDirectory() as folder:
        arrays = Path(folder) / "arrays"
        arrays.mkdir()
        program = loihi_network(n_cores) if peer == "brian2" else one_tick_network(n_cores)
        brian2_arrays(program, arrays)
        n_neurons = program.neurons.bias.size
        del program
        for turn in range(rounds):
            work = Path(folder) / f"work{turn}"
            work.mkdir()
            own = [sys.executable, "-m", "benchmarks.list_engine.run_neuromap", str(n_cores)]
            own += [] if peer == "brian2" else ["--one-tick"]
            other = [python, f"benchmarks/list_engine/run_{peer}.py", str(arrays), str(work)]
            for name, command in (("neuromap", own), (peer, other)):
                found[name].append(_answer([*command, *how]))
                print(f"{n_cores} cores, {name}: {found[name][-1]['cpu_ms_per_tick']:.3f} ms of CPU time per tick")
    spikes = {tuple(answer["spikes"]) for answers in found.values() for answer in answers}
    cpu = {name: [answer["cpu_ms_per_tick"] for answer in answers] for name, answers in found.items()}
    last = found["neuromap"][-1]
    return {
        "cores": n_cores,
        "neurons": n_neurons,
        "synapses": n_neurons * FAN_OUT * PER_LIST,
        "ticks": ticks,
        "versions": {name: answers[-1]["version"] for name, answers in found.items()},
        "equal_spikes": len(spikes) == 1,
        "spikes_per_neuron_and_tick": last["spikes"][-1] / ticks / n_neurons,
        "synaptic_events_per_tick": last["synaptic_events"] / ticks,
        "cpu_ms": cpu,
        "ratio": median(b / a for a, b in zip(cpu["neuromap"], cpu[peer], strict=True)),
    }


def main() -> int:
    """Measure, write the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", choices=sorted(_FILES), default="brian2")
    parser.add_argument("--cores", default="2,128")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ticks", type=int, default=300)
    parser.add_argument("--python", default=sys.executable, help="of an environment with the peer")
    asked = parser.parse_args()
    cores = [int(n) for n in asked.cores.split(",")]
    sizes = [_measure(asked.peer, n, asked.rounds, asked.ticks, asked.python) for n in cores]
    document = {"date": datetime.date.today().isoformat(), "machine": asdict(this_machine()), "sizes": sizes}
    write_whole(_RESULTS / _FILES[asked.peer], json.dumps(document, indent=1) + "\n")
    for size in sizes:
        if not size["equal_spikes"]:
            print(f"{size['cores']} cores: spikes differ; no figure")
        else:
            name, ratio = _NAMES[asked.peer], size["ratio"]
            print(f"{size['cores']} cores: {name} takes {ratio:.1f} times the CPU time of the fast engine")
    return 0 if all(size["equal_spikes"] for size in sizes) else 1


if __name__ == "__main__":
    sys.exit(main())
