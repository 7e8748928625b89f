"""Why a delay cannot be given."""

from __future__ import annotations

from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip import ChipSpec
from neuromap.mapping.infeasible import Remedy, refuse
from neuromap.network.network import EdgeKey

__all__ = ["refuse_delay"]


def refuse_delay(edge: EdgeKey, delay: int, stretch: int, enough: int, chip: ChipSpec) -> DoesNotFitError:
    """Refuse a delay that no hops can give.

    Parameters
    ----------
    edge : (str, str)
        The edge.
    delay : int
        Its delay in ticks.
    stretch, enough : int
        Ticks per step that were asked for, and the fewest that serve every edge.
    chip : ChipSpec
        Gives the range of delays.

    Returns
    -------
    DoesNotFitError
        For the caller to raise: limit ``delay``.
    """
    least, greatest = chip.delay
    text = (
        f"edge {edge[0]} -> {edge[1]} has a delay of {delay} tick{'s' * (delay != 1)} at {stretch} per step, hops of a "
        f"{chip.name} neuron take {least} to {greatest}"
    )
    remedy = Remedy("ticks_per_step", enough, f"ticks_per_step = {enough} would do")
    hops = -(-delay // greatest)
    return refuse("delay", edge[1], hops * least, delay, text, [remedy])
