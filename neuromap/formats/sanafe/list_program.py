"""Programs of synapse lists as networks of SANA-FE's ``leaky_integrate_fire``, on tiles as the chip has them.

That soma keeps a potential in steps of 1/64, so a program's integers are these steps: divided by 64, they are its
numbers. It starts to compute in its step 1. Where the host feeds a program, tick 0 is step 2 and neurons start so that
step 1 leaves them at what they have before tick 0; else tick 0 is step 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Floats, Ints
from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.packed_rows import ragged_ranges
from neuromap.cores.synapse_list.program import CurrentTable, ListProgram
from neuromap.errors import NotSupportedError
from neuromap.files.messages import show_name
from neuromap.formats.sanafe.network import (
    MOST_SYNAPSES,
    input_lines,
    known_figure,
    list_words,
    range_words,
    ranks_of,
    runs_of,
)
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import HostSpikes
from neuromap.network.spiking_neuron import NO_FLOOR
from neuromap.render.value import Card

# Steps of a potential in a unit of SANA-FE.
STEPS = 64
# Buffers of one unit.
_BUFFERS = 1024
_FIGURES = (
    ("energy_access_neuron", "energy.neuron_access_joules"),
    ("latency_access_neuron", "time.neuron_access_seconds"),
    ("energy_update_neuron", "energy.neuron_update_joules"),
    ("latency_update_neuron", "time.neuron_update_seconds"),
    ("energy_spike_out", "energy.fire_joules"),
    ("latency_spike_out", "time.fire_seconds"),
)
# Figures of a chip file that SANA-FE's architecture has a place for.
FIGURES_OF_LISTS = (
    *(figure for _, figure in _FIGURES), "energy.synaptic_event_joules", "time.synaptic_event_seconds",
    "energy.spike_joules", "time.spike_seconds", "energy.arrival_joules", "time.arrival_seconds",
    "energy.hop_x_joules", "energy.hop_y_joules", "router.hop_x_seconds", "router.hop_y_seconds",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class ListCells(Card):
    """K neurons, B buffers that repeat what they hear, G generators of the host's spikes, S synapses between them."""

    n_ticks: int  # to run
    lead: int  # SANA-FE's step of tick 0
    core: Ints  # (K,): of every neuron, as a row of the program's coordinates
    row: Ints  # (K,): its number in the core
    # (K,): in SANA-FE's units; refractory in its steps
    threshold: Floats
    bias: Floats
    leak_decay: Floats
    potential: Floats
    reset: Floats
    subtract: Ints  # 1 where a spike takes the threshold off
    floor: Floats  # inf where there is none
    refractory: Ints
    buffer_core: Ints  # (B,)
    generator_core: Ints  # (G,)
    fed_tick: Ints  # (E,)
    fed_generator: Ints  # (E,)
    # (S,): numbers run through neurons, buffers, generators
    pre: Ints
    post: Ints
    weight: Floats

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def n_neurons(self) -> int:
        """Neurons of the program that SANA-FE is given."""
        return len(self.core)


