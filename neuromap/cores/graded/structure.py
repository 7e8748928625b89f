"""Properties of graded cores, and their figures in the table ``[core]`` of a chip file.

A graded core is a synapse-list core whose neurons send values, as Loihi 2 runs quantised networks; the neuron is
described in :mod:`neuromap.cores.graded.program`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.cores.synapse_list.structure import Bounds, SynapseLists, read_limits, written_limits
from neuromap.files.toml_table import TomlTable
from neuromap.hardware.chip.chip_document import CORE_BOUNDS
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.spiking_neuron import GradedNeuron

NEURONS = (GradedNeuron,)
ONE_TARGET = False
DELAYS_BEHIND_AXONS = True
UPDATES_ALL = False
OPTIONS = frozenset({"pins.cores", "pins.regions", "pins.neurons"})
NEURON_TABLE = False
_SHARED = ("axons", "neurons", "weight_bits")
# sums and values stay inside 32 bits
_INTEGERS: Bounds = ReadOnlyMapping(
    {
        "output_axons": (1, 2**31 - 1),
        "synapse_memory_bits": (1, 2**40),
        "synapse_bits": (1, 1024),
        "list_bits": (0, 2**20, 0),
        "dense_bits": (0, 1024, 0),
        "shares_lists": (0, 1, 0),
        "neuron_bits": (0, 2**20, 0),
        "program_bits": (0, 2**40, 0),
        "value_bits": (2, 25),
        "accumulator_bits": (2, 32),
        "joins_maximum": (0, 1, 0),
    }
)
_PAIRS = ("weight_shifts",)
KEYS = (*_SHARED, *_INTEGERS, *_PAIRS)


@dataclass(frozen=True)
class GradedLists(SynapseLists):
    """Limits of a graded core; those of synapse-list cores that its neurons lack keep their defaults."""

    kind = "graded"
    cuts_weights = True

    # neuron_bits, program_bits: bits of ``synapse_memory_bits`` that each neuron in use, and the program that computes
    # them, take
    neuron_bits: int = 0
    program_bits: int = 0
    value_bits: int = 24  # width of a value, two's complement
    accumulator_bits: int = 24  # width of a sum, two's complement; no sum may leave it
    joins_maximum: int = 0  # 1 where a neuron can take the greatest of its compartments' sums

    def other_memory(self, n_neurons: int) -> int:
        """Count the bits of the same memory that neurons in use and their program take."""
        return self.program_bits + n_neurons * self.neuron_bits

    @property
    def value_range(self) -> tuple[int, int]:
        """Least and greatest value that a message carries."""
        return -(2 ** (self.value_bits - 1)), 2 ** (self.value_bits - 1) - 1

    @property
    def sum_range(self) -> tuple[int, int]:
        """Least and greatest sum."""
        return -(2 ** (self.accumulator_bits - 1)), 2 ** (self.accumulator_bits - 1) - 1


def figures(core: TomlTable) -> dict[str, Any]:
    """Read the fields of a chip that describe its cores."""
    shared: dict[str, Any] = {key: core.integer(key, *CORE_BOUNDS[key]) for key in _SHARED}
    values = read_limits(core, _INTEGERS, _PAIRS)
    # neurons have neither thresholds nor leaks; what they keep of a tick is its sum
    return {
        **shared,
        "axon_types": 0,
        "leak_bits": 0,
        "threshold_bits": 1,
        "potential_bits": values["accumulator_bits"],
        "rules": {"number_format": "twos_complement"},  # of weights
        "core_figures": GradedLists(**values),
    }


def table(chip: ChipSpec) -> dict[str, Any]:
    """Write these fields; defaults are left out."""
    return {key: getattr(chip, key) for key in _SHARED} | written_limits(chip.lists, _INTEGERS, _PAIRS)
