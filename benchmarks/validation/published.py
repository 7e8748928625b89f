"""Predicted time of a step, held against what others measured on silicon; ``published.toml`` says what, and where.

    python -m benchmarks.validation.published                  prints the table: a minute of CPU
    python -m benchmarks.validation.published --json FILE      and writes the rows
    python -m benchmarks.validation.published --models FOLDER --mnist FOLDER --cifar10 FOLDER
                                                               with the spikes of two trained networks too

Every network is built again with random weights of the published density, in the published cores, on the stock chip,
with room for lists that the real one compresses. Spikes are drawn at the published rate of every layer, and the clock
of timed ticks takes what they cause; where the chip's own counters are published, its figures are multiplied with
these. Nothing is fitted: the file of workloads was committed before the first prediction.
"""

from __future__ import annotations

import argparse
import json
import math
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy.stats import spearmanr

import neuromap as nm
from benchmarks.validation.rebuilt import SEED, mapped
from neuromap.files.whole_file import write_whole
from neuromap.hardware.chip.chip_spec import ChipSpec, tick_costs
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.cost.activity import WorkCounter, energy_counts
from neuromap.simulation.cost.energy import energy_of
from neuromap.simulation.cost.tick_times import tick_clock
from neuromap.simulation.noc.traffic import WireSums
from neuromap.simulation.run.tick_run import TickSpikes

WORKLOADS = Path(__file__).with_name("published.toml")
STEPS = 64
Spikes: TypeAlias = dict[str, np.ndarray]  # which neurons of every layer fire in a step


@dataclass(frozen=True)
class Row:
    """One workload: microseconds of a step, and nanojoules where both sides have them."""

    name: str
    chip: str
    activity: str
    cores: int
    published: float
    predicted: float  # of unknown activity: without a spike
    most: float | None  # of unknown activity: with a spike of every neuron in every step
    trained: float | None  # with the spikes of the trained network, in their order
    nanojoules: float | None
    their_nanojoules: float | None

    @property
    def counts(self) -> bool:
        """Whether it enters the median and the rank."""
        return self.most is None

    def error(self, of_trained: bool = False) -> float:
        """Give the relative error in time."""
        ours = self.trained if of_trained and self.trained is not None else self.predicted
        return abs(ours / self.published - 1)


def workloads() -> list[dict[str, Any]]:
    """Read the file."""
    found: list[dict[str, Any]] = tomllib.loads(WORKLOADS.read_text(encoding="utf-8"))["workload"]
    return found


def drawn(program: ChipProgram, rates: dict[str, float]) -> Iterator[Spikes]:
    """Draw spikes at these rates, step by step."""
    rng = np.random.default_rng(SEED)
    for _ in range(STEPS):
        yield {port.name: rng.random(port.size) < rates[port.name] for port in program.nodes}


def predicted(program: ChipProgram, steps: Iterable[Spikes], active: bool = True) -> tuple[float, float | None]:
    """Give the mean microseconds of a step with these spikes, and nanojoules where the chip has figures."""
    places = []
    for k in range(len(program.nodes)):
        core, slot = np.nonzero((program.neuron_node == k) & ~program.is_relay)
        order = np.argsort(program.neuron_index[core, slot])
        places.append((core[order], slot[order]))
    # potentials without a leak are hardly ever 0; without a spike they all are
    host, held = program.host, program.neurons_in_use & active
    clock, wires, work = tick_clock(program), WireSums(program), WorkCounter(program)
    assert clock is not None
    for tick, fired in enumerate(steps):
        rows = [fired[port.name][: len(place[0])] for port, place in zip(program.nodes, places, strict=True)]
        cores, slots = (
            np.concatenate([place[axis][row] for place, row in zip(places, rows, strict=True)]) for axis in (0, 1)
        )
        order = np.lexsort((slots, cores))
        names = [program.nodes[k].name for k in host.node]
        fed = np.array([fired[name][k] for name, k in zip(names, host.index, strict=True)], bool)
        spikes = TickSpikes(tick, cores[order], slots[order], host.core[fed], host.axon[fed], held)
        clock.add(spikes)
        wires.add(spikes)
        work.add(spikes)
    found = clock.result()
    joules = energy_of(program.chip, energy_counts(wires.counts, work.result(), 1, found)).joules_per_tick
    return 1e6 * float(found.seconds.mean()), None if joules is None else 1e9 * joules


