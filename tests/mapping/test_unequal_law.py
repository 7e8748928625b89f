"""The law at unequal intervals: frames as closely as fixed delays allow, on both engines and both kinds of cores."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import DoesNotFitError
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.options import Pins
from neuromap.network.build import build_network
from neuromap.proof.prove import prove
from neuromap.simulation.stimulus import random_frames
from neuromap.verification.wave import measure

pytestmark = pytest.mark.law

EVERYDAY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def holds(rollout, program, n_frames=11, seed=0):
    """Legal, equal to the reference on both engines, and first responses as predicted (no weight is 0)."""
    frames = random_frames(rollout.network, n_frames, seed=seed)
    for engine in ("fast", "numpy"):
        found = nm.verify(rollout, program, frames, engine=engine)
        assert found.verified, found.message
    assert prove(rollout, program).proven
    scale = 1 if rollout.is_tick_level else program.ticks_per_step
    for output, seen in measure(program).items():
        assert seen.first_response_ticks == rollout.first_response(output) * scale


@settings(EVERYDAY, max_examples=6)
@given(data=st.data())
def test_chip_equals_reference_at_unequal_intervals(interleaved, chip, data):
    network, pattern = data.draw(interleaved(longest=3))
    rollout = nm.Rollout(network, pattern, "pipelined:best")
    least = data.draw(st.integers(1, 3))
    spec = data.draw(
        st.sampled_from([nm.load_chip("truenorth"), chip(delay=(least, data.draw(st.integers(least, 6))))])
    )
    program = nm.map_rollout(rollout, spec)
    assert program.period == rollout.frame_period * program.ticks_per_step
    event(f"unequal intervals: {isinstance(program.period, Fraction)}")
    holds(rollout, program, seed=data.draw(st.integers(0, 99)))


@settings(EVERYDAY, max_examples=4)
@given(data=st.data())
def test_it_holds_with_splitters_and_schedules_in_ticks(interleaved, chip, data):
    network, pattern = data.draw(interleaved(sizes=st.integers(2, 5)))
    inner = [edge for edge in network.edges if edge[0] not in network.inputs]
    options = nm.MappingOptions(
        splitters="anywhere",
        pins=Pins(splitters=frozenset(data.draw(st.sets(st.sampled_from(inner))))),
        packing=data.draw(st.booleans()),
    )
    try:
        mapped = map_with_stages(nm.Rollout(network, pattern, "pipelined:best"), chip(delay=(1, 15)), options)
    except DoesNotFitError as refusal:
        assert refusal.infeasibility.gap > 0  # noqa: PT017  a refusal is a fine outcome, if it is one
        return
    event(f"tick-level: {mapped.rollout.is_tick_level}; unequal: {isinstance(mapped.program.period, Fraction)}")
    holds(mapped.rollout, mapped.program)


@settings(EVERYDAY, max_examples=4)
@given(data=st.data())
def test_it_holds_on_cores_of_synapse_lists(interleaved, list_chip, data):
    network, pattern = data.draw(interleaved())
    rollout = nm.Rollout(network, pattern, "pipelined:best")
    holds(rollout, nm.map_rollout(rollout, list_chip(neurons=12)))


def with_parts(network, pattern, chip, ticks):
    """Map onto small cores; a wide node is busy with a frame for some ticks, no frame may follow sooner."""
    options = nm.MappingOptions(wide="partial-sums", wide_ticks=ticks, placer="hilbert")
    spec = chip(axons=24, neurons=48, cores=(64, 64), delay=(1, 15))
    mapped = map_with_stages(nm.Rollout(network, pattern, "pipelined:best"), spec, options)
    assert floor(mapped.program.period) >= mapped.rollout.least_period
    holds(mapped.rollout, mapped.program, n_frames=6)
    return mapped.program


def test_it_holds_for_sums_in_parts(chip):
    """Only c is wide and busy for 3 ticks; the cycle of two frames takes 7."""
    rng, size = np.random.default_rng(0), {"I": 4, "a": 4, "b": 30, "c": 4, "d": 4, "O": 2}
    edges = [("I", "a"), ("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("d", "O")]
    network = build_network(
        {name: ((1, 1, n), None if name == "I" else 1) for name, n in size.items()},
        {(u, v): rng.choice([-1, 1], (size[v], size[u])) for u, v in edges},
    )
    pattern = nm.RolloutPattern.from_streaming_edges(network, [("a", "b"), ("b", "c")])
    program = with_parts(network, pattern, chip, 1)
    assert program.is_part.any()
    assert program.period == Fraction(7, 2)


@pytest.mark.thorough
@settings(EVERYDAY, max_examples=20)
@given(data=st.data())
def test_it_holds_for_sums_in_parts_of_random_networks(interleaved, chip, data):
    network, pattern = data.draw(interleaved(sizes=st.integers(4, 20)))
    try:
        program = with_parts(network, pattern, chip, data.draw(st.integers(1, 4)))
    except DoesNotFitError as refusal:
        assert refusal.infeasibility.gap > 0  # noqa: PT017  a refusal is a fine outcome, if it is one
        return
    event(f"parts: {program.is_part is not None}; unequal: {isinstance(program.period, Fraction)}")
