"""Phases at least cost on a chip: what waits waits where it is cheap, and all that was predicted stays true."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.hardware.program.usage import count_usage
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.options import MappingOptions
from neuromap.mapping.partition.partition_rollout import delay_costs
from neuromap.network import build_network
from neuromap.verification.wave import measure

pytestmark = pytest.mark.law


def beside(size, slow_inputs=4):
    """Node A, and B after it, beside a node H of slow inputs; O waits for both."""
    rng = np.random.default_rng(0)
    size = {"I": slow_inputs, "H": 4, "O": 3, **size}
    edges = [("I", "H"), ("I", "B"), ("B", "A"), ("A", "O"), ("H", "O")]
    matrices = {(u, v): rng.integers(-1, 2, (size[v], size[u])) for u, v in edges}
    matrices["I", "B"] *= rng.random(matrices["I", "B"].shape) < 0.1
    return build_network({n: (s, None if n == "I" else 1) for n, s in size.items()}, matrices, outputs=["O"])


def both(rollout, chip, **options):
    return [map_with_stages(rollout, chip, MappingOptions(phases=p, **options)) for p in ("least", "cheapest")]


@settings(deadline=None, max_examples=12)
@given(
    size=st.fixed_dictionaries({"A": st.integers(1, 12), "B": st.integers(1, 12)}),
    ticks=st.integers(2, 40),
    execution=st.sampled_from(["windowed", "pipelined"]),
    delay=st.sampled_from([(1, 15), (1, 2), (2, 5), (3, 7)]),
    split=st.sampled_from([(), (("B", "A"),), (("A", "O"),)]),
    data=st.data(),
)
def test_never_a_core_more_and_all_as_predicted(chip, list_chip, computes, size, ticks, execution, delay, split, data):
    make = data.draw(st.sampled_from([chip, list_chip])) if not split else chip
    rollout = nm.Rollout(beside(size), "sequential", execution).with_latencies({("H", "O"): ticks})
    pins = nm.mapping.Pins(splitters=split)
    least, cheapest = both(rollout, make(axons=64, neurons=64, delay=delay), pins=pins)
    assert cheapest.program.n_cores <= least.program.n_cores
    assert cheapest.program.period == least.program.period
    assert dict(cheapest.rollout.full_responses) == dict(least.rollout.full_responses)
    ticks_per_step = 1 if cheapest.rollout.is_tick_level else cheapest.program.ticks_per_step
    for output, found in measure(cheapest.program).items():
        if found.first_response_ticks is not None and measure(least.program)[output].first_response_ticks is not None:
            assert found.first_response_ticks == measure(least.program)[output].first_response_ticks
            assert found.first_response_ticks >= cheapest.rollout.first_response(output) * ticks_per_step
    computes(cheapest.rollout, cheapest.program)
    event(f"taken: {cheapest.phases is not None and cheapest.phases.is_taken}")


def test_what_waits_for_a_sum_in_parts_waits_in_front_of_few_neurons(computes):
    rollout = nm.Rollout(beside({"A": 60, "B": 5}, slow_inputs=600), "sequential")
    least, cheapest = both(rollout, nm.load_chip("truenorth"), wide="partial-sums")
    assert (cheapest.phases.is_proven, cheapest.phases.is_taken) == (True, True)
    few, many = count_usage(cheapest.program), count_usage(least.program)
    assert few.cores <= many.cores
    assert many.neurons - few.neurons >= cheapest.phases.neurons_before - cheapest.phases.neurons > 0
    assert many.relays > few.relays
    computes(cheapest.rollout, cheapest.program)


def test_edges_into_nodes_that_are_kept_cost_something_too():
    """D leads to no output: alone it is not mapped, kept it is."""
    eye = np.eye(3, dtype=int)
    nodes = {"I": (3, None), "A": (3, 1), "O": (3, 1), "D": (3, 1)}
    net = build_network(nodes, {("I", "A"): eye, ("A", "O"): eye, ("A", "D"): eye}, outputs=["O"])
    rollout, chip = nm.Rollout(net, "sequential"), nm.load_chip("truenorth")
    for keep, read in (((), {("A", "O")}), (("D",), {("A", "O"), ("A", "D")})):
        costs = delay_costs(rollout, chip, 1, frozenset(), {}, keep)
        assert {edge for cost in costs for edge in cost.edges} == read


def two_sensors():
    """I1 is read by O1 at once, and by O2, which waits for B: least phases sample I1 for the earlier of the two."""
    rng = np.random.default_rng(0)
    size = {"I1": 4, "I2": 4, "B": 4, "O1": 3, "O2": 3}
    edges = [("I1", "O1"), ("I1", "O2"), ("I2", "B"), ("B", "O2")]
    matrices = {(u, v): rng.integers(1, 3, (size[v], size[u])) for u, v in edges}
    nodes = {n: (s, None if n[0] == "I" else 2) for n, s in size.items()}
    return build_network(nodes, matrices, outputs=["O1", "O2"])


@pytest.mark.parametrize("execution", ["windowed", "pipelined", "pipelined:3"])
@pytest.mark.parametrize("splitters", ["slack", "anywhere"])
def test_fastest_phases_answer_some_pairs_earlier_on_the_chip(chip, list_chip, computes, execution, splitters):
    rollout = nm.Rollout(two_sensors(), "sequential", execution)
    for make in (chip, list_chip):
        options = {"splitters": splitters} if make is chip else {}
        each = {p: map_with_stages(rollout, make(), MappingOptions(phases=p, **options)) for p in ("least", "fastest")}
        found = {p: {o: m.first_response_ticks for o, m in measure(one.program).items()} for p, one in each.items()}
        answers = {p: each[p].rollout.responses_of_inputs for p in each}
        assert (answers["least"]["I1"]["O2"], answers["fastest"]["I1"]["O2"]) == (2, 1)
        assert found["fastest"] == {"O1": 1, "O2": 1}
        assert found["least"] == {"O1": 1, "O2": 2}
        assert each["fastest"].program.period == each["least"].program.period
        computes(each["fastest"].rollout, each["fastest"].program)
