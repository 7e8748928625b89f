"""Mutants: programs with one fault each, to see whether a proof is ever given that it must not be.

    python -m benchmarks.mutants --programs 50 --per-program 400     20,000 mutants: some twenty CPU minutes
    python -m benchmarks.mutants --from benchmarks/results/mutants.json      the page again, nothing is run

Small random networks of several kinds are mapped onto both kinds of cores, and one value of a program is changed at a
time. A mutant that is proven must compute the network: it is run on all sequences of few frames and on many random
ones. One that is rejected should differ for some input, which is searched for. The exit code is 1 if a proof is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import neuromap as nm
from neuromap.errors import DoesNotFitError, NeuromapError
from neuromap.files.whole_file import write_whole
from neuromap.hardware.check.check_program import check_program, require_legal
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.network.edge import Edge, EdgeTerm
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron, LeakNeuron
from neuromap.network.transforms import Dense
from neuromap.network.weights import StoredWeights
from neuromap.proof.codes import PROVEN as PROVEN_CODE
from neuromap.proof.codes import REASONS
from neuromap.proof.counterexample import find_counterexample
from neuromap.proof.prove import Proof, prove

ROOT = Path(__file__).resolve().parents[1]
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "mutants.json", ROOT / "docs" / "mutants.md"
IN_USE = 0.85
"""Share of faults that are put where the program uses what is changed."""
STEP = 64
"""Of Loihi's weights and thresholds."""


# Programs of several kinds, small enough to be run on all that few frames can hold.


def crossbar_chip(rng: np.random.Generator, **changes: Any) -> ChipSpec:
    """TrueNorth's core, small."""
    axons, neurons = ((48, 12), (64, 20), (40, 16))[rng.integers(3)]
    figures = {
        "name": "small-crossbars", "cores": (8, 8), "chips": (1, 1), "axons": axons, "neurons": neurons,
        "axon_types": 4, "weight_bits": 9, "leak_bits": 9, "threshold_bits": 18, "potential_bits": 20, "delay": (1, 5),
        "tick_seconds": 1e-3,
    }  # fmt: skip
    return ChipSpec(**(figures | changes))


def list_chip(rng: np.random.Generator, **changes: Any) -> ChipSpec:
    """Loihi's core, small."""
    chip = nm.load_chip("loihi1")
    figures = {"neurons": int(rng.choice([5, 9, 16])), "axons": 96, "delay": (1, 63), "tile": (1, 1)}
    return replace(chip, name="small-lists", **figures, core_figures=replace(chip.lists, **changes))


def frame_network(rng: np.random.Generator, bridging: bool = False) -> tuple[Network, str]:
    """Up to five nodes with cycles, self-edges and skips, weights of several kinds, and a random valid pattern."""
    inputs, inner = ["I", "J"][: rng.integers(1, 3)], [f"H{k}" for k in range(rng.integers(1, 4))]
    pairs = {(str(rng.choice([*inputs, *inner[:k]])), v) for k, v in enumerate(inner)}
    pairs |= {(u, str(rng.choice(inner))) for u in inputs}
    pairs |= {(u, v) for u in inner for v in inner if rng.random() < 0.25}
    sizes = {name: int(rng.integers(1, 4)) for name in [*inputs, *inner]}
    nodes: dict[str, Any] = {name: (sizes[name], None) for name in inputs}
    nodes |= {name: (sizes[name], rng.choice([-1, 0, 1, 1, 1, 2, 2, 3, 5], sizes[name])) for name in inner}
    matrices = {}
    for u, v in sorted(pairs):
        high = int(rng.choice([1, 1, 3, 40]))
        matrices[u, v] = rng.integers(-high, high + 1, (sizes[v], sizes[u]))
        matrices[u, v].flat[rng.integers(matrices[u, v].size)] = 1
    place = {name: k for k, name in enumerate(rng.permutation(list(nodes)))}
    streams = [pair for pair in matrices if place[pair[0]] >= place[pair[1]] or rng.random() < 0.5]
    far = {pair: 2 for pair in streams if bridging and rng.random() < 0.5}
    network = nm.build_network(
        nodes, matrices, outputs=(inner[-1],), patterns={"drawn": streams}, bridging={"drawn": far}, name="random"
    )
    return network, "drawn"


