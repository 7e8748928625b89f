"""The table of rows: every candidate is in one row, with its times; rows differ."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.explorer.candidates.asked import step_ticks
from neuromap.explorer.candidates.pattern_space import pattern_space, row_table
from neuromap.explorer.candidates.schedules import RowKeys, Sharing, core_weights, graph_of, schedules_of
from neuromap.mapping.legalise.legalised import fewest_ticks_per_step
from neuromap.rollout.behaviour import count_behaviour_classes, equivalent
from neuromap.rollout.class_numbers import all_class_numbers

EXECUTIONS = ("windowed", "pipelined")


def table_of(net, pattern, by_pattern=False):
    graph = graph_of(net)
    space = pattern_space(graph, [pattern])
    weights = core_weights(graph, nm.load_chip("truenorth"))
    row_keys = RowKeys(graph, Sharing(), EXECUTIONS, by_pattern)
    return row_table(space, row_keys, np.array(pattern.values, np.uint8), weights, all_class_numbers(net)), space


@settings(deadline=None, max_examples=60)
@given(data=st.data(), by_pattern=st.booleans())
def test_every_candidate_is_in_one_row(data, by_pattern, networks):
    net = data.draw(networks(most_inner=4, most_edges=7))
    valid = list(nm.rollout.enumerate_valid(net))
    pattern = data.draw(st.sampled_from(valid))
    table, space = table_of(net, pattern, by_pattern=by_pattern)
    assert len(np.unique(table.keys, axis=0)) == len(table)
    keys = RowKeys(table.graph, Sharing(), EXECUTIONS, by_pattern)
    patterns_of, numbers = Counter(), all_class_numbers(net)
    for found in valid:
        values = np.array([found.values], np.uint8)
        rows = set()
        for execution in EXECUTIONS:
            schedules = schedules_of(table.graph, values, execution)
            row = table.find(keys.of(values, schedules, execution)[0])
            rollout = nm.Rollout(net, found, execution)
            assert table.period[row] == rollout.frame_period
            assert table.first[row] == min(rollout.first_responses.values())
            assert table.slowest[row] == rollout.slowest_response()
            assert table.full[row] == max(full.steps for full in rollout.full_responses.values())
            assert table.needs_retraining[row] == (equivalent(pattern, found) is None)
            assert table.behaviour_class[row] == numbers.of(values)[0]
            rows.add(row)
        patterns_of.update(rows)
    assert {row: int(n) for row, n in enumerate(table.n_patterns)} == dict(sorted(patterns_of.items()))
    for row in range(len(table)):  # the pattern that stands for a row is one of its candidates
        values = np.array([table.pattern(row)], np.uint8)
        execution = EXECUTIONS[table.execution[row]]
        key = keys.of(values, schedules_of(table.graph, values, execution), execution)[0]
        assert table.find(key) == row
    assert table.find(np.full(table.keys.shape[1], 2**64 - 1, np.uint64)) == -1
    assert len(set(table.behaviour_class.tolist())) == count_behaviour_classes(net)
    assert space.n_patterns == len(valid)


@pytest.mark.parametrize("name", ["ff", "s", "sr", "dsr0", "dsr1", "dsr2", "dsr3", "dsr4"])
def test_structures_of_the_paper(name):
    net = nm.load_network(f"examples/structures/{name}.toml")
    table, space = table_of(net, nm.RolloutPattern.streaming(net))
    assert space.n_valid == nm.rollout.count_valid(net)
    assert len(set(table.behaviour_class.tolist())) == count_behaviour_classes(net)
    pipelined_or_equal = Counter()
    for number, n in zip(table.behaviour_class.tolist(), table.n_patterns.tolist(), strict=True):
        pipelined_or_equal[number] = max(pipelined_or_equal[number], n)
    assert sum(pipelined_or_equal.values()) == space.n_valid  # the pipelined row of a class holds all its patterns


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_ticks_per_step(data, networks, chip):
    net = data.draw(networks(most_inner=4, most_edges=6))
    table, _ = table_of(net, nm.RolloutPattern.streaming(net))
    least = data.draw(st.integers(1, 6))
    spec = chip(delay=(least, data.draw(st.integers(least, 15))))
    found = step_ticks(table, spec, None)
    for row in range(len(table)):
        rollout = nm.Rollout(net, nm.RolloutPattern(net, table.pattern(row)), EXECUTIONS[table.execution[row]])
        assert found[row] == fewest_ticks_per_step(rollout, spec)
    assert (step_ticks(table, spec, 7) == 7).all()
