"""What a dense core is, and its figures in the table ``[core]`` of a chip file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neuromap.cores.core_kind import CoreFigures
from neuromap.errors import ChipError
from neuromap.files.toml_table import TomlTable
from neuromap.hardware.chip.chip_document import CORE_BOUNDS
from neuromap.hardware.chip.chip_spec import ChipSpec

NEURONS = ()
ONE_TARGET = False
DELAYS_BEHIND_AXONS = False
UPDATES_ALL = True
OPTIONS: frozenset[str] = frozenset()
KEYS = ("axons", "neurons", "weight_bits", "threshold_bits", "potential_bits")
NEURON_TABLE = False


@dataclass(frozen=True)
class DenseFigures(CoreFigures):
    """A dense core has no figures that other cores have not."""

    kind = "dense"


def figures(core: TomlTable) -> dict[str, Any]:
    """Read the fields of a chip that say what its cores are."""
    found = {key: core.integer(key, *CORE_BOUNDS[key]) for key in KEYS}
    if found["weight_bits"] != 8:
        raise ChipError(f"core.weight_bits: found {found['weight_bits']}; weights of dense cores have 8 bits")
    return {**found, "axon_types": 0, "leak_bits": 0, "core_figures": DenseFigures()}


def table(chip: ChipSpec) -> dict[str, Any]:
    """Write them."""
    return {key: getattr(chip, key) for key in KEYS}
