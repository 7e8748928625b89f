"""How long delays are given: in legs over relays, each within the range of one neuron."""

from __future__ import annotations

from collections.abc import Collection

__all__ = ["legs_of_delay", "shared_legs"]


def legs_of_delay(delay: int, least: int, greatest: int) -> tuple[int, ...] | None:
    """Split a delay into as few legal legs as possible, full ones first."""
    # gives ticks of the legs; ``None`` where no split is legal
    count = -(-delay // greatest)
    if count * least > delay:
        return None
    legs = [greatest] * (count - 1) + [delay - greatest * (count - 1)]
    lender = count - 2
    while legs[-1] < least:  # borrow from the full legs; each can lend greatest - least
        lent = min(least - legs[-1], greatest - least)
        legs[lender] -= lent
        legs[-1] += lent
        lender -= 1
    return tuple(legs)


def shared_legs(delays: Collection[int], least: int, greatest: int) -> dict[int, tuple[int, ...]]:
    """Split the long delays of one source so that they share as few relays as possible."""
    # A delay D needs a relay at an offset from D - greatest to D - least behind the source. Offsets are chosen in
    # rising order, each as late as the next unserved delay and the leg before it allow: the greedy rule for piercing
    # intervals, which is optimal where no leg has to be lengthened (least = 1).
    # least, greatest: range of one neuron in ticks
    legs_of: dict[int, tuple[int, ...]] = {}
    chain: list[int] = []
    offset = 0
    for delay in sorted(delays):
        while offset < delay - greatest:
            step = min(greatest, delay - least - offset)
            chain.append(step)
            offset += step
        legs_of[delay] = (*chain, delay - offset)
    if all(least <= leg <= greatest for legs in legs_of.values() for leg in legs):
        return legs_of
    alone = {delay: legs_of_delay(delay, least, greatest) for delay in delays}
    return {delay: legs for delay, legs in alone.items() if legs is not None}
