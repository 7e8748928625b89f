"""The chip of a program as SANA-FE's architecture: a mesh of tiles of one core each, with the chip file's costs."""

from __future__ import annotations

from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.formats.sanafe.cells import SanafeCells
from neuromap.hardware.chip.chip_spec import ChipSpec

__all__ = ["DENDRITES", "FIGURES_USED", "buffer_units", "known_figure", "sanafe_architecture"]

DENDRITES = 1024
"""Neurons that one of SANA-FE's dendrite units holds; their number is not checked there."""

FIGURES_USED = ReadOnlyMapping(
    {
        "energy.synaptic_event_joules": "energy_process_spike of synapses",
        "time.synaptic_event_seconds": "latency_process_spike of synapses",
        "energy.neuron_update_joules": "energy_access_neuron of soma_0",
        "time.neuron_update_seconds": "latency_access_neuron of soma_0",
        "energy.spike_joules": "energy_spike_out of soma_0",
        "energy.hop_joules": "energy of a hop in all directions",
        "router.hop_seconds": "latency of a hop in all directions",
    }
)
"""Figures of a chip file that SANA-FE's architecture has a place for, by their names there, and the place."""

_WAYS = ("north", "east", "south", "west")


def buffer_units(cells: SanafeCells) -> int:
    """Count the units that a core's buffers take; the neurons have unit 0, the generators the last one."""
    return -(-_most(cells.buffer_core) // DENDRITES)


def sanafe_architecture(cells: SanafeCells, chip: ChipSpec) -> str:
    """Write SANA-FE's architecture.

    Parameters
    ----------
    cells : SanafeCells
        Whose cores make the mesh, from the first to the last column and row that they lie in.
    chip : ChipSpec
        Whose figures are the costs. Those that its file lacks, and those that others include, are 0 and marked.

    Returns
    -------
    str
        YAML.
    """
    width, height = (int(side) for side in cells.coordinates.max(axis=0, initial=0) + 1)
    units = buffer_units(cells)
    neurons = max(_most(cells.core) + _most(cells.buffer_core) + _most(cells.generator_core), 1)
    synapse, synapse_s = _figure(chip, "energy.synaptic_event_joules"), _figure(chip, "time.synaptic_event_seconds")
    update, update_s = _figure(chip, "energy.neuron_update_joules"), _figure(chip, "time.neuron_update_seconds")
    hop, hop_s = _figure(chip, "energy.hop_joules"), _figure(chip, "router.hop_seconds")
    hops = ", ".join(f"energy_{way}_hop: {hop}, latency_{way}_hop: {hop_s}" for way in _WAYS)
    core = (
        "      core:\n"
        "        - name: core\n"
        "          attributes: {buffer_position: soma, buffer_inside_unit: false, "
        f"max_neurons_supported: {neurons}}}\n"
        "          axon_in:\n"
        "          - {name: in, attributes: {energy_message_in: 0.0, latency_message_in: 0.0}}\n"
        "          synapse:\n"
        + _synapse("synapses", synapse, synapse_s)
        + _synapse("ways", "0.0", "0.0")
        + "          dendrite:\n"
        + "".join(
            f"          - {{name: dendrites_{k}, attributes: {{model: accumulator, energy_update: 0.0, "
            "latency_update: 0.0}}\n"
            for k in range(units + 2)
        )
        + "          soma:\n"
        + _soma("soma_0", "truenorth", update, update_s, _figure(chip, "energy.spike_joules"))
        + "".join(_soma(f"soma_{k}", "truenorth") for k in range(1, units + 1))
    )
    out = (
        "          axon_out:\n"
        "          - {name: out, attributes: {energy_message_out: 0.0, latency_message_out: 0.0}}\n"
    )
    tiles = []
    at = 0
    for n_inputs, run in groupby(_inputs_of_tiles(cells, width, height).tolist()):
        end = at + len(list(run))
        # an input unit reads one train of spikes, so every generator has its own
        inputs = _soma(f"input[0..{n_inputs - 1}]", "input") if n_inputs else ""
        tiles.append(f"    - name: tile[{at}..{end - 1}]\n      attributes: {{{hops}}}\n{core}{inputs}{out}")
        at = end
    return (
        f"{_head(chip)}architecture:\n"
        "  name: program\n"
        f"  attributes: {{topology: mesh, width: {width}, height: {height}, link_buffer_size: 1, sync_model: fixed, "
        "latency_sync: 0.0}\n"
        "  tile:\n" + "".join(tiles)
    )


def _head(chip: ChipSpec) -> str:
    """Say of every cost where it is from."""
    lines = [f"# Written by neuromap. Costs are those of its chip file {_plain(chip.name)}:"]
    for name, place in FIGURES_USED.items():
        value = known_figure(chip, name)
        if value is None:
            held = name.startswith("energy.") and name.partition(".")[2] in chip.energy_included
            said = "0: other figures of the file include it" if held else "0: the chip file has no such figure"
        else:
            said = f"{value!r}"
        lines.append(f"#   {name}: {said} ({place})")
    lines.append("# Buffers (ways, soma_1 on) and inputs are no part of the chip and cost nothing.")
    return "\n".join(lines) + "\n"


def known_figure(chip: ChipSpec, name: str) -> float | None:
    """Give a figure of the chip file that is to be added, or None."""
    table, _, key = name.partition(".")
    if table == "energy" and key in chip.energy_included:
        return None
    tables = {"energy": chip.energy, "time": chip.timing, "router": chip.router}
    return tables[table].get(key)


def _figure(chip: ChipSpec, name: str) -> str:
    value = known_figure(chip, name)
    return "0.0" if value is None else repr(float(value))


def _plain(text: str) -> str:
    return text if text.isprintable() else repr(text)


def _synapse(name: str, joules: str, seconds: str) -> str:
    return (
        f"          - {{name: {name}, attributes: {{model: current_based, energy_process_spike: {joules}, "
        f"latency_process_spike: {seconds}}}}}\n"
    )


def _soma(name: str, model: str, access: str = "0.0", access_s: str = "0.0", spike: str = "0.0") -> str:
    return (
        f"          - {{name: '{name}', attributes: {{model: {model}, energy_access_neuron: {access}, "
        f"latency_access_neuron: {access_s}, energy_update_neuron: 0.0, latency_update_neuron: 0.0, "
        f"energy_spike_out: {spike}, latency_spike_out: 0.0}}}}\n"
    )


def _inputs_of_tiles(cells: SanafeCells, width: int, height: int) -> NDArray[np.int64]:
    """Count the generators of every tile; tiles run through a column first."""
    x, y = cells.coordinates.T
    counts = np.zeros(width * height, np.int64)
    counts[x * height + y] = np.bincount(cells.generator_core, minlength=len(cells.coordinates))
    return counts


def _most(cores: NDArray[np.int64]) -> int:
    return int(np.bincount(cores).max(initial=0))
