"""Time and energy of timed ticks, held against SANA-FE on one network and several of its mappings.

    python -m benchmarks.validation                       prints the tables, writes results/validation.json
    python -m benchmarks.validation --program P           with a program of one's own (neuromap map ... -o P) too
    python -m benchmarks.validation.published             steps against those that others measured on silicon

SANA-FE runs in an environment of its own (``benchmarks/peers/install.sh sanafe``, or the Python that the variable
NEUROMAP_SANAFE_PYTHON names), on its own chip file, with its detailed timing; we on stock ``loihi1``, whose figures are
those of that file and were fixed before anything was compared. Cores compute their neurons in the same order on both
sides, and CPU time is that of one thread. The exit code is 1 if a spike differs, 2 if SANA-FE is not there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

import neuromap as nm
from benchmarks.validation.gesture import LAYERS, in_their_order, network
from neuromap.files.whole_file import write_whole
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program_file import load_program
from neuromap.mapping.options.options import Pins
from neuromap.simulation.cost.activity import WorkCounter, energy_counts
from neuromap.simulation.cost.energy import energy_of
from neuromap.simulation.cost.tick_times import tick_clock
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.noc.traffic import WireSums
from neuromap.simulation.run.tick_run import run_ticks

ROOT = Path(__file__).resolve().parents[2]
STEPS = 1000
TERMS = {
    "synapse": ("synaptic_event_joules",),
    "soma": ("neuron_access_joules", "neuron_update_joules", "fire_joules"),
    "network": ("spike_joules", "arrival_joules", "hop_x_joules", "hop_y_joules"),
}
"""SANA-FE's terms of energy, and ours that make them."""


@dataclass(frozen=True)
class Row:
    """One mapping on both sides, over the same steps."""

    mapping: str
    cores: int
    spikes_equal: bool
    packets: int
    their_packets: int
    microseconds: float  # a step
    their_microseconds: float
    correlation: float  # of the steps' times
    millijoules: float
    their_millijoules: float
    terms: dict[str, float]  # ours over theirs
    cpu: float  # CPU time of a step, ours over theirs: spikes with times and energy
    cpu_spikes: float  # spikes alone

    @property
    def their_product(self) -> float:
        """Energy times delay as SANA-FE says."""
        return self.their_millijoules * 1e-3 * self.their_microseconds * 1e-6 * STEPS