def list_cells(program: ListProgram, spikes: HostSpikes) -> ListCells:
    """Turn a program and what the host delivers into cells and synapses."""
    chip, table, neurons = program.chip, program.synapses, program.neurons
    core, row = (index.astype(np.int64) for index in np.nonzero(program.neurons_in_use))
    whole = 1 << chip.lists.decay_bits
    if program.joined is not None or (neurons.current_decay[core, row] != whole).any():
        raise _lacks(program, "a neuron has a current that outlasts its tick", "map with current_decay = 2^decay_bits")
    plain: dict[str, int] = {"reset": 0, "floor": NO_FLOOR, "subtract": 0}
    more = {name: _option(neurons, name, idle)[core, row].astype(np.int64) for name, idle in plain.items()}
    stays = (more["reset"] != 0) | (more["subtract"] != 0)
    if (stays & (neurons.refractory[core, row] > 0) & (neurons.voltage_decay[core, row] > 0)).any():
        raise _lacks(program, "a voltage stays while its neuron rests", "map without a refractory time, or reset to 0")
    if neurons.current[core, row].any():
        raise _lacks(program, "a neuron has a current before the first tick", "start it at 0")
    of = {name: getattr(neurons, name)[core, row].astype(np.int64) for name in _PARAMETERS}
    is_fed = len(program.host) > 0 or bool(((of["voltage"] != 0) & (of["voltage_decay"] != 0)).any())
    if is_fed and (of["voltage"] > of["threshold"]).any():
        raise _lacks(program, "a neuron is above its threshold before the first tick", "start it at 0")
    number = np.full(program.shape, -1)
    number[core, row] = np.arange(len(core))

    # who feeds which list, and ticks on the way besides the one that every spike takes; the host's take none
    wires, least = program.wires, chip.delay[0]
    sender = np.concatenate([number[wires.core, wires.neuron], np.arange(len(program.host)) - len(program.host)])
    list_of = np.concatenate(
        [
            table.axons[wires.target_core] + wires.target_axon,
            table.axons[program.host.core] + program.host.axon,
        ]
    )
    extra = np.concatenate([np.full(len(wires.core), least - 1), np.zeros(len(program.host), np.int64)])
    if len(np.unique(list_of)) != len(list_of):
        raise _lacks(program, "an axon has two sources", "give each an axon of its own")
    each = np.diff(table.lists)[list_of]
    synapse = ragged_ranges(table.lists[list_of], each)
    way = np.repeat(np.arange(len(list_of)), each)
    late = extra[way] + table.delay[synapse]
    target = number[table.list_core[list_of[way]], table.neuron[synapse]]

    # a chain source -> buffer -> ... of every way, as long as its latest synapse asks for
    length = np.zeros(len(list_of), np.int64)
    np.maximum.at(length, way, late)
    first = len(core) + np.cumsum(length) - length
    buffers = len(core) + np.arange(length.sum())
    begins = np.isin(buffers, first[length > 0])
    behind = np.where(sender < 0, len(core) + len(buffers) + len(program.host) + sender, sender)
    before = buffers - 1
    before[begins] = behind[length > 0]
    pre = np.where(late > 0, first[way] + late - 1, behind[way])
    start = of["voltage"] - (of["bias"] if is_fed else 0)
    return ListCells(
        n_ticks=spikes.n_ticks,
        lead=2 if is_fed else 1,
        core=core,
        row=row,
        threshold=of["threshold"] / STEPS,
        bias=of["bias"] / STEPS,
        leak_decay=(whole - of["voltage_decay"]) / whole,
        potential=start / STEPS,
        reset=more["reset"] / STEPS,
        subtract=more["subtract"],
        floor=np.where(more["floor"] == NO_FLOOR, np.inf, more["floor"] / STEPS),
        refractory=np.where(of["refractory"] > 0, of["refractory"] + 1, 0),  # it counts down in the spike's own step
        buffer_core=np.repeat(table.list_core[list_of], length),
        generator_core=program.host.core.astype(np.int64),
        fed_tick=spikes.tick,
        fed_generator=spikes.row,
        pre=np.concatenate([before, pre]),
        post=np.concatenate([buffers, target]),
        weight=np.concatenate([np.ones(len(buffers)), table.weight[synapse] / STEPS]),
    )


def _option(neurons: CurrentTable, name: str, idle: int) -> NDArray[Any]:
    """Give a parameter that few programs have."""
    found = getattr(neurons, name)
    return np.full(neurons.threshold.shape, idle, np.int64) if found is None else np.asarray(found)


_PARAMETERS = ("threshold", "bias", "voltage_decay", "refractory", "voltage")


def _lacks(program: ListProgram, what: str, way: str) -> NotSupportedError:
    return NotSupportedError(f"program {show_name(program.name)}: {what}; SANA-FE has not that: {way}")


