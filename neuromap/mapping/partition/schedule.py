"""The schedule that splitters ask for: as it is where they fit into the delays, else made anew in ticks."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.legalise.delay_legs import legs_of_delay
from neuromap.mapping.legalise.ticks_per_step import fewest_ticks_per_step
from neuromap.network.edge import EdgeKey
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["TimedRollout", "schedule_with_splitters", "ticks_of_step"]


@dataclass(frozen=True)
class TimedRollout:
    """A rollout, and how long a unit of its delays takes on the chip.

    Attributes
    ----------
    rollout : Rollout
        In update steps, or in ticks.
    ticks_per_step : int
        Ticks of a unit of its delays: 1 where it is in ticks.
    """

    rollout: Rollout
    ticks_per_step: int


def ticks_of_step(rollout: Rollout, chip: ChipSpec, fixed: int | None) -> int:
    """Find the ticks that a unit of a rollout's delays takes.

    Parameters
    ----------
    rollout : Rollout
        In update steps, or in ticks.
    chip : ChipSpec
        Gives the range of delays.
    fixed : int or None
        Ticks of an update step, where the user fixes them.
    """
    if rollout.is_tick_level:
        return 1
    return fewest_ticks_per_step(rollout, chip) if fixed is None else fixed


def schedule_with_splitters(
    rollout: Rollout, split: frozenset[EdgeKey], chip: ChipSpec, fixed: int | None
) -> TimedRollout:
    """Find the schedule of a rollout with splitters on some of its edges.

    Parameters
    ----------
    rollout : Rollout
        As it was asked for.
    split : frozenset of (str, str)
        Edges whose spikes go over splitters.
    chip : ChipSpec
        Gives the range of delays.
    fixed : int or None
        Ticks of an update step, where the user fixes them.

    Returns
    -------
    TimedRollout
        In steps where the rollout is and every split edge has room for two legs; else in ticks, as short as the chip,
        the splitters, the rollout's own latencies and the fixed steps allow.
    """
    step = ticks_of_step(rollout, chip, fixed)
    if not rollout.is_tick_level and all(rollout.delays[e] * step >= 2 * chip.delay[0] for e in split):
        return TimedRollout(rollout, step)
    floor = 1 if fixed is None else fixed  # no edge is quicker than a step that the user fixes
    return TimedRollout(_in_ticks(rollout, split, chip, floor), 1)


def _in_ticks(rollout: Rollout, split: frozenset[EdgeKey], chip: ChipSpec, floor: int) -> Rollout:
    """Make the schedule anew with legs as short as possible.

    Some delays cannot be made of legs of, say, 4 or 5 ticks; then longer ones are tried, up to twice the shortest: they
    make every edge as slow as one over a splitter, and longer ones would make the schedule slower still. If none will
    do, the schedule of the shortest is returned: legalising refuses it, and names the delay that cannot be made.
    """
    least, greatest = chip.delay
    inputs = frozenset(rollout.network.inputs)
    for leg in range(least, 2 * least + 1):
        found = _with_legs(rollout, split, leg, floor, inputs)
        if all(legs_of_delay(d, least, greatest) for (u, _), d in found.delays.items() if u not in inputs):
            return found
    return _with_legs(rollout, split, least, floor, inputs)


def _with_legs(rollout: Rollout, split: frozenset[EdgeKey], leg: int, floor: int, inputs: frozenset[str]) -> Rollout:
    """Give every edge on the chip one leg, or two with a splitter, and none less than it has or than ``floor``."""

    def legs(edge: EdgeKey) -> int:
        if edge[0] in inputs:
            return 0
        return 2 if edge in split else 1

    latencies = {edge: max(latency, floor, legs(edge) * leg) for edge, latency in rollout.latencies.items()}
    return rollout if latencies == dict(rollout.latencies) else rollout.with_latencies(latencies)
