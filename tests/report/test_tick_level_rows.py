"""Rows of tick-level schedules: edges with latencies of their own, mapped by hand and by the mapper."""

import re
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.options import MappingOptions, Pins
from neuromap.network.build import build_network
from neuromap.report import latency_report, report_on_program, to_csv, to_dict
from neuromap.report.measure_row import report_row
from neuromap.rollout.schedule.execution import EXECUTIONS
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.stimulus import random_frames

LONGEST = 15


def hops(delay, latency):
    """A delay in as many hops of a tick or more as the latency asks for, and more where one would be too long."""
    parts = [1] * (latency - 1)
    left = delay - sum(parts)
    while left > LONGEST:
        parts.append(LONGEST)
        left -= LONGEST
    return [*parts, left]


def map_by_hand(by_hand, rollout):
    """A program on one core for nodes of one neuron, from phases and delays in ticks.

    Every edge has a copy of its source, and a row of splitters: one neuron for every hop but the first.
    """
    network, pattern, period = rollout.network, rollout.pattern, rollout.frame_period
    origin = max(0, -min(rollout.phases[v] for v in network.nodes if v not in network.inputs))
    roles = dict.fromkeys(network.inputs, "input") | dict.fromkeys(network.outputs, "output")
    nodes = [(v, 1, roles.get(v, "hidden"), rollout.phases[v] - period + origin) for v in network.nodes]
    number = {v: k for k, v in enumerate(network.nodes)}
    neurons, axons_of, host, n_axons = {}, defaultdict(list), [], 0
    for (u, v), delay in rollout.delays.items():
        if u in network.inputs:
            streaming = pattern[u, v]
            arrival = rollout.phases[v] + (streaming - 1) * period + origin
            host.append((number[u], 0, 0, n_axons, arrival, 1 - streaming))
        else:
            is_splitter = False
            for hop in hops(delay, rollout.latencies[u, v]):
                place = (0, len(neurons))
                neurons[place] = (number[u], 0, is_splitter, (0, n_axons, hop))
                if is_splitter:
                    axons_of["splitter", place[1]].append(n_axons - 1)
                is_splitter = True
                n_axons += 1
            n_axons -= 1
        axons_of[v].append(n_axons)
        n_axons += 1
    for v in network.nodes:
        if roles.get(v) == "output" or (v not in network.inputs and all(u != v for u, _ in network.edges)):
            neurons[0, len(neurons)] = (number[v], 0, False, None)
    names = list(network.nodes)
    synapses = []
    for (_, n), (node, _, is_relay, _) in neurons.items():
        read = axons_of["splitter", n] if is_relay else axons_of[names[node]]
        synapses += [(0, axon, n, 1) for axon in read]
    return by_hand(nodes, neurons, max(n_axons, 1), synapses, host, period=period)


def chain():
    """I -> A -> O and A -> A, one neuron each."""
    one = np.ones((1, 1), dtype=int)
    return build_network(
        {"I": (1, None), "A": (1, 1), "O": (1, 1)},
        {("I", "A"): one, ("A", "O"): one, ("A", "A"): one},
        name="chain",
    )


@given(execution=st.sampled_from(EXECUTIONS), data=st.data())
@settings(deadline=None, max_examples=80)
def test_measured_equals_predicted_on_tick_level_programs(networks, patterns, by_hand, has_long_cycle, execution, data):
    network = data.draw(networks(largest=1))
    inner = [key for key in network.edges if key[0] not in network.inputs]
    latencies = data.draw(st.dictionaries(st.sampled_from(inner), st.integers(1, 3))) if inner else {}
    rollout = Rollout(network, data.draw(patterns(network)), execution, latencies)
    row = report_row(rollout, map_by_hand(by_hand, rollout), random_frames(network, 12))
    assert row.verified, row.verification.message
    assert (row.schedule, row.ticks_per_step, row.frame_period_steps) == ("ticks", None, None)
    assert row.frame_period_ticks == rollout.frame_period
    for name, output in row.outputs.items():
        assert output.predicted.first_response_ticks == rollout.first_response(name)
        assert output.predicted.first_response_steps is None
        assert output.measured.first_response_ticks == output.predicted.first_response_ticks
        assert output.best_input_reaction_ticks == rollout.first_response(name) + rollout.frame_period - 1
        assert output.worst_case_reaction_ticks == max(output.reaction_ticks_by_input.values())
        if has_long_cycle(network):
            assert output.measured.full_response_ticks is None
        else:
            assert output.measured == output.predicted


