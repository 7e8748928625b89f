"""Phases at least cost: brute force over all phases, and what stays as it was."""

import dataclasses
from itertools import combinations, count, pairwise, product

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError
from neuromap.network.network import Network
from neuromap.rollout.schedule.cheapest_phases import (
    DelayCost,
    Schedules,
    cheapest_phases,
    cost_of,
    costs_at_least,
)
from neuromap.rollout.schedule.rollout import Rollout

MOST_TRIED = 2000
"""Phases of the hidden nodes that brute force goes through."""


def leaving(net):
    """Edges by the node that they leave."""
    edges = {}
    for edge in net.edges:
        edges.setdefault(edge[0], []).append(edge)
    return edges


def fewest_axons(delays, leg):
    """Try all sets of axons: each is fed from the neuron or from any other axon, by a leg, and one has every delay."""
    sets = (delays.union(relays) for n in count() for relays in combinations(range(1, max(delays)), n))
    return len(next(s for s in sets if all(any(t - k in s or t == k for k in range(1, leg + 1)) for t in s)))


@pytest.mark.theorem
@settings(deadline=None, max_examples=300)
@given(delays=st.sets(st.integers(1, 12), min_size=1), leg=st.integers(1, 5))
@example(delays={15, 30}, leg=15)  # a relay reads the very axon of the first reader
def test_no_chain_of_relays_that_branches_anywhere_takes_fewer(delays, leg):
    edges = {("s", str(delay)): delay for delay in delays}
    assert DelayCost(tuple(edges), 7, leg).of(edges) == 7 * fewest_axons(delays, leg)
    assert DelayCost(tuple(edges), 7, leg, is_per_delay=False).of(edges) == 7 * ((max(delays) - 1) // leg)


@st.composite
def costs(draw, r):
    """Costs of nodes, and of those of their neurons that only some of the edges read; inputs may cost something too."""
    found = []
    for edges in leaving(r.network).values():
        some = draw(st.lists(st.sampled_from(edges), unique=True, max_size=len(edges)))
        for chosen in (edges, some):
            if chosen:
                free_ticks, scale = draw(st.sampled_from([None, 1, 2, 3])), draw(st.integers(1, 2))
                leads = tuple(min(k, r.delays[edge] * scale - 1) for k, edge in enumerate(chosen))
                leads = draw(st.sampled_from([(), leads]))
                neurons = draw(st.integers(1, 9))
                found.append(DelayCost(tuple(chosen), neurons, free_ticks, draw(st.booleans()), scale, leads))
    return found


@st.composite
def schedules(draw, rollouts):
    """A rollout in steps or in ticks, some edges far slower than others; and edges that ask for more than they must."""
    net, pattern = draw(rollouts(max_nodes=6, max_extra=5))
    r = Rollout(net, pattern, draw(st.sampled_from(["windowed", "pipelined"])))
    slow = draw(st.dictionaries(st.sampled_from(list(net.edges)), st.integers(2, 8), max_size=3))
    if slow:
        r = r.with_latencies(slow, draw(st.integers(1, 4)))
    long = [edge for edge, delay in r.delays.items() if delay >= 2]
    asked = draw(st.sets(st.sampled_from(long), max_size=1)) if long else set()
    return r, dict.fromkeys(asked, 2)


def test_nodes_that_lead_to_no_output_move_as_far_as_equal_delays_ask():
    # every v reads two nodes, 3 steps farther apart than one step; all of them equal move the last by 9
    chain = ["I", *(f"c{k}" for k in range(1, 13))]
    ways = [(f"c{13 - 3 * k}", f"v{k}") for k in range(1, 5)]
    read = [((f"v{k}", f"a{k}"), (f"v{k}", f"a{k + 1}")) for k in range(1, 5)]
    edges = [("I", "O"), *pairwise(chain), *ways, *(edge for pair in read for edge in pair)]
    r = Rollout(Network.from_edges(edges, outputs=["O"]), "sequential", "pipelined")
    found = cheapest_phases(r, [DelayCost(pair, 1, None) for pair in read])
    assert (found.cost, found.cost_before, found.is_proven) == (4, 7, True)


def least_cost(r, charged, least_delays):
    """Cost of the cheapest of all whole phases in a box around those of the rollout, as wide as there is time for."""
    net, phases, period = r.network, r.phases, r.frame_period
    hidden = [v for v in net.nodes if v not in net.inputs and v not in net.outputs]
    reach = min(30, int((MOST_TRIED ** (1 / max(1, len(hidden))) - 1) / 2))
    best = cost_of(r.delays, charged)
    for moves in product(range(-reach, reach + 1), repeat=len(hidden)):
        moved = {**phases, **{v: phases[v] + move for v, move in zip(hidden, moves, strict=True)}}
        delays = {(u, v): moved[v] - moved[u] + r.pattern[u, v] * period for u, v in net.edges}
        if all(d >= max(r.latencies[e], least_delays.get(e, 1)) for e, d in delays.items()):
            best = min(best, cost_of(delays, charged))
    return best


def hold_against_brute_force(data, rollouts):
    r, least_delays = data.draw(schedules(rollouts))
    charged = data.draw(costs(r))
    for cost in charged:  # no delay of 0 ticks
        for k, edge in enumerate(cost.edges):
            least_delays[edge] = max(least_delays.get(edge, 1), cost.lead(k) // cost.ticks_per_step + 1)
    found = cheapest_phases(r, charged, least_delays)
    assert found.cost == cost_of(found.rollout.delays, charged)
    assert found.cost <= least_cost(r, charged, least_delays) <= found.cost_before == cost_of(r.delays, charged)
    assert all(found.rollout.delays[e] >= least for e, least in least_delays.items())
    for name in ("frame_period", "first_responses", "full_responses"):
        assert getattr(found.rollout, name) == getattr(r, name)
    event(f"saves: {found.cost < found.cost_before}")
    return found.is_proven


@pytest.fixture(scope="module")
def proofs():
    """Whether each example was proven: a proof may be cut off, as the theorem says, but of few are."""
    found = []
    yield found
    assert sum(found) >= 0.95 * len(found)


@pytest.mark.theorem
@given(data=st.data())
@settings(deadline=None, max_examples=1200)
def test_no_phases_cost_less(rollouts, proofs, data):
    proofs.append(hold_against_brute_force(data, rollouts))


@pytest.mark.parametrize(("s", "a", "late"), [(5, 2, 1), (2, 5, 3)])
def test_a_delay_waits_where_fewer_neurons_carry_it(s, a, late):
    """Beside a longer way, a is computed early or late; then its own spikes wait, or those of its source."""
    beside = [("s", "b1"), ("b1", "b2"), ("b2", "b3"), ("b3", "O")]
    net = Network.from_edges([("I", "s"), ("s", "a"), ("a", "O"), *beside])
    neurons = {"s": s, "a": a, "b1": 1, "b2": 1, "b3": 1}
    r = Rollout(net, "sequential", "pipelined")
    charged = [DelayCost(tuple(leaving(net)[v]), n, 1, is_per_delay=False) for v, n in neurons.items()]
    found = cheapest_phases(r, charged)
    assert found.rollout.delays["s", "a"] == late
    assert (found.cost_before, found.cost) == (2 * a, 2 * min(s, a))
    assert cheapest_phases(r, charged, {("a", "O"): 2}).rollout.delays["a", "O"] >= 2


def test_axons_are_fed_from_the_latest_before_them_whichever_that_turns_out_to_be():
    """To a 8 or 9 ticks, to b 7 to 12, to O 15, a relay every 3: 5 axons, with b as late as x before it likes."""
    chain = ["I", *(f"c{k}" for k in range(1, 15)), "O"]
    ways = [("c7", "a"), ("a", "c10"), ("c5", "x"), ("x", "b"), ("b", "c13"), ("x", "c14")]
    of_i = [("I", "O"), ("I", "b"), ("I", "a")]
    r = Rollout(Network.from_edges([*pairwise(chain), *ways, *of_i]), "sequential", "pipelined")
    charged = [DelayCost(tuple(of_i), 2, 3), DelayCost((("x", "c14"),), 1, 3, is_per_delay=False)]
    found = cheapest_phases(r, charged)
    assert (found.cost, found.is_proven) == (2 * 5, True)
    assert [found.rollout.delays[edge] for edge in of_i] == [15, 12, 9]


def test_a_cost_beyond_the_least_has_no_proof():
    """Whatever a solver answers: 4 where 3 is possible is not shown."""
    charged = [DelayCost((("s", "a"), ("s", "b")), 1, 2)]
    schedules = Schedules({("s", "a"): 1, ("s", "b"): 5}, {("s", "a"): 0, ("s", "b"): 3}, charged)
    box = {"a": (0, 3), "b": (-1, 0)}
    assert [costs_at_least(schedules, box, cost, 9.0) for cost in (2, 3, 4)] == [True, False, False]


def test_a_program_that_is_too_large_changes_nothing():
    net = Network.from_edges([("I", "s"), ("s", "a"), ("a", "O"), ("s", "b"), ("b", "c"), ("c", "O")])
    r = Rollout(net, "sequential", "pipelined")
    charged = [DelayCost((("s", "a"), ("s", "b")), 3, 15), DelayCost((("a", "O"),), 5, 1)]
    assert cheapest_phases(r, charged).rollout is not r
    found = cheapest_phases(r, charged, most_variables=1)
    assert (found.rollout, found.cost, found.is_proven) == (r, found.cost_before, False)


def test_phases_of_ones_own_are_kept_and_checked():
    net = Network.from_edges([("I", "A"), ("A", "O"), ("I", "B"), ("B", "C"), ("C", "O")])
    r = Rollout(net, "sequential", "pipelined")
    own = r.with_phases({"A": 2})
    assert (own.delays["I", "A"], own.delays["A", "O"]) == (2, 1)
    assert (own.frame_period, own.first_responses) == (r.frame_period, r.first_responses)
    assert dataclasses.replace(own, execution="pipelined:4").phases == own.phases
    assert own.with_phases({"O": 5}).first_response("O") == 5  # outputs may move too, by hand
    assert own.with_latencies({}).phases == r.with_latencies({}).phases  # made anew
    with pytest.raises(InputError, match="edge A -> O would have a delay of 0, it asks for 1; let O come 1 later"):
        r.with_phases({"A": 3})
    with pytest.raises(InputError, match="is not a node of network"):
        r.with_phases({"X": 3})
    with pytest.raises(InputError, match="phases: A"):
        r.with_phases({"A": 1.5})
    with pytest.raises(InputError, match="allowed are"):
        r.with_phases({"A": 10**12})
    with pytest.raises(InputError, match="mapping"):
        r.with_phases([1, 2])
    other = Network.from_edges([("I", "O")])
    with pytest.raises(InputError, match="give phases for"):
        dataclasses.replace(own, network=other, pattern=Rollout(other, "streaming").pattern)