def tables(counts: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Cut every layer into so many stretches of its neurons, in SANA-FE's order, as its tutorial does."""
    found, first = {}, 0
    for (name, shape), count in zip(LAYERS.items(), counts, strict=True):
        size = int(np.prod(shape))
        core = np.empty(size, np.int64)
        core[in_their_order(name)] = first + np.minimum(np.arange(size) // (size // count), count - 1)
        found[name], first = core, first + count
    return found


def mapped(net: nm.Network) -> Iterator[tuple[str, ChipProgram]]:
    """Map it in several ways: those of its authors are given core by core, on a chip with room for them."""
    rollout = nm.Rollout(net, "streaming")
    roomy = nm.load_chip(
        "loihi1", {"core.synapse_memory_bits": 1 << 26, "core.axons": 1 << 14, "core.output_axons": 1 << 20}
    )
    cuts = {"theirs: 1, 4, 16, 16, 4, 1": (1, 4, 16, 16, 4, 1), "by hand: 3, 10, 24, 58, 30, 1": (3, 10, 24, 58, 30, 1)}
    cuts["fewest: 1, 4, 6, 8, 1, 1"] = (1, 4, 6, 8, 1, 1)
    for name, counts in cuts.items():
        pins = Pins(neurons=tables(counts))
        yield name, nm.map_rollout(rollout, roomy, keep="all", pins=pins, placer="row-major")
    yield "few deliveries", nm.map_rollout(rollout, "loihi1", keep="all")


def timed(program: ChipProgram) -> tuple[np.ndarray, dict[str, float], int, float, float]:
    """Run and time every step; seconds, joules by our terms, packets, CPU seconds of a step with and without times."""

    def run(n_ticks: int, times: bool) -> tuple[object, ...]:
        clock, wires, work = tick_clock(program), WireSums(program), WorkCounter(program)
        began = time.process_time()
        for spikes in run_ticks(program, n_ticks=n_ticks, choice=EngineChoice(threads=1), holding=times):
            if times:
                clock.add(spikes)
                wires.add(spikes)
                work.add(spikes)
        return clock, wires, work, (time.process_time() - began) / n_ticks

    run(3, True)  # compiled
    clock, wires, work, cpu = run(STEPS, True)
    found = clock.result()
    counts = energy_counts(wires.counts, work.result(), 1, found)
    joules = {term.key: term.joules or 0.0 for term in energy_of(program.chip, counts).terms}
    return found.seconds, joules, wires.counts.spikes, cpu, run(STEPS, False)[3]


def placed(program: ChipProgram) -> tuple[np.ndarray, np.ndarray]:
    """Give SANA-FE's number of the core of every neuron, and its place in it, layer by layer in SANA-FE's order."""
    x, y = program.coordinates.T.astype(np.int64)
    number = (x // 2 * 4 + y // 2) * 4 + x % 2 + 2 * (y % 2)  # tiles run through a column first
    cores, slots = [], []
    for k, port in enumerate(program.nodes):
        core, slot = np.nonzero((program.neuron_node == k) & ~program.is_relay)
        order = np.argsort(program.neuron_index[core, slot])[in_their_order(port.name)]
        cores.append(number[core[order]])
        slots.append(slot[order])
    return np.concatenate(cores), np.concatenate(slots)


def peer(python: str, program: ChipProgram, alone: bool = False) -> dict[str, np.ndarray]:
    """Run the same mapping there."""
    core, slot = placed(program)
    with tempfile.TemporaryDirectory() as folder:
        case, answer = Path(folder, "case.npz"), Path(folder, "answer.npz")
        np.savez(case, core=core, slot=slot, steps=STEPS, alone=alone)
        script = [python, str(Path(__file__).with_name("gesture.py")), str(case), str(answer)]
        subprocess.run(script, check=True, stdout=subprocess.DEVNULL, cwd=folder)
        with np.load(answer) as found:
            return dict(found)


def same_spikes(program: ChipProgram, net: nm.Network, theirs: np.ndarray) -> bool:
    """Whether every neuron fires in the same steps on both sides; theirs count from 1."""
    frames = nm.random_frames(net, STEPS + 1)
    trace = nm.simulate(program, frames, record=nm.Recording(spikes="all"))
    ours = []
    for k, name in enumerate(LAYERS):
        frame, neuron = np.nonzero(trace.frames(name)[1 : STEPS + 1])
        place = np.argsort(in_their_order(name))
        ours.append(np.stack([np.full(len(frame), k), place[neuron], frame + 1], axis=1))
    every = [np.unique(rows, axis=0) for rows in (np.concatenate(ours), theirs)]
    return every[0].shape == every[1].shape and bool((every[0] == every[1]).all())


def row(name: str, program: ChipProgram, net: nm.Network, python: str) -> Row:
    """Compare one mapping."""
    theirs, alone = peer(python, program), peer(python, program, alone=True)
    seconds, joules, packets, cpu, cpu_spikes = timed(program)
    energy = {term: sum(joules[key] for key in keys) for term, keys in TERMS.items()}
    return Row(
        name,
        program.n_cores,
        same_spikes(program, net, theirs["spikes"]),
        packets,
        int(theirs["packets"]),
        1e6 * float(seconds.mean()),
        1e6 * float(theirs["total"]) / STEPS,
        float(np.corrcoef(seconds, theirs["seconds"])[0, 1]),
        1e3 * sum(energy.values()),
        1e3 * float(theirs["energy_total"]),
        {term: value / float(theirs[f"energy_{term}"]) for term, value in energy.items()},
        cpu * STEPS / float(alone["cpu"]),
        cpu_spikes * STEPS / float(alone["cpu"]),
    )


def table(rows: list[Row]) -> str:
    """Write the rows as Markdown."""
    lines = [
        "| mapping | cores | spikes | packets | us a step, SANA-FE's | ratio | correlation of steps | "
        "mJ, SANA-FE's | ratio | synapse, soma, network | energy x delay there [J s] | CPU time, spikes alone |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for each in rows:
        terms = ", ".join(f"{each.terms[term]:.3f}" for term in TERMS)
        time, energy = each.microseconds / each.their_microseconds, each.millijoules / each.their_millijoules
        product = each.their_product / rows[0].their_product
        cells = (
            each.mapping,
            each.cores,
            "equal" if each.spikes_equal else "DIFFER",
            f"{each.packets / each.their_packets:.4f}",
            f"{each.microseconds:.2f}, {each.their_microseconds:.2f}",
            f"{time:.3f}",
            f"{each.correlation:.4f}",
            f"{each.millijoules:.3f}, {each.their_millijoules:.3f}",
            f"{energy:.3f}",
            terms,
            f"{each.their_product:.3e} ({product:.3f})",
            f"1/{1 / each.cpu:.0f}, 1/{1 / each.cpu_spikes:.0f}",
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    if len(rows) > 2:
        rank = spearmanr([each.microseconds for each in rows], [each.their_microseconds for each in rows]).statistic
        lines.append(f"\nRank correlation of the mappings in time: {rank:.2f}.")
    return "\n".join(lines)


def main() -> int:
    """Compare all mappings."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", type=Path, action="append", default=[], help="a program of this network")
    asked = parser.parse_args()
    python = os.environ.get("NEUROMAP_SANAFE_PYTHON", "")
    where = "import sanafe.tutorial as t; print(t.get_dvs_data().name)"
    try:
        said = subprocess.run([python, "-c", where], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        print("SANA-FE is not there: set NEUROMAP_SANAFE_PYTHON to a Python that has it", file=sys.stderr)
        return 2
    with np.load(said.stdout.strip()) as data:
        net = network({key: values.astype(int) for key, values in data.items()})
    rows = [row(name, program, net, python) for name, program in mapped(net)]
    rows += [row(path.stem, load_program(path), net, python) for path in asked.program]
    print(table(rows))
    result = ROOT / "benchmarks" / "results" / "validation.json"
    write_whole(result, json.dumps([asdict(each) for each in rows], indent=1) + "\n")
    return 0 if all(each.spikes_equal for each in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
