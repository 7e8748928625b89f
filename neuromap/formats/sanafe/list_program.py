"""Programs of synapse lists as networks of SANA-FE's ``leaky_integrate_fire``, on the chip's tiles.

That soma keeps a potential in steps of 1/64, so a program's integers count these steps: divided by 64, they are its
numbers. It starts to compute in its step 1. If the host feeds a program, or a voltage that decays does not start at 0,
tick 0 is step 2, and neurons start so that step 1 leaves them in their state before tick 0; else tick 0 is step 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neuromap.arrays.array_types import Floats, Ints
from neuromap.cores.synapse_list.program import ListProgram
from neuromap.files.messages import show_name
from neuromap.formats.sanafe.network import (
    Cells,
    buffer_units,
    cost_text,
    known_figure,
    network_text,
    neuron_lines,
    refuse_if,
    soma_words,
    tile_text,
    wired,
)
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import HostSpikes
from neuromap.network.spiking_neuron import NO_FLOOR

# Steps of a potential per unit of SANA-FE.
STEPS = 64
# Figure of a chip file for each cost of SANA-FE's units.
_COSTS = {
    "energy_access_neuron": "energy.neuron_access_joules",
    "latency_access_neuron": "time.neuron_access_seconds",
    "energy_update_neuron": "energy.neuron_update_joules",
    "latency_update_neuron": "time.neuron_update_seconds",
    "energy_spike_out": "energy.fire_joules",
    "latency_spike_out": "time.fire_seconds",
    "energy_process_spike": "energy.synaptic_event_joules",
    "latency_process_spike": "time.synaptic_event_seconds",
    "energy_message_out": "energy.spike_joules",
    "latency_message_out": "time.spike_seconds",
    "energy_message_in": "energy.arrival_joules",
    "latency_message_in": "time.arrival_seconds",
    **{f"energy_{way}_hop": "energy.hop_x_joules" for way in ("east", "west")},
    **{f"energy_{way}_hop": "energy.hop_y_joules" for way in ("north", "south")},
    **{f"latency_{way}_hop": "router.hop_x_seconds" for way in ("east", "west")},
    **{f"latency_{way}_hop": "router.hop_y_seconds" for way in ("north", "south")},
}
# Figures of a chip file that SANA-FE's architecture has a place for.
FIGURES_OF_LISTS = tuple(dict.fromkeys(_COSTS.values()))


@dataclass(frozen=True, eq=False)
class ListCells(Cells):
    """K neurons, B buffers that repeat their input, G generators of the host's spikes, S synapses between them."""

    lead: int  # SANA-FE's step of tick 0
    # (K,): in SANA-FE's units; refractory in its steps
    threshold: Floats
    bias: Floats
    leak_decay: Floats
    potential: Floats
    reset: Floats
    subtract: Ints  # 1 where a spike subtracts the threshold
    floor: Floats  # inf where there is none
    refractory: Ints


def list_cells(program: ListProgram, spikes: HostSpikes) -> ListCells:
    """Convert a program and the host's spikes to cells and synapses."""
    chip, neurons = program.chip, program.neurons
    core, row = (index.astype(np.int64) for index in np.nonzero(program.neurons_in_use))
    whole = 1 << chip.lists.decay_bits
    lasting, way = neurons.current_decay[core, row] != whole, "map with current_decay = 2^decay_bits"
    refuse_if(
        program, program.joined is not None or lasting.any(), "a neuron has a current that outlasts its tick", way
    )
    of = {
        name: np.full(len(core), idle)
        if (table := getattr(neurons, name)) is None
        else table[core, row].astype(np.int64)
        for name, idle in _PARAMETERS.items()
    }
    stays = (of["reset"] != 0) | (of["subtract"] != 0)
    stays &= (of["refractory"] > 0) & (of["voltage_decay"] > 0)
    way = "map without a refractory time, or reset to 0"
    refuse_if(program, stays, "a voltage stays while its neuron rests", way)
    refuse_if(program, neurons.current[core, row], "a neuron has a current before the first tick", "start it at 0")
    is_fed = len(program.host) > 0 or bool(((of["voltage"] != 0) & (of["voltage_decay"] != 0)).any())
    is_above = is_fed & (of["voltage"] > of["threshold"])
    refuse_if(program, is_above, "a neuron is above its threshold before the first tick", "start it at 0")
    wiring = wired(program, spikes, core, row, STEPS)
    return ListCells(
        lead=2 if is_fed else 1,
        threshold=of["threshold"] / STEPS,
        bias=of["bias"] / STEPS,
        leak_decay=(whole - of["voltage_decay"]) / whole,
        potential=(of["voltage"] - (of["bias"] if is_fed else 0)) / STEPS,
        reset=of["reset"] / STEPS,
        subtract=of["subtract"],
        floor=np.where(of["floor"] == NO_FLOOR, np.inf, of["floor"] / STEPS),
        refractory=np.where(of["refractory"] > 0, of["refractory"] + 1, 0),  # it counts down in the spike's own step
        weight=wiring.pop("weight") / STEPS,
        **wiring,
    )


