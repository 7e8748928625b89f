"""The least first response of an inference factor, by two chains and a shortest path (docs/theorems)."""

import heapq

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.network.network import Network
from neuromap.rollout.behaviour import enumerate_valid
from neuromap.rollout.schedule.rollout import Rollout


def by_brute_force(net, output):
    """The least first response for every inference factor, over all valid patterns."""
    best = {}
    for pattern in enumerate_valid(net):
        rollout = Rollout(net, pattern)
        first = rollout.first_response(output)
        best[rollout.frame_period] = min(best.get(rollout.frame_period, first), first)
    return best


def chains(after, length):
    """All simple paths of so many nodes."""
    found = [(v,) for v in after]
    for _ in range(length - 1):
        found = [(*chain, v) for chain in found for v in after[chain[-1]] if v not in chain]
    return found


def by_chains(net, output, factor):
    """The same for one inference factor; ``None`` where no pattern has it."""
    after = {u: [v for a, v in net.edges if a == u] for u in net.nodes if u not in net.inputs}
    starts = {v for u, v in net.edges if u in net.inputs}
    supports = [chain for k in range(1, factor + 1) for chain in chains(after, k) if chain[-1] in starts]
    found = None
    for chain in chains(after, factor):
        longest = dict(zip(chain, range(1, factor + 1), strict=True))
        for support in supports:
            fixed = dict(zip(support, range(1, factor + 1), strict=False))
            if all(longest.get(v, phase) == phase for v, phase in fixed.items()):
                steps = shortest(after, longest | fixed, support[-1], output, factor)
                found = steps if found is None or (steps is not None and steps < found) else found
    return found


def shortest(after, fixed, start, output, factor):
    """Steps from a sample to the output over a path from one node on, where some nodes have their phases."""
    front, done = [(1, start, fixed[start])], set()
    while front:
        steps, u, phase = heapq.heappop(front)
        if u == output:
            return steps
        if (u, phase) in done:
            continue
        done.add((u, phase))
        for v in after[u]:
            then = fixed.get(v, phase % factor + 1)
            heapq.heappush(front, (steps + ((then - phase - 1) % factor + 1), v, then))
    return None


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data())
def test_two_chains_and_a_shortest_path_are_enough(rollouts, with_outputs, data):
    net, _ = data.draw(with_outputs(rollouts(max_nodes=6, max_extra=3)))
    output = data.draw(st.sampled_from(net.outputs))
    best = by_brute_force(net, output)
    assert best == {f: steps for f in range(1, len(net.nodes)) if (steps := by_chains(net, output, f)) is not None}


def test_a_long_chain_may_cost_a_step():
    """z, a, b, c are in a row: I -> z -> a -> b -> O takes four steps, and I -> c -> b -> O waits for b even longer."""
    edges = [("I", "z"), ("z", "a"), ("a", "b"), ("b", "c"), ("c", "d"), ("I", "c"), ("c", "b"), ("b", "O")]
    net = Network.from_edges(edges, outputs=["O"])
    best = by_brute_force(net, "O")
    assert best == {f: by_chains(net, "O", f) for f in range(1, 6)}
    assert best == {1: 3, 2: 3, 3: 3, 4: 4, 5: 4}
