"""Predicted time of a step, held against what others measured on silicon; ``published.toml`` says what, and where.

    python -m benchmarks.validation.published                  prints the table: minutes of CPU
    python -m benchmarks.validation.published --json FILE      and writes the rows

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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import random_array
from scipy.stats import spearmanr

import neuromap as nm
from neuromap.files.whole_file import write_whole
from neuromap.hardware.chip.chip_spec import ChipSpec, tick_costs
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.mapping.options.options import Pins
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron
from neuromap.network.transforms import Conv, Identity, MatrixTransform
from neuromap.simulation.cost.activity import WorkCounter, energy_counts
from neuromap.simulation.cost.energy import energy_of
from neuromap.simulation.cost.tick_times import tick_clock
from neuromap.simulation.noc.traffic import WireSums
from neuromap.simulation.run.tick_run import TickSpikes

WORKLOADS = Path(__file__).with_name("published.toml")
STEPS, SEED = 64, 1
ROOM = {"core.synapse_memory_bits": 1 << 26, "core.axons": 1 << 14, "core.output_axons": 1 << 20}
# Spikes are drawn, so neither matters: thresholds, nor the bias that the first layer's neurons need.
NEURON, DRIVEN = (CurrentNeuron(1000, bias=b, voltage_decay=0, current_bits=18, voltage_bits=18) for b in (0, 1))


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
    nanojoules: float | None
    their_nanojoules: float | None

    @property
    def counts(self) -> bool:
        """Whether it enters the median and the rank."""
        return self.most is None

    @property
    def nearest(self) -> float:
        """What lies nearest to the published time of all that may be predicted."""
        return self.predicted if self.most is None else min(max(self.published, self.predicted), self.most)

    @property
    def error(self) -> float:
        """Relative error in time; of unknown activity at least so much."""
        return abs(self.nearest / self.published - 1)


def workloads() -> list[dict[str, Any]]:
    """Read the file."""
    found: list[dict[str, Any]] = tomllib.loads(WORKLOADS.read_text(encoding="utf-8"))["workload"]
    return found


def blocks(shape: list[int], cores: list[int], first: int) -> np.ndarray:
    """Give the core of every neuron of a layer, cut along its axes as NxTF cuts it: the last one may be smaller."""
    along = [np.arange(n) // math.ceil(n / k) for n, k in zip(shape, cores, strict=True)]
    grid = np.ravel_multi_index(np.meshgrid(*along, indexing="ij"), cores)
    return first + grid.ravel()


def transform(layer: dict[str, Any], source: dict[str, Any], rng: np.random.Generator) -> Any:
    """Draw the weights of an edge: +-2, as cores with lists of both signs lack the lowest bit."""
    shapes = tuple(source["shape"]), tuple(layer["shape"])
    if "kernel" in layer:
        k, groups = layer["kernel"], shapes[0][2] if layer.get("depthwise") else 1
        stride, padding = (layer.get("stride", 1),) * 2, layer.get("padding", "valid")
        weights = 4 * rng.integers(0, 2, (k, k, shapes[0][2] // groups, shapes[1][2])) - 2
        return Conv(*shapes, (k, k), stride, padding, groups, weights)
    return matrix(math.prod(shapes[1]), math.prod(shapes[0]), layer["density"], rng)


def matrix(rows: int, columns: int, density: float, rng: np.random.Generator) -> MatrixTransform:
    """Draw a matrix of +-2."""
    drawn = random_array(
        (rows, columns), density=density, rng=rng, data_sampler=lambda size: 4 * rng.integers(0, 2, size) - 2
    )
    return MatrixTransform(drawn.astype(np.int64))


def built(workload: dict[str, Any]) -> tuple[Network, dict[str, np.ndarray]]:
    """Build its network, and the table of cores of every layer."""
    rng, n_cores = np.random.default_rng(SEED), 0
    nodes: dict[str, Node] = {}
    edges: dict[tuple[str, str], Edge] = {}
    tables: dict[str, np.ndarray] = {}
    layers = {layer["name"]: layer for layer in workload["layers"]}
    before = None
    for name, layer in layers.items():
        shape = tuple(layer["shape"])
        nodes[name] = Node(name, shape, neuron=None if layer.get("host") else NEURON if nodes else DRIVEN)
        if before is not None:
            source = layer.get("from", before)
            edges[source, name] = Edge(source, name, transform(layer, layers[source], rng))
        if "recurrent" in layer:
            size = math.prod(shape)
            edges[name, name] = Edge(name, name, matrix(size, size, layer["recurrent"], rng))
        if not layer.get("host"):
            tables[name] = (
                tables[layer["share"]][:1].repeat(math.prod(shape))
                if "share" in layer
                else blocks(layer["shape"], layer["cores"], n_cores)
            )
            n_cores = max(n_cores, int(tables[name].max()) + 1)
        if layer.get("reset"):  # the second compartment, on the same core
            second = f"{name}_reset"
            nodes[second], tables[second] = Node(second, shape, neuron=NEURON), tables[name]
            edges[name, second] = Edge(name, second, Identity(shape, shape))
        before = name
    return Network(workload["name"], nodes, edges), tables


def mapped(workload: dict[str, Any]) -> ChipProgram:
    """Map it as it was mapped there: cores in rows of the board, layer by layer."""
    net, tables = built(workload)
    chip = nm.load_chip(workload["chip"], ROOM | workload.get("overrides", {}))
    return nm.map_rollout(nm.Rollout(net, "streaming"), chip, keep="all", pins=Pins(neurons=tables), placer="row-major")


def predicted(program: ChipProgram, rates: dict[str, float]) -> tuple[float, float | None]:
    """Draw spikes at these rates, and give the mean microseconds of a step, and nanojoules where there are figures."""
    rng = np.random.default_rng(SEED)
    rate = np.zeros(program.shape)
    for k, port in enumerate(program.nodes):
        rate[(program.neuron_node == k) & ~program.is_relay] = rates[port.name]
    host = program.host
    of_host = np.array([rates[program.nodes[k].name] for k in host.node])
    # potentials without a leak are hardly ever 0; without a spike they all are
    held = program.neurons_in_use & any(rates.values())
    clock, wires, work = tick_clock(program), WireSums(program), WorkCounter(program)
    assert clock is not None
    for tick in range(STEPS):
        cores, neurons = np.nonzero(rng.random(program.shape) < rate)
        # an input's spike comes to all of its axons
        fed = rng.random(int(host.index.max(initial=0)) + 1)[host.index] < of_host
        spikes = TickSpikes(tick, cores, neurons, host.core[fed], host.axon[fed], held)
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


def row(workload: dict[str, Any]) -> Row:
    """Predict one workload."""
    about = workload["name"], workload["chip"], workload["activity"]
    theirs, their_joules = workload["published"], workload.get("published_nanojoules")
    if "counted" in workload:
        return Row(*about, workload["cores"], theirs, of_counters(workload), None, None, their_joules)
    program = mapped(workload)
    names = [port.name for port in program.nodes]
    if workload["activity"] == "unknown":
        least, most = (predicted(program, dict.fromkeys(names, rate))[0] for rate in (0.0, 1.0))
        return Row(*about, program.n_cores, theirs, least, most, None, their_joules)
    given = {layer["name"]: layer["rate"] for layer in workload["layers"]}
    ours, joules = predicted(program, {name: given.get(name, 0.0) for name in names})
    return Row(*about, program.n_cores, theirs, ours, None, joules, their_joules)


def summary(rows: list[Row]) -> dict[str, float]:
    """Give the median error and the rank correlation over rows of known activity, and the median of all."""
    known = [each for each in rows if each.counts]
    rank = spearmanr([each.published for each in known], [each.predicted for each in known]).statistic
    return {
        "workloads": len(known),
        "median_error": float(np.median([each.error for each in known])),
        "rank_correlation": float(rank),
        "median_error_of_all_at_least": float(np.median([each.error for each in rows])),
    }


def table(rows: list[Row]) -> str:
    """Write the rows as Markdown."""
    lines = [
        "| workload | chip | cores | activity | published [us] | predicted [us] | ratio | nJ, predicted, published |"
    ]
    lines.append("|---|---|---|---|---|---|---|---|")
    for each in rows:
        ours, ratio = f"{each.predicted:.1f}", f"{each.predicted / each.published:.2f}"
        if each.most is not None:
            ours, ratio = f"{ours} to {each.most:.1f}", f"{ratio} to {each.most / each.published:.2f}"
        both = None not in (each.nanojoules, each.their_nanojoules)
        energy = f"{each.nanojoules:.1f}, {each.their_nanojoules:.1f}" if both else ""
        cells = (each.name, each.chip, each.cores, each.activity, f"{each.published:.1f}", ours, ratio, energy)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    found = summary(rows)
    lines.append(
        f"\nMedian error of the {found['workloads']} workloads of known activity {found['median_error']:.0%}, rank "
        f"correlation {found['rank_correlation']:.2f}; of all at least {found['median_error_of_all_at_least']:.0%}."
    )
    return "\n".join(lines)


def main() -> None:
    """Predict all workloads that were seen."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows here")
    asked = parser.parse_args()
    rows = [row(workload) for workload in workloads() if workload["seen"]]
    print(table(rows))
    if asked.json is not None:
        document = {"summary": summary(rows), "rows": [asdict(each) for each in rows]}
        write_whole(asked.json, json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
