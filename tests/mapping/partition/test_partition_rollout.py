"""Fan-out by choice: relays shared between delays, splitters where they pay, pins that fix them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import DoesNotFitError, InputError
from neuromap.mapping.legalise.legalised import segments_of_delay, shared_segments
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.options import MappingOptions, Pins

# Relays


def relays(segments_of: dict[int, tuple[int, ...]]) -> set[tuple[int, ...]]:
    """Relays are shared by delays that begin with the same legs."""
    return {segments[:n] for segments in segments_of.values() for n in range(1, len(segments))}


@st.composite
def long_delays(draw: st.DrawFn) -> tuple[set[int], int, int]:
    least = draw(st.integers(1, 4))
    greatest = draw(st.integers(least, 15))
    possible = [d for d in range(greatest + 1, 4 * greatest + 8) if segments_of_delay(d, least, greatest)]
    return draw(st.sets(st.sampled_from(possible), min_size=1, max_size=5)), least, greatest


@given(long_delays())
def test_shared_legs_give_every_delay_and_take_no_more_relays(drawn):
    delays, least, greatest = drawn
    segments_of = shared_segments(delays, least, greatest)
    assert set(segments_of) == delays
    for delay, segments in segments_of.items():
        assert sum(segments) == delay
        assert all(least <= segment <= greatest for segment in segments)
    alone = {delay: segments_of_delay(delay, least, greatest) for delay in delays}
    assert len(relays(segments_of)) <= len(relays(alone))


@given(st.sets(st.integers(5, 14), min_size=1, max_size=4))
def test_shared_legs_are_as_few_as_can_be(delays):
    """By brute force over all chains of relays in legs of 1 to 4 ticks."""
    found = len(relays(shared_segments(delays, 1, 4)))
    for count in range(found):
        for offsets in itertools.combinations(range(1, max(delays)), count):
            reached = all(b - a <= 4 for a, b in itertools.pairwise((0, *offsets)))
            assert not (reached and all(any(1 <= d - o <= 4 for o in offsets) for d in delays))


# Splitters


@pytest.fixture
def skip(chain):
    """A is read by many cores of C, over an edge with slack, and reads neurons of X, which pay for every core of A."""
    rng = np.random.default_rng(5)

    def sparse(rows: int, columns: int, share: float) -> np.ndarray:
        return (rng.random((rows, columns)) < share).astype(int)

    nodes = {"I": (20, None), "X": (40, 1), "A": (24, 6), "B": (4, 2), "C": (160, 3)}
    edges = {
        ("I", "X"): sparse(40, 20, 0.2),
        ("X", "A"): sparse(24, 40, 0.8),
        ("A", "B"): sparse(4, 24, 0.5),
        ("B", "C"): sparse(160, 4, 0.5),
        ("A", "C"): sparse(160, 24, 0.6),
    }
    return chain(nodes, edges, outputs=["C"])


@pytest.mark.parametrize("packing", [False, True])
def test_splitters_on_slack_save_cores_and_cost_no_tick(skip, chip, computes, packing):
    rollout = nm.Rollout(skip, "sequential")
    spec = chip(axons=48, neurons=24)
    copies = map_with_stages(rollout, spec, MappingOptions(splitters="never", packing=packing))
    slack = map_with_stages(rollout, spec, MappingOptions(splitters="slack", packing=packing))
    assert copies.split == frozenset()
    assert copies.program.is_splitter is None
    assert slack.split == {("A", "C")}
    assert slack.program.n_cores < copies.program.n_cores
    assert slack.program.period == copies.program.period
    assert slack.rollout is rollout
    computes(rollout, slack.program)


def test_splitters_anywhere_save_more_at_the_price_of_ticks(skip, chip, computes):
    rollout = nm.Rollout(skip, "streaming")
    spec = chip(axons=48, neurons=24)
    slack = map_with_stages(rollout, spec, MappingOptions(splitters="slack"))
    anywhere = map_with_stages(rollout, spec, MappingOptions(splitters="anywhere"))
    assert slack.split == frozenset()  # streaming edges have no slack
    assert anywhere.rollout.is_tick_level
    assert anywhere.program.n_cores < slack.program.n_cores
    assert anywhere.program.period > slack.program.period
    computes(rollout, anywhere.program)


def test_splitters_are_labelled_as_relays_of_their_source(skip, chip):
    options = MappingOptions(pins=Pins(splitters=frozenset({("A", "B")})))
    program = map_with_stages(nm.Rollout(skip, "sequential"), chip(), options).program
    a = [port.name for port in program.nodes].index("A")
    assert program.is_splitter is not None
    assert program.is_splitter.any()
    assert (program.neuron_node[program.is_splitter] == a).all()
    assert program.is_relay[program.is_splitter].all()


@pytest.mark.parametrize(("edge", "keep"), [(("H", "D"), ()), (("D", "O"), ()), (("H", "D"), ("D",))])
@pytest.mark.parametrize("pattern", ["streaming", "sequential"])
def test_a_splitter_pinned_where_nothing_is_read_does_not_lengthen_the_schedule(edge, keep, pattern):
    """D leads to O by weights of 0 only, so nothing is carried to it, unless it is kept."""
    eye = np.eye(2, dtype=int)
    nodes = {name: ((1, 1, 2), None if name == "I" else 1) for name in "IHDO"}
    edges = {("I", "H"): eye, ("H", "O"): eye, ("H", "D"): eye, ("D", "O"): 0 * eye}
    rollout = nm.Rollout(nm.build_network(nodes, edges), pattern)
    options = MappingOptions(splitters="never", keep=keep, pins=Pins(splitters=frozenset({edge})))
    mapped = map_with_stages(rollout, options=options)
    assert nm.verify(rollout, mapped.program).verified
    assert mapped.split == (options.pins.splitters if keep else frozenset())
    assert (mapped.rollout is rollout) == (not keep)


@pytest.mark.parametrize("edge", [("I", "X"), ("C", "A"), ("Q", "A")])
def test_pinned_splitters_must_stand_on_edges_of_the_chip(skip, edge):
    with pytest.raises(InputError, match="pins"):
        map_with_stages(nm.Rollout(skip, "streaming"), options=MappingOptions(pins=Pins(splitters=frozenset({edge}))))


def test_fixed_ticks_per_step_below_the_least_delay_are_refused(skip, chip):
    rollout, spec = nm.Rollout(skip, "streaming"), chip(delay=(2, 15))
    with pytest.raises(DoesNotFitError) as refusal:
        map_with_stages(rollout, spec, MappingOptions(ticks_per_step=1))
    data = refusal.value.infeasibility
    assert (data.limit, data.demand, data.bound, data.gap) == ("delay", 2, 1, 1)
    remedy = data.remedies[0]
    assert (remedy.lever, remedy.value) == ("ticks_per_step", 2)
    assert map_with_stages(rollout, spec, MappingOptions(ticks_per_step=remedy.value)).program.period == 2


def test_more_ticks_per_step_than_needed(skip, chip, computes):
    rollout = nm.Rollout(skip, "sequential")
    program = map_with_stages(rollout, chip(), MappingOptions(ticks_per_step=3)).program
    assert (program.ticks_per_step, program.period) == (3, 3 * rollout.frame_period)
    computes(rollout, program)


# Pins of nodes


def test_pinned_nodes_lie_in_their_regions_and_share_no_core(skip, chip, computes):
    rollout = nm.Rollout(skip, "streaming")
    pins = Pins(regions={"A": (2, 3, 5, 6)}, cores={"B": 2})
    mapping = map_with_stages(rollout, chip(), MappingOptions(pins=pins))
    program = mapping.program
    names = [port.name for port in program.nodes]
    held = [{names[n] for n in set(row.tolist()) - {-1}} for row in program.neuron_node]
    assert sum("B" in nodes for nodes in held) >= 2
    assert all(nodes == {"A"} for nodes in held if "A" in nodes)
    for nodes, (x, y) in zip(held, program.coordinates.tolist(), strict=True):
        if "A" in nodes:
            assert 2 <= x <= 5
            assert 3 <= y <= 6
    computes(rollout, program)


def test_a_schedule_in_ticks_keeps_what_the_user_fixed(skip, chip, computes):
    """Latencies of the rollout and ticks per step are floors that splitters do not lower."""
    pins = Pins(splitters=frozenset({("X", "A")}))
    rollout = nm.Rollout(skip, "streaming", "pipelined")
    given = map_with_stages(rollout.with_latencies({("B", "C"): 5}), chip(), MappingOptions(pins=pins))
    assert given.rollout.latencies["B", "C"] == 5
    assert given.rollout.latencies["X", "A"] == 2
    computes(rollout, given.program)
    fixed = map_with_stages(rollout, chip(delay=(3, 15)), MappingOptions(pins=pins, ticks_per_step=5))
    assert fixed.rollout.latencies["B", "C"] == 5
    assert fixed.rollout.latencies["X", "A"] == 6
    computes(rollout, fixed.program)


def test_a_rollout_in_ticks_is_not_stretched_again(skip, chip, computes):
    rollout = nm.Rollout(skip, "streaming", "pipelined").with_latencies({("B", "C"): 2})
    mapping = map_with_stages(rollout, chip(delay=(3, 15)))
    assert mapping.program.ticks_per_step == 1
    assert mapping.rollout.latencies["B", "C"] == 3
    computes(rollout, mapping.program)
