"""Candidates with equal keys make equal programs up to labels; pipelined, all shifts of a pattern do."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.cores.synapse_list.program import ListProgram
from neuromap.errors import DoesNotFitError
from neuromap.explorer.candidates.schedules import RowKeys, graph_of, schedules_of, sharing_of
from neuromap.mapping.legalise.legalise import legalise
from neuromap.rollout.behaviour import behaviour_classes, class_key

EXECUTIONS = ("windowed", "pipelined")
QUIET = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}


def keys_of(net, chip, phases="least"):
    graph = graph_of(net)
    legal = legalise(nm.Rollout(net, "streaming"), chip)
    number = {name: k for k, name in enumerate(net.nodes)}
    sharing = sharing_of(graph, {number[p.name]: p.threshold for p in legal.populations}, [chip])
    return RowKeys(graph, replace(sharing, over_delays=sharing.over_delays or phases != "least"), EXECUTIONS)


def retimings(net):
    """All valid patterns, grouped by whether they are shifts of each other at every node: as if all were outputs."""
    seen = replace(net, outputs=tuple(name for name in net.nodes if name not in net.inputs))
    return [[nm.RolloutPattern(net, pattern.values) for pattern in patterns] for patterns in behaviour_classes(seen)]


def labels_aside(program):
    """All that a program is, but for the names of its frames: shifts of the clock, and by whole frames."""
    host, outputs = program.host, program.outputs
    order = np.lexsort((host.axon, host.core))
    arrival = host.arrival[order]
    clock = (arrival - arrival[0]) % program.period if len(arrival) else arrival
    tables = [program, program.neurons]
    tables += [program.synapses, program.targets] if isinstance(program, ListProgram) else []
    arrays = [
        host.node[order], host.index[order], host.core[order], host.axon[order], clock,
        outputs.core, outputs.neuron, outputs.node, outputs.index,
        *(value for table in tables for value in vars(table).values() if isinstance(value, np.ndarray)),
    ]  # fmt: skip
    return (program.period, program.ticks_per_step, *(array.tobytes() for array in arrays))


@settings(max_examples=30, **QUIET)
@given(data=st.data())
def test_equal_keys_make_equal_programs(data, networks, chip, list_chip):
    check_equal_keys(data, data.draw(networks(most_edges=5)), chip, list_chip)


@pytest.mark.theorem
@pytest.mark.thorough
@settings(max_examples=1000, **QUIET)
@given(data=st.data())
def test_equal_keys_make_equal_programs_of_many_small_networks(data, networks, chip, list_chip):
    check_equal_keys(data, data.draw(networks(most_inner=3, most_edges=4)), chip, list_chip)


def check_equal_keys(data, net, chip, list_chip):
    size = data.draw(st.sampled_from([24, 64]))
    make = data.draw(st.sampled_from([chip, list_chip]))
    small = make(axons=size, neurons=size, delay=data.draw(st.sampled_from([(1, 15), (1, 2), (2, 7)])))
    phases = data.draw(st.sampled_from(["least", "cheapest", "fastest"]))
    keys = keys_of(net, small, phases)
    programs = defaultdict(set)
    n = 0
    for pattern in nm.rollout.enumerate_valid(net):
        values = np.array([pattern.values], np.uint8)
        for execution in EXECUTIONS:
            schedules = schedules_of(graph_of(net), values, execution)
            key = keys.of(values, schedules, execution)[0].tobytes()
            try:
                program = nm.map_rollout(nm.Rollout(net, pattern, execution), small, placer="row-major", phases=phases)
            except DoesNotFitError as error:
                programs[key].add(str(error.infeasibility.limit))
            else:
                programs[key].add(labels_aside(program))
            n += 1
    assert all(len(found) == 1 for found in programs.values())
    event("candidates share rows" if len(programs) < n else "no candidates share a row")


@pytest.mark.theorem
@settings(max_examples=1000, **QUIET)
@given(data=st.data())
def test_pipelined_shifts_are_equal_in_period_delays_and_responses(data, networks):
    net = data.draw(networks(most_inner=5, most_edges=8))
    for patterns in retimings(net):
        rollouts = [nm.Rollout(net, pattern, "pipelined") for pattern in patterns]
        for rollout in rollouts[1:]:
            assert rollout.frame_period == rollouts[0].frame_period
            assert dict(rollout.delays) == dict(rollouts[0].delays)
            assert rollout.responses_of_inputs == rollouts[0].responses_of_inputs
            assert dict(rollout.full_responses) == dict(rollouts[0].full_responses)


@settings(max_examples=40, **QUIET)
@given(data=st.data())
def test_without_bias_all_shifts_are_one_pipelined_row(data, networks, chip):
    """But where two edges of one input begin with different frames: they share an axon or not."""
    net = data.draw(networks(most_inner=5, most_edges=8, biased=False))
    graph, keys = graph_of(net), keys_of(net, chip())
    fan_out = max(sum(u == i for u, _ in net.edges) for i in net.inputs)
    for patterns in retimings(net):
        values = np.array([pattern.values for pattern in patterns], np.uint8)
        found = keys.of(values, schedules_of(graph, values, "pipelined"), "pipelined")
        event("one edge per input" if fan_out == 1 else "inputs with several edges")
        if fan_out == 1:
            assert len(np.unique(found, axis=0)) == 1
        assert len(np.unique(found[:, : keys.n_retiming_words], axis=0)) == 1


@settings(max_examples=100, **QUIET)
@given(data=st.data())
def test_the_first_words_tell_shifts_at_every_node(data, networks, chip):
    net = data.draw(networks(most_inner=4, most_edges=8))
    keys = keys_of(net, chip())
    groups = retimings(net)
    words = [
        {row.tobytes() for row in keys.retimings(np.array([pattern.values for pattern in patterns], np.uint8))}
        for patterns in groups
    ]
    assert all(len(found) == 1 for found in words)
    assert len(set.union(*words)) == len(groups)
    assert all(len({class_key(pattern) for pattern in patterns}) == 1 for patterns in groups)