# Parameters, with the value of those that few programs have.
_PARAMETERS = {
    **dict.fromkeys(("threshold", "bias", "voltage_decay", "refractory", "voltage", "reset", "subtract"), 0),
    "floor": NO_FLOOR,
}


def list_network_text(cells: ListCells, program: ListProgram) -> str:
    """Write SANA-FE's network, with the core of every neuron."""
    places = [f"{tile}.{core}" for tile, core in zip(*tiles_of(program), strict=True)]
    names = ("threshold", "bias", "leak_decay", "potential", "refractory", "reset", "subtract", "floor")
    return network_text(cells, neuron_lines(cells, "", names, _soma), "threshold: 0.5, leak_decay: 0", places)


def _soma(
    threshold: float,
    bias: float,
    decay: float,
    potential: float,
    rest: float,
    reset: float,
    subtract: float,
    floor: float,
) -> str:
    after = "reset_mode: soft" if subtract else f"reset: {reset!r}, reset_mode: hard"
    if floor < np.inf:
        after += f", reverse_threshold: {-floor!r}, reverse_reset_mode: saturate"
    return (
        f"threshold: {threshold!r}, bias: {bias!r}, leak_decay: {decay!r}, potential: {potential!r}, "
        f"refractory_delay: {int(rest)}, {after}"
    )


def tiles_of(program: ListProgram) -> tuple[Ints, Ints]:
    """Tile, and number within the tile, of every core; SANA-FE numbers tiles column by column."""
    chip = program.chip
    (x, column), (y, line) = (np.divmod(program.coordinates[:, k].astype(np.int64), chip.tile[k]) for k in (0, 1))
    return x * (chip.rows // chip.tile[1]) + y, column * chip.tile[1] + line


def list_figure(chip: ChipSpec, name: str) -> float | None:
    """Return a figure of the chip file, or its substitute there: an update of every neuron, a hop along any axis."""
    table, _, key = name.partition(".")
    stated = {"energy": chip.energy, "time": chip.timing, "router": chip.router}[table]
    if "neuron_update" in key and key.replace("update", "access") not in stated:
        return None  # it is that of every neuron in use, which SANA-FE calls its access
    if key not in stated:
        key = key.replace("access", "update").replace("hop_x", "hop").replace("hop_y", "hop")
    return known_figure(chip, f"{table}.{key}")


def list_architecture(cells: ListCells, chip: ChipSpec) -> str:
    """Write SANA-FE's architecture: tiles of the chip's cores, with the chip file's costs."""
    across, along = chip.tile
    units, n_inputs = buffer_units(cells), int(np.bincount(cells.generator_core, minlength=1).max())
    fullest = int(np.bincount(np.concatenate([cells.core, cells.buffer_core, cells.generator_core])).max(initial=1))
    costs = {key: cost_text(list_figure(chip, figure)) for key, figure in _COSTS.items()}
    somas = [soma_words("soma_0", "leaky_integrate_fire", costs)]
    somas += [soma_words(f"soma_{k}", "leaky_integrate_fire", {}) for k in range(1, units + 1)]
    somas += [soma_words(f"'input[0..{n_inputs - 1}]'", "input", {})] * (n_inputs > 0)
    times = ", ".join(f"{tiles}: {seconds!r}" for tiles, seconds in chip.barrier_seconds)
    sync = f"sync_model: table, latency_sync: {{{times}}}" if times else "sync_model: fixed, latency_sync: 0.0"
    mesh = f"topology: mesh, width: {chip.columns // across}, height: {chip.rows // along}"
    tile, core = f"tile[0..{chip.n_cores // (across * along) - 1}]", f"core[0..{across * along - 1}]"
    return f"""\
# Written by neuromap. Costs are those of its chip file {show_name(chip.name)}; what that lacks is 0, and so are
# buffers (ways, soma_1 on) and inputs, which are no part of the chip.
architecture:
  name: program
  attributes: {{{mesh}, link_buffer_size: 16, {sync}}}
  tile:
{tile_text(tile, core, max(fullest, 1), somas, units, costs)}"""
