"""Energy of a run: counts times the chip file's figures, term by term.

``docs/energy.md`` has the formulas. A figure that the chip file lacks gives a term without joules: it is named,
never taken as zero. A figure that others already include is shown but never added. The average energy per
synaptic event, which includes everything, is not a marginal cost and enters no sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields

from neuromap.arrays.times import Time
from neuromap.errors import InputError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.render.numbers import joules
from neuromap.render.value import Card

# Rates of all ports of a chip together; their ratio is the number of bits per spike.
_FOR_BITS = ("boundary_bits_per_second", "boundary_spikes_per_second")


@dataclass(frozen=True)
class Counts(Card):
    """Counts of everything that costs energy, over a run.

    Attributes
    ----------
    ticks : int
        Ticks of the run.
    chips : int
        Chips of the whole board, including idle ones.
    neuron_updates : int
        Neurons of the cores in use times ticks.
    synaptic_events : int
        Synapses on axons that were due.
    spikes : int
        Spikes that leave a core.
    hops : int
        Mesh links that these spikes cross, summed.
    hops_x : int
        Hops along x.
    active, fired, arrivals : int
        Active neurons, neurons that fired, and spikes that entered a core, if ticks are timed.
    seconds : float
        Duration of the ticks, if ticks are timed.
    crossings : int
        Hops that cross a chip boundary.
    host_spikes : int
        Spikes between host and chip.

    Raises
    ------
    InputError
        If a count is below 0, or there is no chip.
    """

    ticks: int
    chips: int
    neuron_updates: int = 0
    synaptic_events: int = 0
    spikes: int = 0
    hops: int = 0
    crossings: int = 0
    host_spikes: int = 0
    hops_x: int = 0
    active: int = 0
    fired: int = 0
    arrivals: int = 0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            least = 1 if field.name == "chips" else 0
            value = getattr(self, field.name)
            if not value >= least:
                raise InputError(f"counts: {field.name} = {value}; must be {least} or more")


@dataclass(frozen=True)
class EnergyTerm:
    """One term of the energy.

    Attributes
    ----------
    key : str
        The figure's key in the ``[energy]`` table of the chip file.
    title : str
        What is counted, in words.
    count : int
        Number in the run.
    joules_each : float or None
        Energy of one; ``None`` if the chip file lacks the figure.
    joules : float or None
        Count times energy of one; 0 only if nothing was counted or the figure is 0.
    included_in : str or None
        "fit" if the other figures already include this one, so that it is not added; else ``None``.
    """

    key: str
    title: str
    count: int
    joules_each: float | None
    joules: float | None
    included_in: str | None = None

    @property
    def is_added(self) -> bool:
        """Whether the term is part of the sum: known, and not already included in others."""
        return self.joules is not None and self.included_in is None


@dataclass(frozen=True)
class Energy(Card):
    """Energy of a run, term by term.

    Attributes
    ----------
    counts : Counts
        Counts of the run.
    seconds : float
        Duration of the run on the chip.
    terms : tuple of EnergyTerm
        All terms, including absent ones, in a fixed order.
    average_joules_each : float or None
        Published average energy per synaptic event, everything included: a reference, part of no sum.
    """

    counts: Counts
    seconds: float
    terms: tuple[EnergyTerm, ...]
    average_joules_each: float | None = None

    def _facts(self) -> dict[str, object]:
        known = {term.title: joules(term.joules) for term in self.terms if term.joules is not None}
        return {"ticks": self.counts.ticks, "energy": joules(self.joules), **known}

    @property
    def joules(self) -> float | None:
        """Sum of the known terms that no others include; ``None`` if the chip file has no such figure."""
        known = [term.joules for term in self.terms if term.is_added and term.joules is not None]
        return math.fsum(known) if known else None

    @property
    def absent(self) -> tuple[str, ...]:
        """Keys of figures that the chip file neither has nor marks as included in others: missing from the sum."""
        return tuple(term.key for term in self.terms if term.joules_each is None and term.included_in is None)

    @property
    def average_joules(self) -> float | None:
        """Energy by the average per synaptic event; comparable only at that figure's operating point."""
        return None if self.average_joules_each is None else self.average_joules_each * self.counts.synaptic_events

    @property
    def joules_per_tick(self) -> float | None:
        """Mean energy of one tick in joules; ``None`` if no figure is known or no tick ran."""
        return None if self.joules is None or self.counts.ticks == 0 else self.joules / self.counts.ticks

    def joules_per_frame(self, frame_period_ticks: Time) -> float | None:
        """Mean energy of one frame period of the run in joules, its start and end included.

        Parameters
        ----------
        frame_period_ticks : int or Fraction
            Ticks between two frames of a node: ``Program.period``.

        Returns
        -------
        float or None
            Energy per tick times the period; ``None`` if no figure is known or no tick ran.
        """
        return None if self.joules_per_tick is None else self.joules_per_tick * float(frame_period_ticks)

    def watts(self, seconds: float | None = None) -> float | None:
        """Mean power of the board.

        Parameters
        ----------
        seconds : float, optional
            Duration of the run, above 0; by default :attr:`seconds`. Static power does not depend on it; all other
            energy is spread over this time.

        Returns
        -------
        float or None
            ``None`` if no figure is known or no tick ran.

        Raises
        ------
        InputError
            If the time is not above 0.
        """
        if seconds is not None and not 0 < seconds < math.inf:
            raise InputError(f"power: found {seconds!r} seconds; must be above 0 and finite")
        if self.joules is None or self.seconds == 0:
            return None
        added = [(term.key, term.joules) for term in self.terms if term.is_added and term.joules is not None]
        static = math.fsum(joules for key, joules in added if key == "static_watts")
        other = math.fsum(joules for key, joules in added if key != "static_watts")
        return static / self.seconds + other / (self.seconds if seconds is None else seconds)


