"""What the host delivers, listed: row by row and frame by frame, from tick 0 to the end that is asked for."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.hardware.program.chip_program import host_spikes
from neuromap.hardware.program.ports import BIAS


@given(seed=st.integers(0, 2**32), n_frames=st.integers(1, 5), n_ticks=st.integers(0, 30), early=st.booleans())
@settings(deadline=None, max_examples=60)
def test_every_row_delivers_each_of_its_frames_at_its_tick(random_program, edited, seed, n_frames, n_ticks, early):
    program, rng = random_program(seed), np.random.default_rng(seed)
    if early:  # from tick 0 on, with what comes before it left out
        program = edited(program, "host.arrival", lambda a: a - a.max(initial=0))
    frames = {port.name: rng.random((n_frames, port.size)) < 0.5 for port in program.nodes if port.kind == "input"}
    host, expected = program.host, []
    for row in range(len(host)):
        for frame in range(host.first_frame[row], n_frames):
            tick = int(host.arrival[row]) + frame * program.period
            name = None if host.node[row] == BIAS else program.nodes[host.node[row]].name
            if 0 <= tick < n_ticks and (name is None or frames[name][frame, host.index[row]]):
                expected.append((tick, row))
    found = host_spikes(program, frames, n_ticks)
    assert list(zip(found.tick.tolist(), found.row.tolist(), strict=True)) == sorted(expected)