def test_figures_of_a_chain_with_one_slow_edge(by_hand):
    rollout = Rollout(chain(), "sequential", "windowed", {("A", "O"): 3})
    row = report_row(rollout, map_by_hand(by_hand, rollout), random_frames(rollout.network, 12))
    assert row.verified
    assert row.inference_factor == 2  # of the pattern; the frame takes 1 + 3 ticks
    assert (row.frame_period_ticks, row.sampling_frequency_hz) == (4, pytest.approx(250))
    assert (row.measured.first_response_ticks, row.measured.full_response_ticks) == (4, 4)
    assert row.measured.first_response_seconds == pytest.approx(4e-3)
    assert (row.worst_case_reaction_ticks, row.worst_case_reaction_seconds) == (7, pytest.approx(7e-3))
    steps = (
        row.ticks_per_step, row.frame_period_steps, row.predicted.first_response_steps,
        row.predicted.full_response_steps, row.measured.first_response_steps, row.measured.full_response_steps,
    )  # fmt: skip
    assert set(steps) == {None}
    assert row.rollout is rollout


def test_a_program_with_a_slow_edge_is_not_predicted_by_the_schedule_in_steps(by_hand):
    rollout = Rollout(chain(), "streaming", "pipelined")
    slow = rollout.with_latencies({("A", "O"): 2})
    frames = random_frames(rollout.network, 12)
    program = map_by_hand(by_hand, slow)
    right, wrong = report_row(slow, program, frames), report_row(rollout, program, frames)
    assert right.verified
    assert (right.measured.first_response_ticks, right.predicted.first_response_ticks) == (3, 3)
    assert (wrong.measured.first_response_ticks, wrong.predicted.first_response_ticks) == (3, 2)
    assert (wrong.schedule, wrong.ticks_per_step) == ("steps", 1)


def test_a_chip_that_cannot_give_the_delays_has_no_bound_on_cores(by_hand):
    rollout = Rollout(chain(), "streaming", "pipelined", {})
    program = map_by_hand(by_hand, rollout)
    frames = random_frames(rollout.network, 12)
    assert report_row(rollout, program, frames).core_bound.total == 1
    slower = replace(program, chip=replace(program.chip, delay=(2, 15)), delay=program.delay + (program.delay > 0))
    row = report_row(rollout, slower, frames)
    assert row.verified is False
    assert row.core_bound is None


def test_forms_of_a_tick_level_row_have_no_steps(by_hand):
    rollout = Rollout(chain(), "sequential", "windowed", {("A", "O"): 3})
    report = report_on_program(rollout, map_by_hand(by_hand, rollout))
    row = to_dict(report)["rows"][0]
    assert (row["frame_period_steps"], row["ticks_per_step"], row["frame_period_ticks"]) == (None, None, 4)
    assert (row["predicted"]["first_response_steps"], row["predicted"]["first_response_ticks"]) == (None, 4)
    assert "sequential" in to_csv(report)
    assert "sequential" in report.to_text()
    page = report.to_html()
    assert "<svg" in page
    assert "frame period 4 ticks, scheduled in ticks, without update steps." in page
    assert not re.findall(r".{30}\bNone\b", page)


@given(execution=st.sampled_from(EXECUTIONS), data=st.data())
@settings(deadline=None, max_examples=60)
def test_measured_equals_predicted_on_mapped_splitters(networks, patterns, chip, has_long_cycle, execution, data):
    network = data.draw(networks())
    inner = [key for key in network.edges if key[0] not in network.inputs]
    split = data.draw(st.frozensets(st.sampled_from(inner), min_size=1)) if inner else frozenset()
    spec = chip(delay=data.draw(st.sampled_from([(1, 15), (1, 3), (2, 4)])))
    asked = Rollout(network, data.draw(patterns(network)), execution)
    mapped = map_with_stages(asked, spec, MappingOptions(pins=Pins(splitters=split)))
    row = report_row(mapped.rollout, mapped.program, random_frames(network, 12))
    assert row.verified, row.verification.message
    assert 1 <= row.core_bound.total <= row.usage.cores
    tight = any(asked.delays[key] < 2 for key in mapped.split)  # where nothing is carried there is no splitter
    assert row.schedule == "ticks" if tight and spec.delay[0] == 1 else row.schedule in ("steps", "ticks")
    for output in row.outputs.values():
        assert output.measured.first_response_ticks == output.predicted.first_response_ticks
        if not has_long_cycle(network):
            assert output.measured == output.predicted


def test_mapping_options_reach_the_mapper():
    network = chain()
    slow = MappingOptions(pins=Pins(splitters=frozenset({("A", "O")})))
    for options, expected in (
        # schedule, ticks per step, first response in steps and ticks: I -> A -> O with A -> O in one tick or two
        (None, ("steps", 1, 2, 2)),
        (MappingOptions(ticks_per_step=3), ("steps", 3, 2, 6)),
        (slow, ("ticks", None, None, 3)),
    ):
        row = latency_report(network, patterns=["streaming"], executions=["pipelined"], options=options).rows[0]
        assert row.verified
        assert row.measured == row.predicted
        found = row.predicted
        assert (row.schedule, row.ticks_per_step, found.first_response_steps, found.first_response_ticks) == expected