def of_counters(workload: dict[str, Any]) -> float:
    """Multiply the chip's figures with what its counters said of the busiest cores; microseconds of a step."""
    chip: ChipSpec = nm.load_chip(workload["chip"])
    costs, steps = tick_costs(chip), workload["steps"]
    assert costs is not None
    slowest = 0.0
    for core in workload["counted"]:
        fires = core["spikes_out"] / steps
        sends = core["neurons"] * (costs.access + costs.update) + fires * (costs.fire + costs.spike)
        takes = (core["spikes_in"] * costs.arrival + core["synaptic_events"] * costs.event) / steps
        slowest = max(slowest, sends, takes)
    return 1e6 * (slowest + costs.barrier_of(math.ceil(workload["cores"] / math.prod(chip.tile))))


def row(workload: dict[str, Any], trained: Callable[[dict[str, Any]], Iterator[Spikes] | None] | None = None) -> Row:
    """Predict one workload."""
    about = workload["name"], workload["chip"], workload["activity"]
    theirs, their_joules = workload["published"], workload.get("published_nanojoules")
    if "counted" in workload:
        return Row(*about, workload["cores"], theirs, of_counters(workload), None, None, None, their_joules)
    program = mapped(workload)
    names = [port.name for port in program.nodes]
    if workload["activity"] == "unknown":
        rows = [drawn(program, dict.fromkeys(names, rate)) for rate in (0.0, 1.0)]
        least, most = (predicted(program, steps, steps is rows[1])[0] for steps in rows)
        return Row(*about, program.n_cores, theirs, least, most, None, None, their_joules)
    given = {layer["name"]: layer["rate"] for layer in workload["layers"]}
    ours, joules = predicted(program, drawn(program, {name: given.get(name, 0.0) for name in names}))
    trains = None if trained is None else trained(workload)
    own = None if trains is None else predicted(program, trains)[0]
    return Row(*about, program.n_cores, theirs, ours, None, own, joules, their_joules)


def summary(rows: list[Row]) -> dict[str, float]:
    """Give median error and rank correlation over rows of known activity: with drawn spikes, and with trained ones."""
    known = [each for each in rows if each.counts]
    found: dict[str, float] = {"workloads": len(known)}
    for of_trained in (False, True):
        ours = [each.trained if of_trained and each.trained is not None else each.predicted for each in known]
        key = "trained" if of_trained else "drawn"
        found[f"median_error_{key}"] = float(np.median([each.error(of_trained) for each in known]))
        found[f"rank_correlation_{key}"] = float(spearmanr([each.published for each in known], ours).statistic)
    return found


def table(rows: list[Row]) -> str:
    """Write the rows as Markdown."""
    lines = [
        "| workload | chip | cores | activity | published [us] | predicted [us] | ratio | own spikes [us] | ratio |"
        " nJ, predicted, published |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for each in rows:
        ours, ratio = f"{each.predicted:.1f}", f"{each.predicted / each.published:.2f}"
        if each.most is not None:
            ours, ratio = f"{ours} to {each.most:.1f}", f"{ratio} to {each.most / each.published:.2f}"
        own = ("", "") if each.trained is None else (f"{each.trained:.1f}", f"{each.trained / each.published:.2f}")
        both = None not in (each.nanojoules, each.their_nanojoules)
        energy = f"{each.nanojoules:.1f}, {each.their_nanojoules:.1f}" if both else ""
        cells = (each.name, each.chip, each.cores, each.activity, f"{each.published:.1f}", ours, ratio, *own, energy)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    found = summary(rows)
    lines.append("")
    for key in ("drawn", "trained"):
        error, rank = found[f"median_error_{key}"], found[f"rank_correlation_{key}"]
        lines.append(f"{key}: median error {error:.0%}, rank correlation {rank:.2f}, {found['workloads']} workloads")
    return "\n".join(lines)


def main() -> None:
    """Predict all workloads that were seen."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows here")
    parser.add_argument("--models", type=Path, metavar="FOLDER", help="a clone of intel-nrc-ecosystem/models")
    parser.add_argument("--mnist", type=Path, metavar="FOLDER", help="with MNIST's files")
    parser.add_argument("--cifar10", type=Path, metavar="FOLDER", help="test images of CIFAR-10, a folder a class")
    asked = parser.parse_args()
    trained = None
    if asked.models is not None:
        from benchmarks.validation.trained import trained_spikes

        def trained(workload: dict[str, Any]) -> Iterator[Spikes] | None:
            return trained_spikes(workload, asked.models, asked.mnist, asked.cifar10)

    rows = [row(workload, trained) for workload in workloads() if workload["seen"]]
    print(table(rows))
    if asked.json is not None:
        document = {"summary": summary(rows), "rows": [asdict(each) for each in rows]}
        write_whole(asked.json, json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
