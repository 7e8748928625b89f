"""How long delays are given: as hops over relays, each within the range of one neuron."""

from __future__ import annotations

from collections.abc import Collection

__all__ = ["hops_of_delay", "shared_hops"]


def hops_of_delay(delay: int, least: int, greatest: int) -> tuple[int, ...] | None:
    """Split a delay into as few legal hops as possible, full ones first.

    Parameters
    ----------
    delay, least, greatest : int
        Ticks: the delay, and the range that one neuron can give.

    Returns
    -------
    tuple of int or None
        Delays of the hops; ``None`` where no split is legal.
    """
    hops = -(-delay // greatest)
    if hops * least > delay:
        return None
    split = [greatest] * (hops - 1) + [delay - greatest * (hops - 1)]
    place = hops - 2
    while split[-1] < least:  # borrow from the full hops; each can lend greatest - least
        lent = min(least - split[-1], greatest - least)
        split[place] -= lent
        split[-1] += lent
        place -= 1
    return tuple(split)


def shared_hops(delays: Collection[int], least: int, greatest: int) -> dict[int, tuple[int, ...]]:
    """Split the long delays of one source so that they share as few relays as possible.

    A delay D needs a relay at an offset from D - greatest to D - least behind the source. Offsets are chosen in rising
    order, each as late as the next unserved delay and the hop before it allow: the greedy rule for piercing
    intervals, which is optimal where no hop has to be lengthened (least = 1).

    Parameters
    ----------
    delays : collection of int
        Ticks, all above ``greatest``, each with a legal split.
    least, greatest : int
        Range of one neuron in ticks.

    Returns
    -------
    dict of int to tuple of int
        Hops of every delay; delays that begin with the same hops share the relays between them.
    """
    ways: dict[int, tuple[int, ...]] = {}
    chain: list[int] = []
    offset = 0
    for delay in sorted(delays):
        while offset < delay - greatest:
            step = min(greatest, delay - least - offset)
            chain.append(step)
            offset += step
        ways[delay] = (*chain, delay - offset)
    if all(least <= hop <= greatest for way in ways.values() for hop in way):
        return ways
    alone = {delay: hops_of_delay(delay, least, greatest) for delay in delays}
    return {delay: way for delay, way in alone.items() if way is not None}