def ring_network(rng: np.random.Generator) -> tuple[Network, str]:
    """A ring in which two frames are under way, so that frames may come at unequal intervals."""
    n, names = int(rng.choice([3, 5])), [f"r{k}" for k in range(5)]
    ring, size = names[:n], {name: int(rng.integers(1, 4)) for name in ["I", "O", *names]}
    nodes: dict[str, Any] = {"I": (size["I"], None)}
    nodes |= {name: (size[name], rng.integers(-1, 3, size[name])) for name in [*ring, "O"]}
    pairs = [(ring[k], ring[(k + 1) % n]) for k in range(n)] + [("I", ring[0]), (ring[-1], "O")]
    matrices = {(u, v): rng.integers(-2, 3, (size[v], size[u])) for u, v in pairs}
    streams = [pairs[n - 1], pairs[0], pairs[n]]
    return nm.build_network(nodes, matrices, outputs=("O",), patterns={"drawn": streams}, name="ring"), "drawn"


def spiking_network(rng: np.random.Generator, neuron: Callable[[np.random.Generator, int], Any], unit: int) -> Network:
    """Integer neurons with state, edges with several terms and delays."""
    inner = [f"N{k}" for k in range(rng.integers(1, 4))]
    pairs = {(str(rng.choice(["I", *inner[:k]])), v) for k, v in enumerate(inner)} | {("I", inner[0])}
    pairs |= {(u, v) for u in inner for v in inner if rng.random() < 0.25}
    sizes = {name: int(rng.integers(1, 4)) for name in ["I", *inner]}
    nodes = {"I": Node("I", (1, 1, sizes["I"]))}
    nodes |= {name: Node(name, (1, 1, sizes[name]), neuron=neuron(rng, sizes[name])) for name in inner}

    def term(u: str, v: str) -> tuple[Any, int, int]:
        weights = StoredWeights(rng.choice([-7, -2, 0, 3, 5], (sizes[v], sizes[u])) * unit)
        n_currents = nodes[v].neuron.n_currents  # type: ignore[union-attr]
        dense = Dense(nodes[u].shape, nodes[v].shape, weights=weights)
        return dense, int(rng.choice([1, 1, 2, 4, 7])), int(rng.integers(n_currents))

    edges = {
        (u, v): Edge(u, v, *term(u, v), also=tuple(EdgeTerm(*term(u, v)) for _ in range(rng.integers(0, 2))))
        for u, v in sorted(pairs)
    }
    return Network("spiking", nodes, edges, outputs=(inner[-1],))


def leak_neuron(rng: np.random.Generator, size: int) -> LeakNeuron:
    """Neurons of crossbars."""
    subtract = int(rng.random() < 0.3)
    threshold, floor = rng.integers(1, 12, size) + 100 * subtract, rng.integers(0, 12, size)
    return LeakNeuron(
        threshold=threshold, leak=rng.integers(-2, 4, size), floor=floor, subtract=subtract,
        potential=rng.integers(-floor, threshold),
    )  # fmt: skip


def current_neuron(rng: np.random.Generator, size: int) -> CurrentNeuron:
    """Neurons of synapse lists."""
    return CurrentNeuron(
        threshold=rng.integers(0, 10, size) * STEP, current_decay=rng.choice([4096, 2048, 1000, 0], size),
        more_current_decays=[rng.choice([4096, 3000], size) for _ in range(rng.integers(0, 2))],
        voltage_decay=rng.choice([4096, 512, 100], size), bias=rng.integers(-60, 100, size),
        refractory=rng.integers(0, 3, size), current=rng.integers(-50, 50, size), voltage=rng.integers(-50, 50, size),
    )  # fmt: skip


def _frames(execution: str, lists: bool = False, **how: Any) -> Callable[[np.random.Generator], Any]:
    def make(rng: np.random.Generator) -> Any:
        bridging, ring = how.get("bridging", False), how.get("ring", False)
        network, pattern = ring_network(rng) if ring else frame_network(rng, bridging)
        options = {name: value for name, value in how.items() if name not in ("bridging", "ring")}
        return nm.Rollout(network, pattern, execution), (list_chip if lists else crossbar_chip)(rng), options

    return make