def updates_all(chip: ChipSpec) -> bool:
    """Whether energy is that of all neurons of the cores in use; else only of the neurons in use, as access is."""
    return chip.kind.structure.UPDATES_ALL and "neuron_access_joules" not in chip.energy


def bits_off_chip(chip: ChipSpec) -> float | None:
    """Bits of one spike on the wire between chips."""
    # bits per second over spikes per second of the chip's ports (34 for TrueNorth, whose spikes have 32 bits between
    # routers); ``None`` if the chip file lacks either
    bits, spikes = (chip.router.get(key) for key in _FOR_BITS)
    return None if bits is None or not spikes else bits / spikes


def figures_lacking(chip: ChipSpec, absent: Iterable[str]) -> tuple[str, ...]:
    """Name the figures whose lack makes terms absent."""
    for_bits = [key for key in _FOR_BITS if not chip.router.get(key)]
    return tuple(
        f"{' and '.join(for_bits)} (needed beside off_chip_bit_joules)"
        if key == "off_chip_bit_joules" and key in chip.energy
        else key
        for key in absent
    )


def energy_of(chip: ChipSpec, counts: Counts) -> Energy:
    """Compute the energy of a run.

    Parameters
    ----------
    chip : ChipSpec
        Chip whose figures are used; static power and energy per tick are per chip.
    counts : Counts
        Counts of the run, such as :attr:`neuromap.simulation.cost.activity.Activity.counts`.

    Returns
    -------
    Energy
    """
    seconds = counts.seconds if chip.is_timed else counts.ticks * chip.tick_seconds
    each = dict(chip.energy)
    if "static_watts" in each:
        each["static_watts"] *= seconds / counts.ticks if counts.ticks else 0.0
    bits = bits_off_chip(chip)
    if (bit := each.pop("off_chip_bit_joules", None)) is not None and bits is not None:
        each["off_chip_bit_joules"] = bit * bits
    terms = tuple(
        EnergyTerm(
            key,
            title,
            count,
            each.get(key),
            each[key] * count if key in each else None,
            "fit" if key in chip.energy_included else None,
        )
        for key, title, count in _counted(chip, counts, bits)
        if key in each or key not in OF_SOME_CHIPS
    )
    return Energy(counts, seconds, terms, chip.energy.get("average_synaptic_event_joules"))


# Terms left out if a chip file lacks their figure, as others then include it.
OF_SOME_CHIPS = ("neuron_access_joules", "fire_joules", "arrival_joules")


def _counted(chip: ChipSpec, counts: Counts, bits: float | None) -> list[tuple[str, str, int]]:
    """Key, title and count of every term."""
    off_chip = "spikes between chips, or chip and host" + ("" if bits is None else f", {bits:g} bits each")
    updates = ("neuron updates", counts.neuron_updates)
    if "neuron_access_joules" in chip.energy:  # then all neurons are accessed, and the active ones updated
        updates = ("updates of active neurons", counts.active)
    hops = [("hop_joules", "hops", counts.hops)]
    if "hop_x_joules" in chip.energy:
        along_y = counts.hops - counts.hops_x
        hops = [("hop_x_joules", "hops along x", counts.hops_x), ("hop_y_joules", "hops along y", along_y)]
    return [
        ("static_watts", "chips x ticks at rest", counts.chips * counts.ticks),
        ("tick_joules", "chips x ticks", counts.chips * counts.ticks),
        ("synaptic_event_joules", "synaptic events", counts.synaptic_events),
        ("neuron_access_joules", "neurons accessed", counts.neuron_updates),
        ("neuron_update_joules", *updates),
        ("fire_joules", "neurons that fire", counts.fired),
        ("spike_joules", "spikes that leave a core", counts.spikes),
        ("arrival_joules", "spikes that enter a core", counts.arrivals),
        *hops,
        ("off_chip_bit_joules", off_chip, counts.crossings + counts.host_spikes),
    ]
