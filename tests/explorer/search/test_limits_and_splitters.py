"""Limits where splitters may change the schedule: times of rows not mapped are bounds; no limit hides the best row."""

from __future__ import annotations

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from neuromap.explorer.answer.limits import Limits
from neuromap.explorer.explore import explore
from neuromap.rollout.behaviour import enumerate_valid


@settings(deadline=None, max_examples=5, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_the_best_row_within_the_limits_is_found(data, networks, chip, brute_force):
    net = data.draw(networks(most_inner=3, most_extra=2, most_edges=5))
    size = data.draw(st.sampled_from([12, 24, 64]))
    small = chip(axons=size, neurons=size, delay=data.draw(st.sampled_from([(2, 7), (1, 4)])))
    pattern = data.draw(st.sampled_from(list(enumerate_valid(net))))
    brute = brute_force(net, small, pattern, n_frames=3, splitters="anywhere")
    fulls = sorted({point.full for point in brute.points.values() if point is not None})
    event(f"full responses: {len(fulls)}")
    if not fulls:
        return
    limit = data.draw(st.sampled_from(fulls)) * small.tick_seconds
    limits = Limits(full_response_seconds=limit)
    found = explore(net, small, pattern, splitters="anywhere", limits=limits, n_frames=3, n_stimuli=1, verify=False)
    assert found.gap.is_exact
    within = {
        point for point in brute.points.values() if point is not None and point.full * small.tick_seconds <= limit
    }
    mapped = [row for row in found.rows if row.status == "mapped" and limits.allows(row)]
    for figure, name in (
        (0, "first_response_ticks"),
        (1, "full_response_ticks"),
        (3, "frame_period_ticks"),
        (4, "cores"),
    ):
        assert min(point[figure] for point in within) == min(getattr(row, name) for row in mapped)
    assert not any(row.times_are_bounds for row in mapped)


def test_times_of_rows_that_were_not_mapped_are_marked_as_bounds(networks, chip, slow_path):
    found = explore(slow_path, chip(delay=(2, 7)), splitters="anywhere", most_mapped=0, n_frames=2)
    assert found.rows
    assert all(row.times_are_bounds for row in found.rows)
    assert "≥ " in found.to_text()
    exact = explore(slow_path, chip(), most_mapped=0, n_frames=2)
    assert not any(row.times_are_bounds for row in exact.rows)
