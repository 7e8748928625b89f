"""Ticks of the families of many-target cores: mapped with few deliveries, and for a short tick.

    python -m benchmarks.mapping.tick_times                              three families: some minutes
    python -m benchmarks.mapping.tick_times --families "random 4k" --proposals 2000000

Costs are those of stock ``loihi1``, limits those of the families. Neurons spike at random, each at a rate of its own,
half of them in less than 2 ticks of 100. Cores are as many as few deliveries take, twice as many, and all of so many
chips of 128 as hold those. A tick lasts as long as the slowest core sends or receives, and the barrier, in the mean
over 256 ticks, which the search knows, and over 256 others. The exit code is 1 where a tick gets longer.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.mapping.hypergraphs import FAMILIES, Family, Hypergraph
from benchmarks.mapping.many_targets import groups_of, layers_of
from neuromap.cores.synapse_list import balance_cores
from neuromap.cores.synapse_list.balance_cores import Balance, Rates
from neuromap.cores.synapse_list.fill_cores import partition_groups
from neuromap.cores.synapse_list.list_network import NeuronGroups, Room
from neuromap.cores.synapse_list.recorded_work import Layout, RecordedWork
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import tick_costs
from neuromap.mapping.options.budget import Budget

Ints = NDArray[np.int64]
TICKS = 256
CHIP = 128
_NO_LIMIT = 2**40
COSTS = ("access", "update", "fire", "spike", "arrival", "event")


def random_spikes(groups: NeuronGroups, rate: NDArray[np.float64], rng: np.random.Generator) -> RecordedWork:
    """Let every neuron spike at its rate; all are active."""
    costs, n = tick_costs(load_chip("loihi1")), len(groups)
    assert costs is not None, "ticks of loihi1 are timed"
    picoseconds = np.array([round(getattr(costs, name) / 1e-12) for name in COSTS])
    sent = sparse.csr_matrix((rng.random((n, TICKS)) < rate[:, None]).astype(np.int64))
    active = sparse.csr_matrix(np.ones((n, TICKS), np.int64))
    return RecordedWork(groups, np.arange(n), np.ones(len(groups.signal), np.int64), sent, active, picoseconds)


def layout_of(graph: Hypergraph) -> Layout:
    """Give rows, columns and features of all layers; networks without are one row of features."""
    shapes = graph.shapes or ((1, 1, graph.n_neurons),)
    sizes = [int(np.prod(shape)) for shape in shapes]
    place = np.concatenate([np.indices(shape).reshape(3, -1).T for shape in shapes])
    stride = np.repeat([(features, columns * features) for _, columns, features in shapes], sizes, axis=0)
    return Layout(np.repeat(np.arange(len(shapes)), sizes), place, stride)


def rows_of(family: Family) -> list[tuple[str, ...]]:
    """Map a family on several numbers of cores."""
    graph, costs = family.graph(), tick_costs(load_chip("loihi1"))
    assert costs is not None, "ticks of loihi1 are timed"
    groups, rng = groups_of(graph), np.random.default_rng(1)
    room = Room(family.neurons, family.axons, _NO_LIMIT, _NO_LIMIT, 0, 0)
    few = partition_groups(groups, room, layers_of(graph))
    rate = rng.gamma(0.5, 0.1, len(groups)).clip(0, 0.8)
    work, others, layout = random_spikes(groups, rate, rng), random_spikes(groups, rate, rng), layout_of(graph)
    balance, again = (Balance(layout, w, room, costs, Rates(1.0, 0.0, 0.0, 0.0, 0.0), 4) for w in (work, others))
    n, found = int(few.max()) + 1, []
    for most in sorted({n, 2 * n, -(-n // CHIP) * CHIP}):
        began = time.process_time()
        core = balance.improved(few, most, 0, Budget(), None)
        spent = time.process_time() - began
        before, after, unseen = balance.cost(few), balance.cost(core), again.cost(few) / again.cost(core)
        name = f"{most}" + (", all" if most % CHIP == 0 else "")
        times = (f"{1e6 * before:.2f}", f"{1e6 * after:.2f}", f"{before / after:.2f}", f"{unseen:.2f}")
        found.append((family.name, f"{n}", name, f"{int(core.max()) + 1}", *times, f"{spent:.0f}"))
        print(f"| {' | '.join(found[-1])} |", flush=True)
    return found


def main(argv: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mapping.tick_times")
    names = [family.name for family in FAMILIES]
    parser.add_argument("--families", action="append", choices=names)
    parser.add_argument("--proposals", type=int, default=400_000, help="of the search, for each mapping")
    asked = parser.parse_args(argv)
    balance_cores.MOST = asked.proposals
    print("| family | cores, few deliveries | cores, at most | taken | µs a tick | for a short tick | ratio | on other "
          "ticks | CPU s |\n|---|---|---|---|---|---|---|---|---|")  # fmt: skip
    rows = [row for family in FAMILIES if family.name in (asked.families or names[:3]) for row in rows_of(family)]
    ratios = [float(row[6]) for row in rows if row[2].endswith("all")]
    print(f"\nMedian on all cores: {statistics.median(ratios):.2f} times shorter.")
    return int(min(float(row[6]) for row in rows) < 1.0)


if __name__ == "__main__":
    sys.exit(main())
