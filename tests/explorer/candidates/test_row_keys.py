"""Candidates with equal keys make equal programs up to labels; pipelined, all patterns of a class do."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import DoesNotFitError
from neuromap.explorer.candidates.graph import graph_of
from neuromap.explorer.candidates.row_keys import RowKeys, sharing_of
from neuromap.explorer.candidates.schedules import schedules_of
from neuromap.hardware.program.list_program import ListProgram
from neuromap.mapping.legalise.legalise import legalise
from neuromap.rollout.patterns.behaviour import behaviour_classes

EXECUTIONS = ("windowed", "pipelined")
QUIET = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}


def keys_of(net, chip):
    graph = graph_of(net)
    legal = legalise(nm.Rollout(net, "streaming"), chip)
    number = {name: k for k, name in enumerate(net.nodes)}
    sharing = sharing_of(graph, {number[p.name]: p.threshold for p in legal.populations}, [chip])
    return RowKeys(graph, sharing, EXECUTIONS)


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
    net = data.draw(networks(most_edges=5))
    size = data.draw(st.sampled_from([24, 64]))
    make = data.draw(st.sampled_from([chip, list_chip]))
    small = make(axons=size, neurons=size, delay=data.draw(st.sampled_from([(1, 15), (1, 2), (2, 7)])))
    keys = keys_of(net, small)
    programs = defaultdict(set)
    n = 0
    for pattern in nm.rollout.enumerate_valid(net):
        values = np.array([pattern.values], np.uint8)
        for execution in EXECUTIONS:
            schedules = schedules_of(graph_of(net), values, execution)
            key = keys.of(values, schedules, execution)[0].tobytes()
            try:
                program = nm.map_rollout(nm.Rollout(net, pattern, execution), small, placer="row-major")
            except DoesNotFitError as error:
                programs[key].add(str(error.infeasibility.limit))
            else:
                programs[key].add(labels_aside(program))
            n += 1
    assert all(len(found) == 1 for found in programs.values())
    event("candidates share rows" if len(programs) < n else "no candidates share a row")


@settings(max_examples=60, **QUIET)
@given(data=st.data())
def test_pipelined_rows_of_a_class_are_equal_in_period_delays_and_responses(data, networks):
    net = data.draw(networks(most_inner=5, most_edges=8))
    for patterns in behaviour_classes(net):
        rollouts = [nm.Rollout(net, pattern, "pipelined") for pattern in patterns]
        for rollout in rollouts[1:]:
            assert rollout.frame_period == rollouts[0].frame_period
            assert dict(rollout.delays) == dict(rollouts[0].delays)
            assert dict(rollout.first_responses) == dict(rollouts[0].first_responses)
            assert dict(rollout.full_responses) == dict(rollouts[0].full_responses)


@settings(max_examples=40, **QUIET)
@given(data=st.data())
def test_without_bias_a_class_is_one_pipelined_row(data, networks, chip):
    """But where two edges of one input begin with different frames: they share an axon or not."""
    net = data.draw(networks(most_inner=5, most_edges=8, biased=False))
    graph, keys = graph_of(net), keys_of(net, chip())
    fan_out = max(sum(u == i for u, _ in net.edges) for i in net.inputs)
    for patterns in behaviour_classes(net):
        values = np.array([pattern.values for pattern in patterns], np.uint8)
        found = keys.of(values, schedules_of(graph, values, "pipelined"), "pipelined")
        event("one edge per input" if fan_out == 1 else "inputs with several edges")
        if fan_out == 1:
            assert len(np.unique(found, axis=0)) == 1
        assert len(np.unique(found[:, : keys.class_words], axis=0)) == 1


@settings(max_examples=100, **QUIET)
@given(data=st.data())
def test_class_words_tell_the_class(data, networks, chip):
    net = data.draw(networks(most_inner=4, most_edges=8))
    keys = keys_of(net, chip())
    classes = behaviour_classes(net)
    words = [
        {row.tobytes() for row in keys.classes(np.array([pattern.values for pattern in patterns], np.uint8))}
        for patterns in classes
    ]
    assert all(len(found) == 1 for found in words)
    assert len(set.union(*words)) == len(classes)
