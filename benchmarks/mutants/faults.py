"""Faults: one value of a program, changed; most often where the program uses it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.mutants.programs import STEP
from neuromap.hardware.program.chip_program import ChipProgram

IN_USE = 0.85
"""Share of faults that are put where the program uses what is changed."""


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
        value = _other(
            rng, int(table[place]), 1 if field == "delay" else -1 if field == "target_core" else 0, high[field]
        )
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
        bits = _changed(
            program.crossbar, (core, slice(None), n // 8), program.crossbar[core, :, n // 8] & ~np.uint8(1 << n % 8)
        )
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
        axons, parts = program.axon_counts[rows.core[row]], Fraction(program.period).denominator
        high = {
            "node": len(program.nodes) - 1, "index": program.nodes[int(rows.node[row])].size - 1,
            "core": program.n_cores - 1, "axon": max(0, int(axons) - 1), "neuron": program.shape[1] - 1,
            "arrival": 1 << 20, "first_frame": 1, "part": parts - 1,
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


def _without_row(table: str) -> Change:
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
    "threshold": _neuron("threshold", -(2**17), 2**18 - 1),
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
    "threshold": _neuron("threshold", -(2**10), 2**17 * STEP),
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
