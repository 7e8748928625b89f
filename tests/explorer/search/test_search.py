"""What a search is told to leave out it leaves out, and says so; what it did before it does not do again."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import InputError, PatternError
from neuromap.explorer import explore as exploration
from neuromap.explorer.candidates.asked import core_bound_of_all
from neuromap.explorer.explore import explore
from neuromap.network import build_network

QUICK = {"n_frames": 4, "n_stimuli": 1, "verify": False}
QUIET = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}


@pytest.fixture(scope="module")
def sr():
    return nm.load_network("examples/digits/sr.toml")


@pytest.fixture(scope="module")
def whole(sr):
    return explore(sr, **QUICK)


def small_network(seed=0):
    rng = np.random.default_rng(seed)
    sizes = {"I": 4, "A": 5, "B": 6, "O": 3}
    edges = [("I", "A"), ("A", "B"), ("B", "O"), ("A", "O"), ("B", "A")]
    nodes = {name: ((1, 1, size), None if name == "I" else 1) for name, size in sizes.items()}
    return build_network(nodes, {(u, v): rng.integers(-1, 3, (sizes[v], sizes[u])) for u, v in edges})


def test_every_row_stands_for_its_patterns(whole, sr):
    assert whole.n_valid_patterns == 16
    assert whole.n_classes == 4
    assert whole.n_candidates == 32
    assert whole.n_rows == len(whole.rows)  # few rows are all listed
    pipelined = [row for row in whole.rows if row.candidate.execution == "pipelined" or row.pattern == "streaming"]
    assert sum(row.n_patterns for row in pipelined) == 16  # one row per class
    assert len(pipelined) == 4
    best = whole.front[0]
    assert (best.pattern, best.behaviour_class, best.n_patterns) == ("streaming", 1, 6)


@pytest.mark.parametrize("most", [0, 1, 2, 3])
def test_at_most_so_many_are_mapped_and_the_gap_is_told(most, sr, whole):
    found = explore(sr, most_mapped=most, **QUICK)
    assert found.n_mapped == most
    assert sum(row.status == "mapped" for row in found.rows) == most
    assert not found.gap.is_exact
    assert found.gap.open_rows == sum(row.status == "not mapped" for row in found.rows) > 0
    assert "not exact" in found.gap.statement
    assert f"{found.gap.open_rows} rows" in found.gap.statement
    if most == 0:
        assert found.gap.cores_factor == math.inf
        assert found.gap.least_cores is None
    else:  # streaming is as good as any in every time
        assert found.rows[0].pattern == "streaming"
        assert found.gap.cores_factor == found.rows[0].cores / found.gap.core_bound
    # a row that is not open cannot be on the front of all
    front = {(row.candidate.values, row.candidate.execution) for row in whole.front}
    assert not front & {
        (row.candidate.values, row.candidate.execution) for row in found.rows if row.status == "excluded"
    }


def test_no_time_at_all(sr):
    found = explore(sr, seconds=0, **QUICK)
    assert found.n_mapped == 0
    assert found.front == ()


@settings(max_examples=12, **QUIET)
@given(data=st.data())
def test_the_gap_holds(data, networks, chip):
    """Every open row is matched in time by a mapped one within the factor: held against the search to the end."""
    net = data.draw(networks(most_edges=5))
    size = data.draw(st.sampled_from([16, 32]))
    small = chip(axons=size, neurons=size)
    some = explore(net, small, most_mapped=data.draw(st.integers(1, 4)), **QUICK)
    everything = explore(net, small, limits=None, **QUICK)
    known = {row.candidate: row for row in everything.rows if row.status == "mapped"}
    mapped = [row for row in some.rows if row.status == "mapped"]
    n_open = 0
    for row in some.rows:
        if row.status != "not mapped":
            continue
        n_open += 1
        if row.candidate in known and math.isfinite(some.gap.cores_factor):
            better = [
                m.cores for m in mapped
                if (not m.needs_retraining or row.needs_retraining)
                and m.first_response_ticks <= row.first_response_ticks
                and m.full_response_ticks <= row.full_response_ticks
                and m.worst_case_reaction_ticks <= row.worst_case_reaction_ticks
                and m.frame_period_ticks <= row.frame_period_ticks
            ]  # fmt: skip
            assert min(better) <= some.gap.cores_factor * known[row.candidate].cores * (1 + 1e-12)
    assert n_open == some.gap.open_rows
    assert some.gap.is_exact == (n_open == 0)


def test_limits_keep_rows_from_being_mapped(sr, whole):
    def slow_only(row):
        return row.frame_period_ticks >= 2 and (row.cores is None or row.cores >= 3)

    def quick_only(row):
        return row.full_response_ticks <= 3 and (row.core_bound if row.cores is None else row.cores) <= 2

    found = explore(sr, limits=quick_only, **QUICK)
    assert found.gap.is_exact
    assert "within the limits" in found.gap.statement
    assert all(row.full_response_ticks <= 3 for row in found.rows)
    assert {r.candidate for r in found.front if quick_only(r)} == {r.candidate for r in whole.front if quick_only(r)}
    assert explore(sr, limits=lambda row: False, **QUICK).rows == ()
    assert all(row.frame_period_ticks >= 2 for row in explore(sr, limits=slow_only, **QUICK).rows)


def test_within_the_class(sr, whole):
    found = explore(sr, within="class", **QUICK)
    assert found.gap.is_exact
    assert not any(row.needs_retraining for row in found.rows)
    assert [row.candidate for row in found.front] == [row.candidate for row in whole.class_front]
    assert found.n_candidates == 12


def test_mapping_choices_are_rows_of_their_own(sr):
    found = explore(sr, splitters=("slack", "never"), ticks_per_step=(None, 1, 2), executions="windowed", **QUICK)
    assert found.gap.is_exact
    one = explore(sr, executions="windowed", **QUICK)
    # one tick per step is what the delays need anyway; two make four choices with the splitters
    assert found.n_rows == 4 * one.n_rows
    assert found.n_candidates == 6 * one.n_candidates
    assert {(r.candidate.splitters, r.candidate.ticks_per_step) for r in found.rows} == {
        ("slack", None), ("never", None), ("slack", 2), ("never", 2),
    }  # fmt: skip
    assert all(row.candidate.ticks_per_step is None for row in found.front)


def test_chips_are_compared(chip):
    net = small_network()
    fast = chip(name="fast", tick_seconds=1e-4, axons=24, neurons=24)
    slow = chip(name="slow")
    found = explore(net, (fast, slow), **QUICK)
    assert found.gap.is_exact
    assert found.n_rows == 2 * explore(net, fast, **QUICK).n_rows
    assert {row.candidate.chip for row in found.front} == {"fast", "slow"}  # quick and many, slow and few cores
    with pytest.raises(InputError, match="slow"):
        explore(net, (slow, chip(name="slow", axons=99)), **QUICK)


@settings(max_examples=8, **QUIET)
@given(data=st.data())
def test_splitters_anywhere(data, networks, chip, brute_force, point_of):
    """They may change the schedule; the front is exact all the same."""
    net = data.draw(networks(most_inner=3, most_edges=5))
    size = data.draw(st.sampled_from([12, 16, 24]))
    ticks = data.draw(st.sampled_from([None, 2]))
    small = chip(axons=size, neurons=size, delay=data.draw(st.sampled_from([(1, 15), (2, 7)])))
    pattern = nm.RolloutPattern.streaming(net)
    tolerance = data.draw(st.sampled_from([0.0, 0.1]))
    brute = brute_force(
        net, small, pattern, n_frames=4, tolerance=tolerance, splitters="anywhere", ticks_per_step=ticks
    )
    found = explore(net, small, splitters="anywhere", ticks_per_step=ticks, energy_tolerance=tolerance, **QUICK)
    assert found.gap.is_exact or (found.gap.nothing_fits and not brute.front)
    assert {point_of(row) for row in found.front} == brute.front
    assert {point_of(row) for row in found.class_front} == brute.class_front
    bound = core_bound_of_all(net, small).total
    assert all(point is None or bound <= point.cores for point in brute.points.values())


def test_more_patterns_than_can_be_searched(monkeypatch):
    net = small_network()
    limit = exploration.pattern_space

    def few(graph, seeds, **kinds):
        return limit(graph, seeds, **kinds, ordered=0, listed=5)

    monkeypatch.setattr(exploration, "pattern_space", few)
    found = explore(net, **QUICK)
    assert found.n_candidates == 10
    assert not found.gap.is_exact
    assert "5 patterns of" in found.gap.statement
    assert found.gap.open_rows == 0


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"executions": "deep"}, "deep"), ({"executions": ()}, "none given"), ({"splitters": "some"}, "some"),
        ({"ticks_per_step": 0}, "ticks_per_step"), ({"within": "none"}, "none"), ({"seconds": -1}, "seconds"),
        ({"seconds": math.nan}, "seconds"), ({"most_mapped": -1}, "most_mapped"), ({"processes": 0}, "processes"),
        ({"chips": ()}, "chips"), ({"store": "/nowhere/x"}, "nowhere"), ({"store": "."}, "folder"),
        ({"engine": "slow"}, "slow"), ({"n_frames": 0}, "frames"),
    ],
)  # fmt: skip
def test_bad_options(options, match):
    with pytest.raises(InputError, match=match):
        explore(small_network(), **{**QUICK, **options})


def test_bad_patterns():
    net = small_network()
    with pytest.raises(PatternError, match="nobody"):
        explore(net, given="nobody", **QUICK)
    with pytest.raises(PatternError, match="invalid"):
        explore(net, given=nm.RolloutPattern(net, (0,) * 5), **QUICK)
    with pytest.raises(PatternError, match="belongs to network"):
        explore(net, given=nm.RolloutPattern.streaming(nm.load_network("examples/digits/ff.toml")), **QUICK)