def _leaks(rng: np.random.Generator) -> Any:
    return nm.Rollout(spiking_network(rng, leak_neuron, 1), "streaming"), crossbar_chip(rng), {}


def _currents(rng: np.random.Generator) -> Any:
    return nm.Rollout(spiking_network(rng, current_neuron, STEP), "streaming"), list_chip(rng), {}


FAMILIES: Mapping[str, Callable[[np.random.Generator], Any]] = {
    "crossbars, windowed": _frames("windowed"),
    "lists, windowed": _frames("windowed", lists=True),
    "crossbars, pipelined": _frames("pipelined"),
    "lists, pipelined": _frames("pipelined", lists=True),
    "crossbars, pipelined:best, unequal": _frames("pipelined:best", ring=True),
    "lists, pipelined:best, unequal": _frames("pipelined:best", lists=True, ring=True),
    "crossbars, splitters": _frames("windowed", splitters="anywhere"),
    "crossbars, bridging": _frames("pipelined", bridging=True),
    "crossbars, spiking": _leaks,
    "lists, spiking": _currents,
}
"""What makes a rollout, a chip and options of the mapper."""


def programs(n: int, seed: int) -> Iterator[tuple[str, nm.Rollout, ChipProgram]]:
    """Map random networks, one of each kind in turn."""
    from neuromap.mapping.map_rollout import map_with_stages
    from neuromap.mapping.options.options import MappingOptions

    kinds = list(FAMILIES)
    for k in range(n):
        rng = np.random.default_rng([seed, k])
        while True:
            rollout, chip, options = FAMILIES[kinds[k % len(kinds)]](rng)
            try:
                found = map_with_stages(rollout, chip, MappingOptions(placer="row-major", **options))
            except DoesNotFitError:
                continue
            if found.program.outputs.core.size:  # else all of the network is silent, and no fault matters
                yield kinds[k % len(kinds)], found.rollout, found.program
                break


# Faults: one value of a program, changed.


@dataclass(frozen=True)
class Mutation:
    """A fault that was made."""

    kind: str
    what: str  # in words
    program: ChipProgram


Change = Callable[[Any, np.random.Generator], "tuple[str, ChipProgram] | None"]


def mutate(program: ChipProgram, rng: np.random.Generator) -> Mutation:
    """Make one fault, of a kind that is drawn; the program is another one than before."""
    kinds = CROSSBAR_FAULTS if program.chip.kind.name == "crossbar" else LIST_FAULTS
    names = sorted(kinds)
    while True:
        kind = names[rng.integers(len(names))]
        made = kinds[kind](program, rng)
        if made is not None:
            return Mutation(kind, *made)


def _other(rng: np.random.Generator, value: int, low: int, high: int) -> int | None:
    """Draw another value of a range, most often a near one, a sign or a bound."""
    near = [value - 1, value + 1, value - 1, value + 1, value - STEP, value + STEP, -value, 2 * value, 0, low, high]
    chosen = int(rng.choice([*near, int(rng.integers(low, high + 1))]))
    chosen = min(max(chosen, low), high)
    return None if chosen == value else chosen


def _place(program: ChipProgram, rng: np.random.Generator) -> tuple[int, int]:
    """Draw a neuron, most often one in use."""
    used = np.argwhere(program.neurons_in_use)
    if rng.random() < IN_USE and len(used):
        core, n = used[rng.integers(len(used))]
        return int(core), int(n)
    return int(rng.integers(program.shape[0])), int(rng.integers(program.shape[1]))


def _changed(array: Any, at: Any, value: Any) -> Any:
    found = np.array(array)
    found[at] = value
    return found


def _neuron(field: str, low: int, high: int) -> Change:
    """Change a parameter of a neuron."""

    def change(program: Any, rng: np.random.Generator) -> tuple[str, ChipProgram] | None:
        table = getattr(program.neurons, field)
        if table is None:
            return None
        place = _place(program, rng)
        if table.ndim == 3:
            used = np.unique(program.axon_types[place[0]][_read(program, *place)])
            some = used if len(used) and rng.random() < IN_USE else np.arange(table.shape[2])
            place = (*place, int(rng.choice(some)))
        value = _other(rng, int(table[place]), low, high)
        if value is None:
            return None
        what = f"{field} of core {place[0]}, neuron {place[1]}: {value} for {int(table[place])}"
        return what, replace(program, neurons=replace(program.neurons, **{field: _changed(table, place, value)}))

    return change


