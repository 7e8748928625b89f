"""SynapseLists: what a core holds that keeps a list of synapses for every axon, in place of a crossbar.

Its neuron is the integer current-and-voltage neuron of Loihi (Davies et al., IEEE Micro 2018), described in
:mod:`neuromap.hardware.program.list_program`.
"""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.forms.card import Card

__all__ = ["SynapseLists"]


@dataclass(frozen=True)
class SynapseLists(Card):
    """Limits of a synapse-list core beyond those that every core has; figures of the table ``[core]``."""

    output_axons: int  # pairs of a neuron and a core that it feeds, per core
    synapse_memory_bits: int  # memory of a core's lists
    # synapse_bits, list_bits: what one synapse takes of it, and what every list that is in use takes besides
    synapse_bits: int
    list_bits: int = 0
    # least and greatest k of a list, whose weights are mantissas (of ``weight_bits``) times 2**k
    weight_shifts: tuple[int, int] = (0, 13)
    # what mantissas of a list with weights of both signs are multiples of: 2 where such lists lack the lowest bit
    mixed_sign_step: int = 1
    threshold_shift: int = 6  # thresholds are mantissas (unsigned, of ``threshold_bits``) times 2 to this power
    bias_bits: int = 13  # width of a bias' mantissa, with its sign
    bias_shifts: tuple[int, int] = (0, 7)  # least and greatest k of a bias, which is a mantissa times 2**k
    # width of the current, two's complement; it wraps. The voltage has ``potential_bits`` and saturates
    current_bits: int = 24
    decay_bits: int = 12  # A decay d takes d / 2**decay_bits of a value in every tick
    refractory_bits: int = 6  # width of the refractory counter

    @property
    def current_range(self) -> tuple[int, int]:
        """Rails of the current (two's complement)."""
        return (-(2 ** (self.current_bits - 1)), 2 ** (self.current_bits - 1) - 1)

    @property
    def greatest_refractory(self) -> int:
        """Ticks that a neuron may rest after a spike."""
        return int(2**self.refractory_bits - 1)

    def list_memory(self, n_lists: int, n_synapses: int) -> int:
        """Count the bits of memory that lists take."""
        return n_lists * self.list_bits + n_synapses * self.synapse_bits
