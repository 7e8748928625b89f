"""How many ticks an update step takes at least."""

from __future__ import annotations

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.legalise.delay_legs import legs_of_delay
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["fewest_ticks_per_step"]


def fewest_ticks_per_step(rollout: Rollout, chip: ChipSpec) -> int:
    """Find the fewest ticks of an update step with which every edge's delay can be given in legs."""
    # Edges from inputs are free: the host delivers (docs/mapping.md). The chip's least delay always works. A step of a
    # spiking network is one tick whatever the chip gives: its delays are part of what it computes.
    # rollout: its delays, in update steps or ticks
    if rollout.network.is_spiking:
        return 1
    least, greatest = chip.delay
    inputs = set(rollout.network.inputs)
    delays = {d for (u, _), d in rollout.delays.items() if u not in inputs}
    for ticks in range(1, least):
        if all(legs_of_delay(d * ticks, least, greatest) for d in delays):
            return ticks
    return least
