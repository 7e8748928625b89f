"""The least first response of an inference factor, by two chains and a shortest path (docs/theorems)."""

import heapq
from itertools import count, product

import networkx as nx
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


def by_colours(net, output, factor, phases):
    """The same where nodes are told apart by phases given to them, 0 for none; one chain and support are as good."""
    after = {u: [v for a, v in net.edges if a == u] for u in net.nodes if u not in net.inputs}
    fixed = {v: phase for v, phase in phases.items() if phase}
    ends = {v for v, phase in fixed.items() if phase == 1}  # of paths with phases from 1 on
    for phase in range(2, factor + 1):
        ends |= {v for u in ends if fixed[u] == phase - 1 for v in after[u] if fixed.get(v) == phase}
    if not any(fixed[v] == factor for v in ends):
        return None
    starts = {v for u, v in net.edges if u in net.inputs and (v not in fixed or v in ends)}
    found = [shortest(after, {v: 1} | fixed, v, output, factor) for v in starts]
    return min((steps for steps in found if steps is not None), default=None)


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data())
def test_colours_find_it_and_long_chains_are_along_the_path(rollouts, with_outputs, data):
    net, _ = data.draw(with_outputs(rollouts(max_nodes=5, max_extra=4)))
    output, inner = data.draw(st.sampled_from(net.outputs)), [v for v in net.nodes if v not in net.inputs]
    best = by_brute_force(net, output)
    for factor in range(1, len(inner) + 1):
        if factor <= best[1]:  # the edges of a shortest path
            assert best[factor] == best[1]
            continue
        phases = (dict(zip(inner, chosen, strict=True)) for chosen in product(range(factor + 1), repeat=len(inner)))
        found = {by_colours(net, output, factor, each) for each in phases} - {None}
        assert min(found, default=None) == best.get(factor)
        assert not found or best[factor] <= (factor - 1) ** 2


def by_pebbles(net, output, factor):
    """The same without cycles but self-edges: chain, and support with path, are walked together in the nodes' order."""
    place = {v: k for k, v in enumerate(nx.topological_sort(nx.DiGraph([e for e in net.edges if e[0] != e[1]])))}
    after = {u: [v for a, v in net.edges if a == u != v] for u in net.nodes}
    sampled = {v for u, v in net.edges if u in net.inputs}
    inner = [v for v in net.nodes if v not in net.inputs]
    numbers = count()
    # chain at c in its phase p, the other at w in phase a, already on the way from the input or still the support
    front = [(0, next(numbers), (c, 1, w, 1, False)) for c in inner for w in inner]
    done = set()
    while front:
        steps, _, state = heapq.heappop(front)
        if state in done:
            continue
        done.add(state)
        c, p, w, a, on_way = state
        if c is None and w is None:
            return steps
        if c is None or (w is not None and place[w] <= place[c]):  # the first in the order moves: nobody comes after it
            moves = [] if on_way or a == factor else [(0, x, a + 1, False) for x in after[w]]
            if on_way or w in sampled:
                begun = 0 if on_way else 1
                moves += [(begun + 1, x, a % factor + 1, True) for x in after[w]]
                moves += [(begun, None, 0, True)] if w == output else []
            found = [(more, c, p, x, b, going) for more, x, b, going in moves]
        else:
            ways = [(x, p + 1) for x in after[c]] if p < factor else [(None, 0)]
            found = [(0, x, b, w, a, on_way) for x, b in ways]
        for more, c2, p2, w2, a2, going in found:
            if c2 is not None and c2 == w2 and p2 != a2:  # they meet: the chain's phase holds
                if not going:
                    continue
                more, a2 = more + (p2 - a2) % factor, p2
            heapq.heappush(front, (steps + more, next(numbers), (c2, p2, w2, a2, going)))
    return None


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data())
def test_two_pebbles_are_enough_without_long_cycles(data):
    n, inputs = data.draw(st.integers(3, 6)), data.draw(st.integers(1, 2))
    edges = {(data.draw(st.integers(0, v - 1)), v): None for v in range(inputs, n)}
    edges |= {(u, data.draw(st.integers(inputs, n - 1))): None for u in range(inputs)}
    pairs = st.tuples(st.integers(0, n - 1), st.integers(inputs, n - 1)).filter(lambda pair: pair[0] <= pair[1])
    edges |= dict.fromkeys(data.draw(st.lists(pairs, max_size=6)))
    net = Network.from_edges([(f"n{u}", f"n{v}") for u, v in edges])
    output = data.draw(st.sampled_from(net.outputs))
    best = by_brute_force(net, output)
    assert best == {f: steps for f in range(1, len(net.nodes)) if (steps := by_pebbles(net, output, f)) is not None}


def test_a_long_chain_may_cost_a_step():
    """z, a, b, c are in a row: I -> z -> a -> b -> O takes four steps, and I -> c -> b -> O waits for b even longer."""
    edges = [("I", "z"), ("z", "a"), ("a", "b"), ("b", "c"), ("c", "d"), ("I", "c"), ("c", "b"), ("b", "O")]
    net = Network.from_edges(edges, outputs=["O"])
    best = by_brute_force(net, "O")
    assert best == {f: by_chains(net, "O", f) for f in range(1, 6)}
    assert best == {1: 3, 2: 3, 3: 3, 4: 4, 5: 4}
