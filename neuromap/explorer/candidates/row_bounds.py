"""Proven bounds on rows that are not mapped: cores and energy that no mapping can do without.

*Cores of any pattern.* The bound of the streaming rollout (:func:`neuromap.mapping.bounds.lower_bounds.core_bound`)
holds for every valid pattern, execution, number of ticks per step and choice of splitters; the proof is in
docs/explorer-proofs.md.
"""

from __future__ import annotations

import math

from neuromap.errors import DoesNotFitError
from neuromap.explorer.answer.rows import Candidate
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.bound import CoreBound
from neuromap.mapping.bounds.lower_bounds import core_bound
from neuromap.mapping.bounds.readers import readers_of
from neuromap.mapping.legalise.legalise import legalise
from neuromap.network.network import Network
from neuromap.rollout.patterns.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.activity.energy import Counts, energy_of

__all__ = ["core_bound_of_all", "core_bound_of_row", "energy_bound"]


def core_bound_of_all(network: Network, chip: ChipSpec, wide: str = "refuse") -> CoreBound:
    """Cores and neurons that no mapping of any pattern in any execution can do without.

    Parameters
    ----------
    network : Network
        With weights.
    chip : ChipSpec
        The chip.
    wide : str
        What becomes of nodes that are wider than a core. Where they may be summed in parts, all that is certain is
        that every neuron which leads to an output takes one of the chip.

    Returns
    -------
    CoreBound
        Of the streaming rollout; its total, and its neurons on chips with synapse lists, hold for all.
    """
    rollout = Rollout(network, RolloutPattern.streaming(network))
    network_in_ticks = legalise(rollout, chip)
    if wide == "refuse":
        return core_bound(network_in_ticks, chip, proven=True)
    neurons = sum(len(reader.neurons) for reader in readers_of(network_in_ticks))
    return CoreBound(max(1, -(-neurons // chip.neurons)), "neurons", neurons, 0, ())


def core_bound_of_row(network: Network, chip: ChipSpec, candidate: Candidate, least: int) -> int:
    """Cores that no mapping of a candidate can do without.

    Parameters
    ----------
    network : Network
        With weights.
    chip : ChipSpec
        The chip.
    candidate : Candidate
        Pattern, execution and options.
    least : int
        Bound of all candidates.

    Returns
    -------
    int
        ``least`` itself where splitters or partial sums may change the schedule, or the delays cannot be given.
    """
    if candidate.splitters == "anywhere" or candidate.wide != "refuse":
        return least
    rollout = Rollout(network, RolloutPattern(network, candidate.values), candidate.execution)
    try:
        legal = legalise(rollout, chip, ticks_per_step=candidate.ticks_per_step)
    except DoesNotFitError:
        return least
    return max(least, core_bound(legal, chip, proven=True).total)


def energy_bound(chip: ChipSpec, period_ticks: int, cores: int, neurons: int) -> float | None:
    """Energy per frame that no mapping can do without: what a silent chip takes in one frame period.

    Parameters
    ----------
    chip : ChipSpec
        Gives the figures.
    period_ticks : int
        Frame period, or what it is at least.
    cores, neurons : int
        Cores and neurons in use, or what they are at least. A crossbar core updates all its neurons, a core with
        synapse lists those in use.

    Returns
    -------
    float or None
        Joules; ``None`` where the chip has no figures.
    """
    chips = math.prod(chip.chips)
    updates = (cores * chip.neurons if chip.core_model == "crossbar" else neurons) * period_ticks
    return energy_of(chip, Counts(ticks=period_ticks, chips=chips, neuron_updates=updates)).joules
