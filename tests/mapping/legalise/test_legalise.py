"""From steps to ticks: legs of long delays, ticks per step, shared relays."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import neuromap as nm
from neuromap.mapping.legalise.legalise import legalise
from neuromap.mapping.legalise.legalised import fewest_ticks_per_step, segments_of_delay


@pytest.mark.parametrize(("least", "greatest"), [(1, 1), (1, 4), (2, 3), (3, 3), (3, 5), (4, 7)])
def test_legs_are_fewest_and_legal(least, greatest):
    """Against brute force over all splits of up to six legs."""
    for delay in range(1, 3 * greatest):
        splits = [
            k
            for k in range(1, 7)
            if any(sum(s) == delay for s in itertools.combinations_with_replacement(range(least, greatest + 1), k))
        ]
        segments = segments_of_delay(delay, least, greatest)
        if not splits:
            assert segments is None or len(segments) > 6
        elif splits[0] <= 6:
            assert segments is not None
            assert (sum(segments), len(segments)) == (delay, splits[0])
            assert all(least <= segment <= greatest for segment in segments)


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
            ticks = fewest_ticks_per_step(rollout, spec)
            feasible = [k for k in range(1, least + 1) if all(segments_of_delay(d * k, least, greatest) for d in inner)]
            assert ticks == feasible[0]
            legal = legalise(rollout, spec)
            assert all(least <= link.delay <= greatest for link in legal.links)
            assert legal.period == ticks * rollout.frame_period


def test_relays_of_one_source_are_shared(chain, chip):
    """Delays 5 and 4 over legs of at most 2: two relays serve both edges, not three."""
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


def test_a_chain_of_relays_beyond_the_chip_is_refused_before_it_is_made(chain, chip):
    """With a frame every million steps a self-edge alone takes 66,666 relays for each of 8 neurons."""
    net = chain({"I": (8, None), "A": (8, 1)}, {("I", "A"): np.eye(8, dtype=int), ("A", "A"): np.eye(8, dtype=int)})
    spec = chip(delay=(1, 15))
    with pytest.raises(nm.errors.DoesNotFitError) as caught:
        legalise(nm.Rollout(net, "streaming", "pipelined:1000000"), spec)
    refusal = caught.value.infeasibility
    assert (refusal.limit, refusal.node, refusal.demand) == ("delay", "A", 1_000_000)
    # every core full of relays: so many for each of the 8 neurons, and a leg more
    per_neuron = spec.n_usable_cores * min(spec.axons, spec.neurons) // 8
    assert refusal.bound == 15 * (per_neuron + 1)
    cores = -(-66666 * 8 // min(spec.axons, spec.neurons))
    assert f"66666 relays for each of 8 neurons need {cores}" in refusal.statement
    assert [remedy.lever for remedy in refusal.remedies] == ["execution", "chip.cores"]
    assert "shorter frame period" in refusal.message


@pytest.mark.parametrize("spare", [0, 1])
def test_the_bound_on_a_chain_is_met(chain, chip, spare):
    """As many relays as the chip has neurons are no reason for a refusal; one more is."""
    spec = chip(delay=(1, 1), cores=(2, 1), axons=4, neurons=4)
    net = chain({"I": (1, None), "A": (1, 1)}, {("I", "A"): np.eye(1, dtype=int), ("A", "A"): np.eye(1, dtype=int)})
    rollout = nm.Rollout(net, "streaming", f"pipelined:{9 + spare}")  # 8 relays, or 9
    if spare:
        with pytest.raises(nm.errors.DoesNotFitError, match="need 3 cores"):
            legalise(rollout, spec)
    else:
        relays = [p for p in legalise(rollout, spec).populations if p.is_relay]
        assert [p.name for p in relays] == [f"A relay {k}" for k in range(1, 9)]


def test_long_chains_are_made_leg_by_leg(chain, chip):
    """Delays of 100,000 ticks, whose relays two edges share."""
    eye = np.eye(1, dtype=int)
    net = chain({"I": (1, None), "A": (1, 1), "B": (1, 1)}, {("I", "A"): eye, ("A", "A"): eye, ("A", "B"): eye})
    spec = chip(delay=(1, 15), cores=(64, 64))
    rollout = nm.Rollout(net, "streaming", "pipelined:100000")
    legal = legalise(rollout, spec)
    longest = max(delay for (u, _), delay in rollout.delays.items() if u == "A")
    assert longest == 100_000
    assert sum(p.is_relay for p in legal.populations) == -(-longest // 15) - 1
