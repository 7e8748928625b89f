"""Properties of synapse-list cores, and their figures in the table ``[core]`` of a chip file.

Their neuron is the integer current-and-voltage neuron of Loihi (Davies et al., IEEE Micro 2018), described in
:mod:`neuromap.cores.synapse_list.program`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.cores.core_kind import CoreFigures
from neuromap.errors import ChipError
from neuromap.files.toml_table import TomlTable
from neuromap.hardware.chip.chip_document import CORE_BOUNDS
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.spiking_neuron import NO_WRAP, CurrentNeuron

NEURONS = (CurrentNeuron,)
ONE_TARGET = False
DELAYS_BEHIND_AXONS = True
UPDATES_ALL = False
OPTIONS = frozenset({"objective", "pins.cores", "pins.regions", "pins.neurons"})
NEURON_TABLE = False
_SHARED = ("axons", "neurons", "weight_bits", "threshold_bits", "potential_bits")
# Least and greatest value of a key, and its default if it has one.
Bounds: TypeAlias = Mapping[str, tuple[int, int] | tuple[int, int, int]]
# the bounds keep currents, voltages and their products with decays inside 64 bits
_INTEGERS: Bounds = ReadOnlyMapping(
    {
        "output_axons": (1, 2**31 - 1),
        "synapse_memory_bits": (1, 2**40),
        "synapse_bits": (1, 1024),
        "list_bits": (0, 2**20, 0),
        "mixed_sign_step": (1, 256, 1),
        "shares_lists": (0, 1, 0),
        "threshold_shift": (0, 16),
        "bias_bits": (2, 32),
        "current_bits": (2, 32),
        "decay_bits": (1, 16),
        "refractory_bits": (1, 8),
        "accumulator_bits": (2, 32, NO_WRAP),
    }
)
_PAIRS = ("weight_shifts", "bias_shifts")
_FLAGS = ("sum_wraps", "soft_reset", "reset_values")
FLOORS = ("none", "shared", "any")
KEYS = (*_SHARED, *_INTEGERS, *_PAIRS, *_FLAGS, "floors")


@dataclass(frozen=True)
class SynapseLists(CoreFigures):
    """Limits of a synapse-list core beyond those that every core has; figures of the table ``[core]``."""

    kind = "synapse-list"
    # whether a list has a run for each power of two that its weights need, so that wide ones are several synapses; else
    # it has one run, or one for each sign if no power suits both
    cuts_weights: ClassVar[bool] = False

    output_axons: int  # pairs of a neuron and a core that it feeds, per core
    synapse_memory_bits: int  # memory of a core's lists
    # synapse_bits, list_bits: bits of one synapse, and overhead of every run of a list: one, or one for each sign where
    # one run cannot hold its weights
    synapse_bits: int
    list_bits: int = 0
    # bits per neuron of a dense list, which has a weight for each neuron from its first to its last, without indices; 0
    # if lists have no such form
    dense_bits: int = 0
    # least and greatest k of a list, whose weights are mantissas (of ``weight_bits``) times 2**k
    weight_shifts: tuple[int, int] = (0, 13)
    # unit of the mantissas of a list with weights of both signs: 2 where such lists lack the lowest bit
    mixed_sign_step: int = 1
    # 1 where axons of a core whose lists differ only by a common offset of their neurons store one list, as those of a
    # convolution do
    shares_lists: int = 0
    threshold_shift: int = 6  # thresholds are mantissas (unsigned, of ``threshold_bits``) times 2 to this power
    bias_bits: int = 13  # width of a bias' mantissa, with its sign
    bias_shifts: tuple[int, int] = (0, 7)  # least and greatest k of a bias, which is a mantissa times 2**k
    # width of the current, two's complement; it wraps. The voltage has ``potential_bits`` and saturates
    current_bits: int = 24
    decay_bits: int = 12  # A decay d takes d / 2**decay_bits of a value in every tick
    refractory_bits: int = 6  # width of the refractory counter
    accumulator_bits: int = NO_WRAP  # width of the sum of a tick's input, two's complement; it wraps
    sum_wraps: bool = False  # whether currents + bias wrap into current_bits before the voltage takes them
    # whether a spike can subtract the threshold, or set the voltage to a value other than 0
    soft_reset: bool = False
    reset_values: bool = False
    # floors of voltages: none but the rail; one of 2**k - 1 for all neurons of a core; or any
    floors: str = "none"

    @property
    def lists(self) -> SynapseLists:
        """These limits, for ``ChipSpec.lists``; figures of other kinds have none."""
        return self

    @property
    def current_range(self) -> tuple[int, int]:
        """Rails of the current (two's complement)."""
        return (-(2 ** (self.current_bits - 1)), 2 ** (self.current_bits - 1) - 1)

    @property
    def sum_bits(self) -> int:
        """Width into which the sum added to a current in a tick wraps."""
        return min(self.accumulator_bits, self.current_bits)

    @property
    def greatest_sum(self) -> int:
        """Greatest input of a tick, and of a current, that does not wrap."""
        return int(2 ** (self.sum_bits - 1)) - 1

    def neuron_widths(self, potential_bits: int) -> dict[str, int]:
        """Return the neuron settings that must equal the chip's."""
        return {
            "decay_bits": self.decay_bits,
            "current_bits": self.current_bits,
            "voltage_bits": potential_bits,
            "accumulator_bits": self.accumulator_bits,
            "sum_wraps": int(self.sum_wraps),
        }

    @property
    def greatest_refractory(self) -> int:
        """Most ticks that a neuron can rest after a spike."""
        return int(2**self.refractory_bits - 1)

    def other_memory(self, n_neurons: int) -> int:
        """Count the bits of the same memory that neurons in use, and what computes them, take."""
        return 0

    def list_memory(self, n_lists: int, n_synapses: int) -> int:
        """Count the bits of memory that lists take."""
        return n_lists * self.list_bits + n_synapses * self.synapse_bits


def read_limits(core: TomlTable, integers: Bounds, pairs: Sequence[str]) -> dict[str, Any]:
    """Read limits: integers, and pairs of the least and the greatest shift."""
    values: dict[str, Any] = {
        key: bounds[2] if len(bounds) == 3 and key not in core else core.integer(key, *bounds[:2])
        for key, bounds in integers.items()
    }
    for key in pairs:
        values[key] = core.pair(key, 0, 16, "[least, greatest]")
        if values[key][0] > values[key][1]:
            raise ChipError(f"core.{key}: found {list(values[key])}; needs the least first")
    return values


def written_limits(lists: SynapseLists, integers: Bounds, pairs: Sequence[str]) -> dict[str, Any]:
    """Write limits; defaults are left out."""
    said = {key: getattr(lists, key) for key, bounds in integers.items() if bounds[2:] != (getattr(lists, key),)}
    return said | {key: list(getattr(lists, key)) for key in pairs}


def figures(core: TomlTable) -> dict[str, Any]:
    """Read the fields of a chip that describe its cores."""
    shared: dict[str, Any] = {key: core.integer(key, *CORE_BOUNDS[key]) for key in _SHARED}
    values = read_limits(core, _INTEGERS, _PAIRS)
    values |= {key: core.boolean(key) for key in _FLAGS if key in core}
    values |= {"floors": core.text("floors", FLOORS)} if "floors" in core else {}
    step = values["mixed_sign_step"]
    if step & (step - 1):
        raise ChipError(f"core.mixed_sign_step: found {step}; allowed are powers of 2")
    return {**shared, "axon_types": 0, "leak_bits": 0, "core_figures": SynapseLists(**values)}


def table(chip: ChipSpec) -> dict[str, Any]:
    """Write these fields; defaults are left out."""
    lists = chip.lists
    flags: dict[str, Any] = {key: True for key in _FLAGS if getattr(lists, key)}
    flags |= {"floors": lists.floors} if lists.floors != FLOORS[0] else {}
    return {key: getattr(chip, key) for key in _SHARED} | written_limits(lists, _INTEGERS, _PAIRS) | flags
