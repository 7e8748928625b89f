"""Several outputs together: phases with the least weighted sum of first responses, and deadlines of pairs."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError
from neuromap.network import Network
from neuromap.rollout.schedule.fastest_phases import (
    fastest_phases,
    is_least,
    responses_of_pairs,
    soonest_responses,
)
from neuromap.rollout.schedule.rollout import Rollout


def delays_of(rollout):
    return rollout.delays.values()


def all_phases(rollout, reach):
    """Every legal choice of phases within some steps of those of the rollout; the first input stays."""
    first, *others = rollout.network.nodes
    moves = [range(-reach, reach + 1)] * len(others)
    for move in product(*moves):
        phases = {first: rollout.phases[first]}
        phases |= {name: rollout.phases[name] + by for name, by in zip(others, move, strict=True)}
        ends = ((phases[v] - phases[u] + r * rollout.frame_period) for (u, v), r in rollout.pattern.items())
        if all(delay >= 1 for delay in ends):
            yield phases


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data(), execution=st.sampled_from(["windowed", "pipelined"]))
def test_no_phases_have_a_smaller_sum(rollouts, with_outputs, data, execution):
    net, pattern = data.draw(with_outputs(rollouts(max_nodes=4, max_extra=4)))
    rollout = Rollout(net, pattern, execution)
    pairs = responses_of_pairs(rollout)
    weights = {pair: data.draw(st.integers(0, 3)) for pair in pairs}
    found = fastest_phases(rollout, weights=weights, deadlines={})
    after = responses_of_pairs(found.rollout)
    assert found.total == sum(weight * after[pair] for pair, weight in weights.items())
    assert is_least(found)
    assert min(delays_of(found.rollout), default=1) >= 1
    fixed = {(i, o): steps - rollout.phases[o] + rollout.phases[i] for (i, o), steps in pairs.items()}
    sums = (
        sum(w * (fixed[i, o] + phases[o] - phases[i]) for (i, o), w in weights.items())
        for phases in all_phases(rollout, 2)
    )
    assert found.total <= min(sums)


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data(), execution=st.sampled_from(["windowed", "pipelined"]))
def test_no_pair_answers_later_than_before_and_deadlines_are_kept_or_impossible(
    rollouts, with_outputs, data, execution
):
    net, pattern = data.draw(with_outputs(rollouts(max_nodes=6, max_extra=6)))
    rollout = Rollout(net, pattern, execution)
    before = responses_of_pairs(rollout)
    found = fastest_phases(rollout)
    after = responses_of_pairs(found.rollout)
    assert all(after[pair] <= steps for pair, steps in before.items())
    assert sum(after.values()) == found.total <= sum(before.values())
    pair = data.draw(st.sampled_from(sorted(before)))
    wanted = after[pair] - data.draw(st.integers(0, 3))
    least = fastest_phases(rollout, weights={pair: 1}, deadlines={})
    if wanted < least.total:  # only a pair's own least response refuses a single deadline
        with pytest.raises(InputError, match="cannot be kept"):
            fastest_phases(rollout, deadlines={pair: wanted})
    else:
        kept = fastest_phases(rollout, deadlines={pair: wanted})
        assert least.total <= responses_of_pairs(kept.rollout)[pair] <= wanted


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data(), execution=st.sampled_from(["windowed", "pipelined"]))
def test_what_a_pair_has_alone_is_known_from_spare_delays(rollouts, with_outputs, data, execution):
    net, pattern = data.draw(with_outputs(rollouts(max_nodes=6, max_extra=6)))
    rollout = Rollout(net, pattern, execution)
    alone = soonest_responses(rollout)
    assert set(alone) == set(responses_of_pairs(rollout))
    for pair, steps in alone.items():
        assert steps == fastest_phases(rollout, weights={pair: 1}, deadlines={}).total
    fastest = fastest_phases(rollout)
    if alone == responses_of_pairs(rollout):  # phases that are best already stay
        assert dict(fastest.rollout.phases) == dict(rollout.phases)
    if len(net.inputs) == 1 or len(net.outputs) == 1:  # then one schedule is best for all pairs
        assert responses_of_pairs(fastest.rollout) == alone


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data())
def test_shifts_of_a_pattern_are_moved_alike(rollouts, with_outputs, relatives, data):
    net, pattern = data.draw(with_outputs(rollouts(max_nodes=6, max_extra=6)))
    other = data.draw(relatives(pattern))
    first, second = (fastest_phases(Rollout(net, one, "pipelined")).rollout for one in (pattern, other))
    before = [Rollout(net, one, "pipelined").delays for one in (pattern, other)]
    if before[0] == before[1]:  # so they are on all edges that an output sees
        assert first.delays == second.delays


def crossing():
    """I2 reaches O1 over more nodes than I1 does, and O2 at once: the least phases hold O2 back for I2."""
    edges = [("I1", "A"), ("A", "B"), ("B", "O1"), ("I2", "O1"), ("I2", "C"), ("C", "O2"), ("B", "O2")]
    return Network.from_edges(edges, outputs=("O1", "O2"))


def test_a_forged_claim_is_found_out():
    found = fastest_phases(Rollout(crossing(), "sequential", "pipelined"))
    assert is_least(found)
    assert not is_least(replace(found, flow=tuple(amount + 1 for amount in found.flow)))
    assert not is_least(replace(found, flow=tuple(-amount for amount in found.flow)))
    later = found.rollout.with_phases({o: found.rollout.phases[o] + 1 for o in ("O1", "O2")})
    assert not is_least(replace(found, rollout=later))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"deadlines": {("I1", "O1"): 2}}, "I1 -> O1 by 2: cannot be kept, 1 too few in all"),
        ({"weights": {("O1", "I1"): 1}}, "is not an input and an output that it reaches; pairs are I1 -> O1"),
        ({"weights": {("I1", "O1"): -1}}, "I1 -> O1: found -1; allowed are 0 to 1000000"),
    ],
)
def test_what_cannot_be_is_refused(change, said):
    with pytest.raises(InputError, match=said):
        fastest_phases(Rollout(crossing(), "sequential", "pipelined"), **change)
