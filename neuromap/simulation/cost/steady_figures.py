"""Figures per frame in steady operation: whole numbers counted over whole frame periods, summed first, divided once."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property

from neuromap.files.messages import counted
from neuromap.forms.card import Card
from neuromap.forms.numbers import joules, plain
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.simulation.cost.activity import Activity
from neuromap.simulation.cost.energy import Counts, Energy, energy_of
from neuromap.simulation.cost.spread import Spread, spread_of
from neuromap.simulation.noc.wires import WireCounts

__all__ = ["SteadyActivity", "SteadyFigures"]


@dataclass(frozen=True, eq=False)
class SteadyFigures(Card):
    """What a program takes per frame in steady operation, over several stimuli."""

    chip: ChipSpec  # the program's chip
    n_frames: int  # frames of every stimulus; each was counted once, over as many frame periods
    each: tuple[Counts, ...]  # what costs energy, stimulus by stimulus
    wires: WireCounts  # what left and entered the cores, over all stimuli
    firing: int  # neurons that fired, counted once per tick, over all stimuli

    def _facts(self) -> dict[str, object]:
        spread = self.joules_spread
        shown = "" if spread is None or spread.half_width is None else f" ± {joules(spread.half_width)}"
        return {
            "stimuli": f"{len(self.each)} of {counted(self.n_frames, 'frame')}",
            "energy per frame": f"{joules(self.joules_per_frame)}{shown}",
            "spikes per frame": plain(self.spikes_per_frame),
            "hops per frame": plain(self.hops_per_frame),
            "synaptic events per frame": plain(self.synaptic_events_per_frame),
        }

    @property
    def total_frames(self) -> int:
        """Frames of all stimuli."""
        return self.n_frames * len(self.each)

    @cached_property
    def counts(self) -> Counts:
        """What was counted over all stimuli."""
        parts = [asdict(counts) for counts in self.each]
        summed = {name: sum(part[name] for part in parts) for name in parts[0]}
        return Counts(**{**summed, "chips": parts[0]["chips"]})

    @cached_property
    def energy(self) -> Energy:
        """Energy of all stimuli together, term by term."""
        return energy_of(self.chip, self.counts)

    @property
    def joules_per_frame(self) -> float | None:
        """Energy of a frame in joules, mean over all stimuli; ``None`` where the chip has no figures."""
        total = self.energy.joules
        return None if total is None else total / self.total_frames

    @cached_property
    def joules_spread(self) -> Spread | None:
        """How far the energy of a frame spreads over the stimuli; ``None`` where the chip has no figures."""
        mean = self.joules_per_frame
        known = [energy_of(self.chip, counts).joules for counts in self.each]
        return (
            None if mean is None else spread_of([total / self.n_frames for total in known if total is not None], mean)
        )

    @property
    def spikes_per_frame(self) -> float:
        """Spikes that leave a core, those that are read out included."""
        return self.per_frame(self.counts.spikes)

    @property
    def hops_per_frame(self) -> float:
        """Links of the mesh that they cross."""
        return self.per_frame(self.counts.hops)

    @property
    def synaptic_events_per_frame(self) -> float:
        """Synapses on axons that are due."""
        return self.per_frame(self.counts.synaptic_events)

    @property
    def crossings_per_frame(self) -> float:
        """Chip boundaries that spikes cross."""
        return self.per_frame(self.counts.crossings)

    @property
    def host_spikes_per_frame(self) -> float:
        """Spikes between host and chip: fed, and read out."""
        return self.per_frame(self.counts.host_spikes)

    def per_frame(self, count: float) -> float:
        """Give what was counted over all stimuli per frame."""
        return count / self.total_frames


@dataclass(frozen=True, eq=False)
class SteadyActivity(SteadyFigures):
    """The same with traffic and work: what happens in single ticks.

    Attributes
    ----------
    chip, n_frames, each, wires, firing
        As in :class:`SteadyFigures`.
    activity : Activity
        Traffic and work of the first stimulus, over its frame periods.
    """

    activity: Activity