def list_network_text(cells: ListCells, program: ListProgram) -> str:
    """Write SANA-FE's network, with the core of every neuron."""
    n_inputs = len(cells.generator_core)
    for what, number in (("synapses", len(cells.pre)), ("ticks of its inputs", n_inputs * cells.n_ticks)):
        if number > MOST_SYNAPSES:
            raise NotSupportedError(
                f"SANA-FE's network: takes {number} {what}; at most {MOST_SYNAPSES} are written: export a smaller "
                "program, or fewer frames"
            )
    bounds = np.cumsum([0, cells.n_neurons, len(cells.buffer_core), n_inputs]).tolist()
    named = zip(("neurons", "buffers", "inputs"), bounds, bounds[1:], strict=False)
    groups = [group for group in named if group[2] > group[1]]
    lines = ["network:", "  name: program", "  groups:"]
    for name, _, _ in groups:
        lines += _GROUPS[name](cells)
    lines.append("  edges:")
    for source, first, stop in groups:
        for target, begin, end in groups:
            mine = (cells.pre >= first) & (cells.pre < stop) & (cells.post >= begin) & (cells.post < end)
            if mine.any():
                pairs = zip((cells.pre[mine] - first).tolist(), (cells.post[mine] - begin).tolist(), strict=True)
                lines += [
                    f"    - {source} -> {target}:",
                    "        type: sparse",
                    f"        source_target_pairs: [{list_words([f'[{u}, {v}]' for u, v in pairs])}]",
                    f"        weight: [{list_words([repr(w) for w in cells.weight[mine].tolist()])}]",
                ]
    if lines[-1] == "  edges:":
        lines[-1] += " []"
    return "\n".join([*lines, "mappings:", *_mappings(cells, program)]) + "\n"


def _neurons(cells: ListCells) -> Iterator[str]:
    names = ("threshold", "bias", "leak_decay", "potential", "refractory", "reset", "subtract", "floor")
    table = np.stack([getattr(cells, name) for name in names], axis=1)
    yield "    - name: neurons"
    yield "      attributes: {log_spikes: true, synapse_hw_name: synapses}"
    yield "      neurons:"
    for begin, end in runs_of(table):
        threshold, bias, decay, potential, rest, reset, subtract, floor = table[begin].tolist()
        after = "reset_mode: soft" if subtract else f"reset: {reset!r}, reset_mode: hard"
        if floor < np.inf:
            after += f", reverse_threshold: {-floor!r}, reverse_reset_mode: saturate"
        yield (
            f"        - {range_words(begin, end)}: {{soma: {{threshold: {threshold!r}, bias: {bias!r}, "
            f"leak_decay: {decay!r}, potential: {potential!r}, refractory_delay: {int(rest)}, {after}}}}}"
        )


def _buffers(cells: ListCells) -> Iterator[str]:
    yield "    - name: buffers"
    yield "      attributes: {synapse_hw_name: ways, soma: {threshold: 0.5, leak_decay: 0}}"
    yield f"      neurons: [{{{range_words(0, len(cells.buffer_core))}: []}}]"


def _inputs(cells: ListCells) -> Iterator[str]:
    return input_lines(len(cells.generator_core), cells.n_ticks, cells.fed_generator, cells.fed_tick)


_GROUPS = {"neurons": _neurons, "buffers": _buffers, "inputs": _inputs}


