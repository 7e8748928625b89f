"""From steps to ticks: hops of long delays, ticks per step, shared relays."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import neuromap as nm
from neuromap.mapping.hops import hops_of_delay
from neuromap.mapping.legalise import legalise, ticks_per_step


@pytest.mark.parametrize(("least", "greatest"), [(1, 1), (1, 4), (2, 3), (3, 3), (3, 5), (4, 7)])
def test_hops_are_fewest_and_legal(least, greatest):
    """Against brute force over all splits of up to six hops."""
    for delay in range(1, 3 * greatest):
        splits = [
            k
            for k in range(1, 7)
            if any(sum(s) == delay for s in itertools.combinations_with_replacement(range(least, greatest + 1), k))
        ]
        hops = hops_of_delay(delay, least, greatest)
        if not splits:
            assert hops is None or len(hops) > 6
        elif splits[0] <= 6:
            assert hops is not None
            assert (sum(hops), len(hops)) == (delay, splits[0])
            assert all(least <= h <= greatest for h in hops)


def diamond(chain, n: int) -> nm.Network:
    eye = np.eye(2, dtype=int)
    names = [f"N{k}" for k in range(n)]
    edges = {("I", "N0"): eye} | dict.fromkeys(itertools.pairwise(names), eye)
    edges |= {("N0", names[-1]): eye, ("N0", names[-2]): eye}
    return chain({"I": (2, None)} | dict.fromkeys(names, (2, 1)), edges)


def test_ticks_per_step_is_the_smallest_that_is_feasible(chain, chip):
    net = diamond(chain, 6)
    rollout = nm.Rollout(net, nm.RolloutPattern.sequential(net))
    inner = {d for (u, _), d in rollout.delays.items() if u != "I"}
    for least in range(1, 5):
        for greatest in range(least, 9):
            spec = chip(delay=(least, greatest))
            stretch = ticks_per_step(rollout, spec)
            feasible = [k for k in range(1, least + 1) if all(hops_of_delay(d * k, least, greatest) for d in inner)]
            assert stretch == feasible[0]
            legal = legalise(rollout, spec)
            assert all(least <= link.delay <= greatest for link in legal.links)
            assert legal.period == stretch * rollout.frame_period


def test_relays_of_one_source_are_shared(chain, chip):
    """Delays 5 and 4 over hops of at most 2: two relays serve both edges, not three."""
    net = diamond(chain, 6)
    legal = legalise(nm.Rollout(net, nm.RolloutPattern.sequential(net)), chip(delay=(1, 2)))
    relays = [p for p in legal.populations if p.is_relay]
    assert [p.name for p in relays] == ["N0 relay 1", "N0 relay 2"]
    assert all(legal.ports[p.node].name == "N0" for p in relays)


def test_no_relay_where_a_delay_fits(chain, chip):
    net = diamond(chain, 6)
    legal = legalise(nm.Rollout(net, nm.RolloutPattern.sequential(net)), chip(delay=(1, 15)))
    assert not any(p.is_relay for p in legal.populations)
    assert sorted(link.delay for link in legal.links) == [1, 1, 1, 1, 1, 4, 5]
