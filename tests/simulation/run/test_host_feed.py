"""What the host feeds: every row of the host table, frame by frame, against the definition."""

from dataclasses import replace
from fractions import Fraction
from math import floor

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.hardware.program.ports import BIAS
from neuromap.simulation.run.tick_run import HostFeed


@given(
    seed=st.integers(0, 2**32 - 1),
    period=st.sampled_from([1, 2, 3, 7, 10**9, Fraction(3, 2), Fraction(7, 3), Fraction(11, 10)]),
    n_stimuli=st.integers(1, 3),
    n_frames=st.integers(2, 5),
    first=st.integers(0, 25),
    n_ticks=st.integers(0, 20),
    has_parts=st.booleans(),
)
@settings(deadline=None, max_examples=150)
def test_every_row_delivers_its_frames_and_nothing_else(
    make_chip, make_program, seed, period, n_stimuli, n_frames, first, n_ticks, has_parts
):
    """As one event list for all stimuli, and as a plan for any; clocks go on where sums in parts are to be emptied."""
    rng = np.random.default_rng(seed)
    late, q = min(floor(period), 6), period.denominator
    rows = [
        (int(rng.choice([BIAS, 0, 1])), int(rng.integers(3)), int(rng.integers(2)), int(rng.integers(4)),
         int(rng.integers(-late, 3 * late)), int(rng.integers(2)))
        for _ in range(rng.integers(0, 12))
    ]  # fmt: skip
    program = make_program(
        make_chip(), np.ones((2, 4, 4)), nodes=[("I", 3, "input", 0), ("J", 3, "input", 0)], host=rows, period=period
    )
    part = rng.integers(0, q, len(rows))
    is_part = np.zeros(program.shape, np.bool_) if has_parts else None
    program = replace(program, host=replace(program.host, part=part if q > 1 else None), is_part=is_part)
    frames = {name: rng.random((n_stimuli, n_frames, 3)) < 0.5 for name in "IJ"}
    expected = [
        [
            sorted(
                (core, axon)
                for (node, index, core, axon, arrival, first_frame), late_by in zip(rows, part.tolist(), strict=True)
                for i in range(first_frame, n_frames + 60 * (has_parts and node == BIAS))
                if floor(arrival + Fraction(late_by, q) + i * period) == tick
                and (node == BIAS or frames["IJ"[node]][s, i, index])
            )
            for tick in range(first, first + n_ticks)
        ]
        for s in range(n_stimuli)
    ]
    feed = HostFeed(program)
    events = feed.events(frames, n_frames, first, n_ticks)
    assert events.n_ticks == n_stimuli * n_ticks
    bounds = zip(events.start[:-1].tolist(), events.start[1:].tolist(), strict=True)
    found = [sorted(zip(events.cores[a:b].tolist(), events.axons[a:b].tolist(), strict=True)) for a, b in bounds]
    assert found == [tick for stimulus in expected for tick in stimulus]

    whole = feed.events(frames, n_frames, 0, first + n_ticks)
    plan = feed.plan(program.nodes, n_frames, first + n_ticks)
    values = np.concatenate([frames[name].reshape(n_stimuli, -1) for name in "IJ"], axis=1)
    tick = np.repeat(np.arange(plan.n_ticks), np.diff(plan.start))
    for s in range(n_stimuli):
        fed = (plan.columns < 0) | values[s, plan.columns]
        planned = sorted(zip(tick[fed].tolist(), plan.cores[fed].tolist(), plan.axons[fed].tolist(), strict=True))
        mine = slice(s * plan.n_ticks, (s + 1) * plan.n_ticks + 1)
        a, b = whole.start[mine][[0, -1]]
        at = np.repeat(np.arange(plan.n_ticks), np.diff(whole.start[mine]))
        rows = zip(at.tolist(), whole.cores[a:b].tolist(), whole.axons[a:b].tolist(), strict=True)
        assert planned == sorted(rows)