def tiles_of(program: ListProgram) -> tuple[Ints, Ints]:
    """Give tile and number within the tile of every core; SANA-FE numbers tiles through a column first."""
    chip = program.chip
    (x, column), (y, line) = (np.divmod(program.coordinates[:, k].astype(np.int64), chip.tile[k]) for k in (0, 1))
    return x * (chip.rows // chip.tile[1]) + y, column * chip.tile[1] + line


def _mappings(cells: ListCells, program: ListProgram) -> Iterator[str]:
    tile, inside = tiles_of(program)
    unit = 1 + ranks_of(cells.buffer_core) // _BUFFERS
    for name, core, units in (("neurons", cells.core, np.zeros_like(cells.core)), ("buffers", cells.buffer_core, unit)):
        table = np.stack([core, units], axis=1)
        for begin, end in runs_of(table):
            at, k = table[begin].tolist()
            place = f"core: {tile[at]}.{inside[at]}, soma: soma_{k}, dendrite: dendrites_{k}"
            yield f"  - {name}.{range_words(begin, end)}: {{{place}}}"
    ranks = ranks_of(cells.generator_core).tolist()
    for k, (core, rank) in enumerate(zip(cells.generator_core.tolist(), ranks, strict=True)):
        place = f"core: {tile[core]}.{inside[core]}, soma: 'input[{rank}]', dendrite: dendrites_{n_units(cells) + 1}"
        yield f"  - inputs.{k}: {{{place}}}"


def n_units(cells: ListCells) -> int:
    """Count the units that the buffers of the fullest core take."""
    return -(-int(np.bincount(cells.buffer_core, minlength=1).max()) // _BUFFERS)


def list_figure(chip: ChipSpec, name: str) -> float | None:
    """Give a figure of the chip file, or what stands for it there: an update of every neuron, a hop along any axis."""
    table, _, key = name.partition(".")
    stated = {"energy": chip.energy, "time": chip.timing, "router": chip.router}[table]
    if "neuron_update" in key and key.replace("update", "access") not in stated:
        return None  # it is that of every neuron in use, which SANA-FE calls its access
    if key not in stated:
        key = key.replace("access", "update").replace("hop_x", "hop").replace("hop_y", "hop")
    return known_figure(chip, f"{table}.{key}")


def list_architecture(cells: ListCells, chip: ChipSpec) -> str:
    """Write SANA-FE's architecture: tiles of the chip's cores, with the chip file's costs."""

    def cost(name: str) -> str:
        value = list_figure(chip, name)
        return "0.0" if value is None else repr(float(value))

    across, along = chip.tile
    units, inputs = n_units(cells), int(np.bincount(cells.generator_core, minlength=1).max())
    fullest = int(np.bincount(np.concatenate([cells.core, cells.buffer_core, cells.generator_core])).max(initial=1))
    plain = "energy_access_neuron: 0.0, latency_access_neuron: 0.0, energy_update_neuron: 0.0, "
    plain += "latency_update_neuron: 0.0, energy_spike_out: 0.0, latency_spike_out: 0.0"
    costs = ", ".join(f"{key}: {cost(name)}" for key, name in _FIGURES)
    somas = [f"{{name: soma_0, attributes: {{model: leaky_integrate_fire, {costs}}}}}"]
    somas += [f"{{name: soma_{k}, attributes: {{model: leaky_integrate_fire, {plain}}}}}" for k in range(1, units + 1)]
    somas += [f"{{name: 'input[0..{inputs - 1}]', attributes: {{model: input, {plain}}}}}"] * (inputs > 0)
    synapse = f"energy_process_spike: {cost('energy.synaptic_event_joules')}, "
    synapse += f"latency_process_spike: {cost('time.synaptic_event_seconds')}"
    ways = (("north", "y"), ("east", "x"), ("south", "y"), ("west", "x"))
    hops = ", ".join(
        f"{kind}_{way}_hop: {cost(f'{table}.hop_{axis}_{unit}')}"
        for way, axis in ways
        for kind, table, unit in (("energy", "energy", "joules"), ("latency", "router", "seconds"))
    )
    times = ", ".join(f"{tiles}: {seconds!r}" for tiles, seconds in chip.barrier_seconds)
    sync = f"sync_model: table, latency_sync: {{{times}}}" if times else "sync_model: fixed, latency_sync: 0.0"
    dendrites = [
        f"{{name: dendrites_{k}, attributes: {{model: accumulator, energy_update: 0.0, latency_update: 0.0}}}}"
        for k in range(units + 2)
    ]
    arrival = f"energy_message_in: {cost('energy.arrival_joules')}, latency_message_in: {cost('time.arrival_seconds')}"
    leaving = f"energy_message_out: {cost('energy.spike_joules')}, latency_message_out: {cost('time.spike_seconds')}"
    mesh = f"topology: mesh, width: {chip.columns // across}, height: {chip.rows // along}"
    zero = "energy_process_spike: 0.0, latency_process_spike: 0.0"
    return f"""\
# Written by neuromap. Costs are those of its chip file {show_name(chip.name)}; what that lacks is 0, and so are
# buffers (ways, soma_1 on) and inputs, which are no part of the chip.
architecture:
  name: program
  attributes: {{{mesh}, link_buffer_size: 16, {sync}}}
  tile:
    - name: tile[0..{chip.n_cores // (across * along) - 1}]
      attributes: {{{hops}}}
      core:
        - name: core[0..{across * along - 1}]
          attributes: {{buffer_position: soma, buffer_inside_unit: false, max_neurons_supported: {max(fullest, 1)}}}
          axon_in:
          - {{name: in, attributes: {{{arrival}}}}}
          synapse:
          - {{name: synapses, attributes: {{model: current_based, {synapse}}}}}
          - {{name: ways, attributes: {{model: current_based, {zero}}}}}
          dendrite:
          - {f"{chr(10)}          - ".join(dendrites)}
          soma:
          - {f"{chr(10)}          - ".join(somas)}
          axon_out:
          - {{name: out, attributes: {{{leaving}}}}}
"""
