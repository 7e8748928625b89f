"""ChipSpec: what a chip is, as one immutable value.

Files under ``hardware_models/`` (or the user's own) are read by :mod:`neuromap.hardware.chip.chip_file`.
Figures that nobody has published are ``None``: absent is not zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Self, TypeAlias

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import ChipError
from neuromap.forms.card import Card
from neuromap.forms.numbers import seconds
from neuromap.hardware.chip.defects import Defects
from neuromap.hardware.chip.synapse_lists import SynapseLists

__all__ = ["CORE_MODELS", "ChipSpec", "CoreKind", "NeuronRules"]

CoreKind: TypeAlias = Literal["crossbar", "synapse-list"]

CORE_MODELS: tuple[CoreKind, ...] = ("crossbar", "synapse-list")
"""Kinds of cores, the default of chip files first."""


@dataclass(frozen=True)
class NeuronRules(Card):
    """How the chip's neuron reads its own equations, where sources disagree (Cassidy et al. 2013)."""

    # of weights and leak: with 9 bits -255..255, or -256..255
    number_format: Literal["sign_magnitude", "twos_complement"] = "sign_magnitude"
    # what a potential does at its rails, after every single event in ascending axon order
    overflow: Literal["saturate", "wrap"] = "saturate"
    negative_comparison: Literal["<", "<="] = "<"  # comparison with the negative threshold (step 5)
    # whether thresholds may be negative (RANC) or are unsigned (TrueNorth); then ``threshold_bits`` includes the sign
    signed_threshold: bool = False
    # whether synapses, leak and thresholds may be stochastic (TrueNorth); else programs must do without
    stochastic: bool = False


@dataclass(frozen=True)
class ChipSpec(Card):
    """A chip (or board of equal chips) of neurosynaptic cores.

    Attributes
    ----------
    name : str
        Name of the chip.
    cores : tuple of int
        Columns and rows of cores on one chip.
    chips : tuple of int
        Columns and rows of chips on the board.
    axons, neurons, axon_types : int
        Per core; synapse-list cores have no types of axons: 0.
    weight_bits, leak_bits, threshold_bits, potential_bits : int
        Widths; weights, leak and potential include the sign, thresholds are unsigned unless
        ``rules.signed_threshold``. Synapse-list cores have no leak: 0 bits.
    targets_per_neuron : int
        Axons that one neuron can reach.
    delay : tuple of int
        Least and greatest delay of a spike in ticks.
    tick_seconds : float
        Length of one tick.
    reach : tuple of int or None
        Farthest target in cores along x and y; ``None`` where unlimited.
    rules : NeuronRules
        Readings of the neuron model.
    router, energy, timing : mapping of str to float
        Optional figures, by the names of the chip file (``timing`` are those of its table ``[time]``); absent figures
        are absent keys.
    energy_included : tuple of str
        Keys of ``energy`` whose share the other figures hold already: they are never added to them.
    defects : Defects
        Cores, routers and links that do not work, in coordinates of the board.
    synapse_lists : SynapseLists or None
        Limits of synapse-list cores; ``None`` where the cores are crossbars.
    description, source : str
        What it is, and where its figures come from.

    Raises
    ------
    ChipError
        If ``defects`` are none, or one lies beyond the board.
    """

    name: str
    cores: tuple[int, int]
    chips: tuple[int, int]
    axons: int
    neurons: int
    axon_types: int
    weight_bits: int
    leak_bits: int
    threshold_bits: int
    potential_bits: int
    targets_per_neuron: int = 1
    delay: tuple[int, int] = (1, 15)
    tick_seconds: float = 1e-3
    reach: tuple[int, int] | None = None
    rules: NeuronRules = NeuronRules()
    router: Mapping[str, float] = field(default_factory=dict)
    energy: Mapping[str, float] = field(default_factory=dict)
    energy_included: tuple[str, ...] = ()
    timing: Mapping[str, float] = field(default_factory=dict)
    description: str = ""
    source: str = ""
    defects: Defects = field(default_factory=Defects)
    synapse_lists: SynapseLists | None = None

    def __post_init__(self) -> None:
        for name in ("router", "energy", "timing"):
            object.__setattr__(self, name, ReadOnlyMapping(getattr(self, name)))
        object.__setattr__(self, "energy_included", tuple(self.energy_included))
        if not isinstance(self.defects, Defects):
            raise ChipError(f"chip {self.name}: defects: found {self.defects!r:.60}; needs Defects, empty for none")
        if self.defects:
            self.defects.require_on_board(self.columns, self.rows)

    @property
    def core_model(self) -> CoreKind:
        """What kind of core it has."""
        return "crossbar" if self.synapse_lists is None else "synapse-list"

    @property
    def lists(self) -> SynapseLists:
        """Limits of its synapse-list cores.

        Raises
        ------
        ChipError
            If its cores are crossbars.
        """
        if self.synapse_lists is None:
            raise ChipError(f"chip {self.name}: its cores are crossbars; what is asked needs synapse-list cores")
        return self.synapse_lists

    @property
    def columns(self) -> int:
        """Cores along x over the whole board."""
        return self.cores[0] * self.chips[0]

    @property
    def rows(self) -> int:
        """Cores along y over the whole board."""
        return self.cores[1] * self.chips[1]

    @property
    def n_cores(self) -> int:
        """Cores of the whole board, dead ones included."""
        return self.columns * self.rows

    @property
    def n_usable_cores(self) -> int:
        """Cores that can hold neurons: neither the core nor its router is dead."""
        return self.n_cores - len({*self.defects.cores, *self.defects.routers})

    def with_defects(self, defects: Defects) -> Self:
        """Return this chip with other defects than before.

        Parameters
        ----------
        defects : Defects
            All of them; ``Defects()`` for a chip without.

        Returns
        -------
        ChipSpec

        Raises
        ------
        ChipError
            If a defect lies beyond the board.
        """
        return replace(self, defects=defects)

    def _facts(self) -> dict[str, object]:
        n_chips = self.chips[0] * self.chips[1]
        return {
            "name": self.name,
            "cores": f"{self.columns} x {self.rows} on {n_chips} chip{'s' * (n_chips != 1)}",
            "usable cores": self.n_usable_cores,
            "axons x neurons per core": f"{self.axons} x {self.neurons}",
            **({"axon types": self.axon_types} if self.synapse_lists is None else {"core model": self.core_model}),
            "weights": f"{self.weight_range[0]} to {self.weight_range[1]}",
            "delay": f"{self.delay[0]} to {self.delay[1]} ticks",
            "tick": seconds(self.tick_seconds),
        }

    def _signed_range(self, bits: int) -> tuple[int, int]:
        top = 2 ** (bits - 1) - 1
        return (-top if self.rules.number_format == "sign_magnitude" else -top - 1, top)

    @property
    def weight_range(self) -> tuple[int, int]:
        """Least and greatest weight of one axon type."""
        return self._signed_range(self.weight_bits)

    @property
    def leak_range(self) -> tuple[int, int]:
        """Least and greatest leak per tick."""
        return self._signed_range(self.leak_bits)

    @property
    def threshold_range(self) -> tuple[int, int]:
        """Least and greatest threshold."""
        if self.rules.signed_threshold:
            return (-(2 ** (self.threshold_bits - 1)), 2 ** (self.threshold_bits - 1) - 1)
        return (0, 2**self.threshold_bits - 1)

    @property
    def potential_range(self) -> tuple[int, int]:
        """Rails of the potential (two's complement)."""
        return (-(2 ** (self.potential_bits - 1)), 2 ** (self.potential_bits - 1) - 1)
