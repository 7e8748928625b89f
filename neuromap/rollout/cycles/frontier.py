"""Exact acyclic sums of long, thin blocks: a sweep with a frontier.

The nodes are taken one after the other. A node is *open* while it has a neighbour still to come. All that
matters about the choices made so far is which open node reaches which over sequential edges; choices that
agree on this are added up. Works in every semiring, on blocks of any size whose frontier stays narrow.
"""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from typing import TypeVar

from neuromap.rollout.cycles.acyclic_sums import Semiring
from neuromap.rollout.cycles.blocks import Pair

__all__ = ["MAX_STATES", "sweep_block"]

T = TypeVar("T")
State = tuple[int, ...]

MAX_STATES = 20_000
"""Most reachability states that the sweep keeps; where more are needed it gives up."""
MAX_OPEN = 64
"""Most open nodes at a time; with more the states would be too many, so the sweep does not start."""


def sweep_block(weights: dict[Pair, tuple[T, T]], semiring: Semiring[T]) -> T | None:
    """Acyclic sum of a block by a sweep."""
    # gives ``None`` where more than :data:`MAX_STATES` states would be needed, or more than :data:`MAX_OPEN` nodes are
    # open at a time
    shape: dict[int, dict[int, None]] = {}
    for u, v in weights:
        shape.setdefault(u, {})[v] = None
        shape.setdefault(v, {})[u] = None
    order = _narrow_order(shape)
    rank = {n: i for i, n in enumerate(order)}
    last = {n: max(rank[m] for m in shape[n]) for n in order}
    opened = Counter(rank.values())
    opened.subtract(max(last[n], rank[n]) for n in order)
    if max(accumulate(opened[i] for i in range(len(order)))) > MAX_OPEN:
        return None
    # A state holds, for every slot, the slots that it reaches as bits (itself included). Slots are reused.
    slot: dict[int, int] = {}
    free: list[int] = []
    states: dict[State, T] = {(): semiring.one}
    for n in order:
        if free:
            mine = free.pop()
            states = {(*s[:mine], 1 << mine, *s[mine + 1 :]): value for s, value in states.items()}
        else:
            mine = len(slot)
            states = {(*s, 1 << mine): value for s, value in states.items()}
        slot[n] = mine
        for m in shape[n]:
            for u, v in ((m, n), (n, m)):
                if m in slot and (u, v) in weights:
                    states = _decide(states, slot[u], slot[v], weights[u, v], semiring)
                    if len(states) > MAX_STATES:
                        return None
        closed = [m for m in slot if last[m] <= rank[n] and rank[m] <= rank[n]]
        for m in closed:
            gone = slot.pop(m)
            free.append(gone)
            states = _forget(states, gone, semiring)
    (total,) = states.values()
    return total


def _narrow_order(shape: dict[int, dict[int, None]]) -> list[int]:
    """Order the nodes so that few are open at a time (Cuthill and McKee's order, reversed)."""
    beside = {n: sorted(near, key=lambda m: (len(shape[m]), m)) for n, near in shape.items()}
    order: list[int] = []
    placed: set[int] = set()
    for start in sorted(shape, key=lambda n: (len(shape[n]), n)):
        if start in placed:
            continue
        part = [start]
        for _ in range(3):  # each time from the node that was farthest: soon an end of the graph
            part = [part[-1]]
            seen = set(part)
            for n in part:
                found = [m for m in beside[n] if m not in seen]
                seen.update(found)
                part += found
        order += part
        placed |= seen
    return order[::-1]


def _decide(states: dict[State, T], u: int, v: int, weight: tuple[T, T], semiring: Semiring[T]) -> dict[State, T]:
    """Take the edge from slot u to slot v both ways."""
    a, b = weight
    after: dict[State, T] = {}
    for state, value in states.items():
        options = [(state, semiring.mul(value, b))]
        if not state[v] >> u & 1:  # else a sequential edge would close a cycle
            reach = state[v]
            longer = tuple(row | reach if row >> u & 1 else row for row in state)
            options.append((longer, semiring.mul(value, a)))
        for key, term in options:
            after[key] = semiring.add(after[key], term) if key in after else term
    return after


def _forget(states: dict[State, T], slot: int, semiring: Semiring[T]) -> dict[State, T]:
    """Close a slot: nobody reaches it, it reaches nobody."""
    after: dict[State, T] = {}
    keep = ~(1 << slot)
    for state, value in states.items():
        key = tuple(0 if i == slot else row & keep for i, row in enumerate(state))
        after[key] = semiring.add(after[key], value) if key in after else value
    return after