def _read(program: Any, core: int, n: int) -> Any:
    """Axons that a neuron of a crossbar reads."""
    return (program.crossbar[core, :, n // 8] >> (n % 8) & 1).astype(bool)


def _fed(program: ChipProgram, core: int) -> Any:
    wires, host = program.wires, program.host
    return np.unique(np.concatenate([wires.target_axon[wires.target_core == core], host.axon[host.core == core]]))


def _axon(program: ChipProgram, rng: np.random.Generator) -> tuple[int, int]:
    """Draw an axon, most often one that is fed."""
    core = int(rng.integers(program.n_cores))
    fed = _fed(program, core)
    if len(fed) and rng.random() < IN_USE:
        return core, int(rng.choice(fed))
    return core, int(rng.integers(max(1, int(program.axon_counts[core]))))


def _axon_type(program: Any, rng: np.random.Generator) -> tuple[str, ChipProgram] | None:
    place = _axon(program, rng)
    value = _other(rng, int(program.axon_types[place]), 0, program.chip.axon_types - 1)
    if value is None:
        return None
    what = f"type of core {place[0]}, axon {place[1]}: {value} for {int(program.axon_types[place])}"
    return what, replace(program, axon_types=_changed(program.axon_types, place, value))


def _bit(program: Any, rng: np.random.Generator) -> tuple[str, ChipProgram] | None:
    core, axon = _axon(program, rng)
    used = np.flatnonzero(program.neurons_in_use[core])
    n = int(rng.choice(used)) if len(used) and rng.random() < IN_USE else int(rng.integers(program.shape[1]))
    at = (core, axon, n // 8)
    bits = _changed(program.crossbar, at, program.crossbar[at] ^ (1 << n % 8))
    return f"bit of core {core}, axon {axon}, neuron {n}", replace(program, crossbar=bits)


def _wire(field: str) -> Change:
    """Change where spikes of a crossbar's neuron go, or when."""

    def change(program: Any, rng: np.random.Generator) -> tuple[str, ChipProgram] | None:
        sends = np.argwhere(program.target_core >= 0)
        if not len(sends):
            return None
        place = tuple(sends[rng.integers(len(sends))].tolist())
        high = {"delay": program.chip.delay[1], "target_core": program.n_cores, "target_axon": program.chip.axons - 1}
        table = getattr(program, field)
        value = _other(rng, int(table[place]), 1 if field == "delay" else -1 if field == "target_core" else 0, high[field])
        if value is None:
            return None
        what = f"{field} of core {place[0]}, neuron {place[1]}: {value} for {int(table[place])}"
        return what, replace(program, **{field: _changed(table, place, value)})

    return change


def _swapped(program: Any, rng: np.random.Generator) -> tuple[str, ChipProgram] | None:
    """Swap the labels of two neurons."""
    labelled = np.argwhere(program.neuron_node >= 0)
    if len(labelled) < 2:
        return None
    a, b = (tuple(row.tolist()) for row in labelled[rng.choice(len(labelled), 2, replace=False)])
    tables = {}
    for name in ("neuron_node", "neuron_index", "is_relay"):
        table = getattr(program, name)
        tables[name] = _changed(_changed(table, a, table[b]), b, table[a])
    same = all(np.array_equal(table, getattr(program, name)) for name, table in tables.items())
    return None if same else (f"labels of {a} and {b}", replace(program, **tables))


def _label(program: Any, rng: np.random.Generator) -> tuple[str, ChipProgram] | None:
    """Take a neuron's label away, or say that it is a relay, or none."""
    labelled = np.argwhere(program.neuron_node >= 0)
    place = tuple(labelled[rng.integers(len(labelled))].tolist())
    if rng.random() < 0.5:
        return f"label of {place} removed", replace(program, neuron_node=_changed(program.neuron_node, place, -1))
    turned = _changed(program.is_relay, place, not program.is_relay[place])
    return f"{place} a relay, or none", replace(program, is_relay=turned)


def _mute(program: Any, rng: np.random.Generator) -> tuple[str, ChipProgram] | None:
    """Remove a copy: nothing reaches it any more."""
    labelled = np.argwhere(program.neuron_node >= 0)
    core, n = labelled[rng.integers(len(labelled))].tolist()
    if program.chip.kind.name == "crossbar":
        bits = _changed(program.crossbar, (core, slice(None), n // 8), program.crossbar[core, :, n // 8] & ~np.uint8(1 << n % 8))
        return f"inputs of core {core}, neuron {n} removed", replace(program, crossbar=bits)
    table = program.synapses
    mine = (table.list_core[table.synapse_list] == core) & (table.neuron == n)
    weight = np.where(mine, np.int32(0), table.weight)
    return f"inputs of core {core}, neuron {n} removed", replace(program, synapses=replace(table, weight=weight))


def _sample_tick(program: ChipProgram, rng: np.random.Generator) -> tuple[str, ChipProgram] | None:
    k = int(rng.integers(len(program.nodes)))
    port, part = program.nodes[k], Fraction(1, Fraction(program.period).denominator)
    by = rng.choice([-1, 1]) * (part if rng.random() < 0.5 else 1)
    tick = Fraction(port.sample_tick) + Fraction(int(by) if by == int(by) else by)
    late = int(tick) if tick.denominator == 1 else tick
    nodes = tuple(replace(p, sample_tick=late) if p is port else p for p in program.nodes)
    return f"sample tick of {port.name}: {late} for {port.sample_tick}", replace(program, nodes=nodes)


def _period(program: ChipProgram, rng: np.random.Generator) -> tuple[str, ChipProgram] | None:
    period = program.period + int(rng.choice([-1, 1]))
    return (f"period {period} for {program.period}", replace(program, period=period)) if period >= 1 else None


def _row(table: str, field: str) -> Change:
    """Change a row of the host or of the outputs."""

    def change(program: Any, rng: np.random.Generator) -> tuple[str, ChipProgram] | None:
        rows = getattr(program, table)
        array = getattr(rows, field)
        if array is None or not len(array):
            return None
        row = int(rng.integers(len(array)))
        fed = _fed(program, int(rows.core[row])) if field == "axon" else None
        high = {
            "node": len(program.nodes) - 1, "index": program.nodes[int(rows.node[row])].size - 1, "core": program.n_cores - 1,
            "axon": max(0, int(program.axon_counts[rows.core[row]]) - 1), "neuron": program.shape[1] - 1, "arrival": 1 << 20,
            "first_frame": 1, "part": Fraction(program.period).denominator - 1,
        }[field]  # fmt: skip
        low = -(1 << 20) if field == "arrival" else -1 if field == "node" and table == "host" else 0
        value = _other(rng, int(array[row]), low, high)
        if field == "arrival":
            value = int(array[row]) + int(rng.choice([-2, -1, 1, 2]))
        elif fed is not None and rng.random() < 0.7:
            value = int(rng.choice(fed))
        if value is None or value == int(array[row]):
            return None
        what = f"{table} row {row}: {field} {value} for {int(array[row])}"
        return what, replace(program, **{table: replace(rows, **{field: _changed(array, row, value)})})

    return change


def _without_row(table: str, double: bool = False) -> Change:
    def change(program: Any, rng: np.random.Generator) -> tuple[str, ChipProgram] | None:
        rows = getattr(program, table)
        if not len(rows.node):
            return None
        row = int(rng.integers(len(rows.node)))
        order = np.delete(np.arange(len(rows.node)), row)
        fields = {name: array[order] for name, array in vars(rows).items() if array is not None}
        return f"{table} row {row} removed", replace(program, **{table: replace(rows, **fields)})

    return change


def _entry(field: str) -> Change:
    """Change an entry of a list."""

    def change(program: Any, rng: np.random.Generator) -> tuple[str, ChipProgram] | None:
        table = program.synapses
        if not len(table.neuron):
            return None
        k = int(rng.integers(len(table.neuron)))
        low, high = {"neuron": (0, program.shape[1] - 1), "weight": (-256 * STEP, 255 * STEP), "delay": (0, 62)}[field]
        array = getattr(table, field)
        value = _other(rng, int(array[k]), low, high)
        if value is None:
            return None
        what = f"{field} of entry {k}: {value} for {int(array[k])}"
        return what, replace(program, synapses=replace(table, **{field: _changed(array, k, value)}))

    return change


def _entries(program: Any, rng: np.random.Generator) -> tuple[str, ChipProgram] | None:
    """Remove or double an entry of a list."""
    table = program.synapses
    if not len(table.neuron):
        return None
    k, times = int(rng.integers(len(table.neuron))), int(rng.choice([0, 2]))
    repeats = _changed(np.ones(len(table.neuron), np.int64), k, times)
    lists = np.append(0, np.cumsum(repeats))[table.lists]
    columns = {name: np.repeat(getattr(table, name), repeats) for name in ("neuron", "weight", "delay")}
    return f"entry {k} {times} times", replace(program, synapses=replace(table, lists=lists, **columns))


def _target(field: str) -> Change:
    def change(program: Any, rng: np.random.Generator) -> tuple[str, ChipProgram] | None:
        targets = program.targets
        if not len(targets.core):
            return None
        k = int(rng.integers(len(targets.core)))
        array = getattr(targets, field)
        high = program.n_cores if field == "core" else int(program.axon_counts[targets.core[k]])
        value = _other(rng, int(array[k]), 0, high)
        if value is None:
            return None
        what = f"target {k}: {field} {value} for {int(array[k])}"
        return what, replace(program, targets=replace(targets, **{field: _changed(array, k, value)}))

    return change


def _targets(program: Any, rng: np.random.Generator) -> tuple[str, ChipProgram] | None:
    """Remove a target, or give it to the next neuron."""
    targets = program.targets
    if not len(targets.core):
        return None
    k = int(rng.integers(len(targets.core)))
    if rng.random() < 0.5:
        start = targets.start - (targets.start > k)
        kept = {name: np.delete(getattr(targets, name), k) for name in ("core", "axon")}
        return f"target {k} removed", replace(program, targets=replace(targets, start=start, **kept))
    ends = np.flatnonzero((targets.start[1:-1] > 0) & (targets.start[1:-1] < len(targets.core))) + 1
    if not len(ends):
        return None
    at = int(rng.choice(ends))
    start = _changed(targets.start, at, targets.start[at] + int(rng.choice([-1, 1])))
    if (np.diff(start) < 0).any():
        return None
    return f"targets from neuron {at} on begin elsewhere", replace(program, targets=replace(targets, start=start))


_INT = 2**20
SHARED_FAULTS: Mapping[str, Change] = {
    "labels swapped": _swapped,
    "label": _label,
    "copy removed": _mute,
    "sample tick": _sample_tick,
    "period": _period,
    "host: arrival": _row("host", "arrival"),
    "host: axon": _row("host", "axon"),
    "host: core": _row("host", "core"),
    "host: node": _row("host", "node"),
    "host: index": _row("host", "index"),
    "host: first frame": _row("host", "first_frame"),
    "host: part of a tick": _row("host", "part"),
    "host: row removed": _without_row("host"),
    "outputs: node": _row("outputs", "node"),
    "outputs: index": _row("outputs", "index"),
    "outputs: neuron": _row("outputs", "neuron"),
    "outputs: core": _row("outputs", "core"),
    "outputs: row removed": _without_row("outputs"),
}
CROSSBAR_FAULTS: Mapping[str, Change] = SHARED_FAULTS | {
    "weight": _neuron("weights", -255, 255),
    "leak": _neuron("leak", -255, 255),
    "leak reversal": _neuron("leak_reversal", 0, 1),
    "threshold": _neuron("threshold", 0, 2**18 - 1),
    "negative threshold": _neuron("negative_threshold", 0, 2**18 - 1),
    "negative mode": _neuron("saturate_negative", 0, 1),
    "reset value": _neuron("reset", -(2**18), 2**18),
    "reset mode": _neuron("reset_mode", 0, 2),
    "first potential": _neuron("potential", -(2**18), 2**18),
    "axon type": _axon_type,
    "crossbar bit": _bit,
    "delay": _wire("delay"),
    "target core": _wire("target_core"),
    "target axon": _wire("target_axon"),
}
LIST_FAULTS: Mapping[str, Change] = SHARED_FAULTS | {
    "threshold": _neuron("threshold", 0, 2**17 * STEP),
    "bias": _neuron("bias", -_INT, _INT),
    "current decay": _neuron("current_decay", 0, 4096),
    "voltage decay": _neuron("voltage_decay", 0, 4096),
    "refractory": _neuron("refractory", 0, 63),
    "first current": _neuron("current", -_INT, _INT),
    "first voltage": _neuron("voltage", -_INT, _INT),
    "joined": _neuron("joined", -1, 15),
    "reset value": _neuron("reset", -_INT, _INT),
    "reset mode": _neuron("subtract", 0, 1),
    "floor": _neuron("floor", 0, 2**24),
    "scale": _neuron("scale", 0, 3),
    "entry: neuron": _entry("neuron"),
    "entry: weight": _entry("weight"),
    "entry: delay": _entry("delay"),
    "entry removed or doubled": _entries,
    "target core": _target("core"),
    "target axon": _target("axon"),
    "target removed or moved": _targets,
}


# What becomes of them.

REFUSED, SHOWN, UNSHOWN, PROVEN, WRONG = "refused", "shown", "unshown", "proven", "wrong"


@dataclass(frozen=True)
class Fate:
    """What became of a mutant."""

    mutation: Mutation
    outcome: str  # one of the five words above
    why: str  # what refuses it, what is found of it, or by what it is proven
    shown: str = ""  # the counterexample


def fate(
    rollout: nm.Rollout, program: ChipProgram, before: Proof, mutation: Mutation, n_sequences: int, seed: int
) -> Fate:
    """Prove a mutant, and hold the proof against simulation."""
    mutant = mutation.program
    try:
        require_legal(mutant, indices_only=True)
        proof = prove(rollout, mutant)
    except NeuromapError as error:
        return Fate(mutation, REFUSED, f"the checker of programs ({type(error).__name__})")
    # Rules of chips are no matter of what is computed; what breaks only them has to compute the network all the same.
    rules = {broken.message for broken in check_program(mutant)}
    faults = [fault for fault in proof.faults if fault not in rules]
    try:
        found = find_counterexample(rollout, mutant, proof if faults else None, n_sequences=n_sequences, seed=seed)
    except NeuromapError as error:  # frames of outputs that lie before tick 0 cannot be simulated
        return Fate(mutation, REFUSED if faults else WRONG, f"the simulator ({type(error).__name__})")
    why = _kind_of_fault(faults[0]) if faults else _lemma(before, proof, bool(rules))
    if found.counterexample is not None:
        return Fate(mutation, SHOWN if faults else WRONG, why, found.counterexample.message)
    return Fate(mutation, UNSHOWN if faults else PROVEN, why)


def _kind_of_fault(fault: str) -> str:
    """What a fault says, without the place where it is."""
    place, what = fault.split(": ", 1)
    return place if what[0].isdigit() and place == "frame period" else what.split(";")[0].lstrip("0123456789 ")


def _lemma(before: Proof, proof: Proof, breaks_rules: bool) -> str:
    """What shows that a mutant computes the same: by a lemma that more neurons need than did before."""
    good = [REASONS[code] for code in range(1, PROVEN_CODE + 1)]
    more = [name for name in good if proof.lemmas.get(name, 0) > before.lemmas.get(name, 0)]
    wrong = [name for name in proof.lemmas if name not in (*good, REASONS[0])]
    shown = more[-1] if more else "no output depends on it" if wrong else "equal sums, equal thresholds"
    return shown + (" (breaks a rule of the chip)" if breaks_rules else "")


def campaign(n_programs: int, per_program: int, seed: int, n_sequences: int) -> Iterator[tuple[str, Fate]]:
    """Make mutants and tell what became of each, with the kind of its program."""
    for k, (family, rollout, program) in enumerate(programs(n_programs, seed)):
        before = prove(rollout, program)
        assert before.proven, f"{family}: program {k} of seed {seed} is not proven: {before.faults[:1]}"
        rng = np.random.default_rng([seed, k, 1])
        for _ in range(per_program):
            yield family, fate(rollout, program, before, mutate(program, rng), n_sequences, seed)
