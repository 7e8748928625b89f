"""Properties of crossbar cores, and their figures in the table ``[core]`` of a chip file."""

from __future__ import annotations

from typing import Any

from neuromap.errors import ChipError, NotSupportedError
from neuromap.files.toml_table import TomlTable
from neuromap.hardware.chip.chip_document import CORE_BOUNDS
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.spiking_neuron import LeakNeuron

NEURONS = (LeakNeuron,)
ONE_TARGET = True
DELAYS_BEHIND_AXONS = False
UPDATES_ALL = True
OPTIONS = frozenset({"splitters", "packing", "partitioner", "wide", "wide_ticks", "pins"})
KEYS = tuple(CORE_BOUNDS)
NEURON_TABLE = True
# Most axons times neurons of one core, so that its crossbar fits memory unpacked.
MAX_SYNAPSES_PER_CORE = 2**26


def figures(core: TomlTable) -> dict[str, Any]:
    """Read the fields of a chip that describe its cores."""
    values: dict[str, Any] = {
        key: core.integer(key, *bounds)
        for key, bounds in CORE_BOUNDS.items()
        if key != "targets_per_neuron" or key in core
    }
    if values["axons"] * values["neurons"] > MAX_SYNAPSES_PER_CORE:
        raise ChipError(
            f"core: {values['axons']} axons x {values['neurons']} neurons; "
            f"at most {MAX_SYNAPSES_PER_CORE} synapses per core are allowed"
        )
    if values.get("targets_per_neuron", 1) != 1:
        raise NotSupportedError(
            f"core.targets_per_neuron: found {values['targets_per_neuron']}; "
            "neuromap maps to crossbar cores whose neurons have 1 target"
        )
    return values


def table(chip: ChipSpec) -> dict[str, Any]:
    """Write these fields."""
    return {key: getattr(chip, key) for key in KEYS}
