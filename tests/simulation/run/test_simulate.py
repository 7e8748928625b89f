"""Programs with host and output tables, by hand: when frames arrive, when they are read, how long it runs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError, ProgramError, StimulusError
from neuromap.hardware.program.ports import BIAS
from neuromap.simulation.run.simulate import simulate


@pytest.fixture
def wire(make_chip, make_program):
    """One core that passes axon k to neuron k in the same tick; four of them."""

    def make(**tables):
        return make_program(make_chip(), np.eye(4)[None], leak=-1, threshold=0, weights=1, **tables)

    return make


def frames_of(*rows):
    return {"I": np.array(rows, dtype=bool)}


def test_frame_i_arrives_i_periods_after_the_arrival(wire):
    program = wire(
        nodes=[("I", 2, "input", 0), ("O", 2, "output", -2)],
        host=[(0, 0, 0, 0, -2, 1), (0, 1, 0, 1, -2, 1)],
        outputs=[(1, 0, 0, 0), (1, 1, 0, 1)],
        period=5,
    )
    trace = simulate(program, frames_of([1, 1], [1, 0], [0, 0], [0, 1]))
    assert (trace.tick.tolist(), trace.index.tolist()) == ([3, 13], [0, 1])
    assert trace.frames("O").astype(int).tolist() == [[0, 0], [1, 0], [0, 0], [0, 1]]
    assert trace.n_ticks == 14
    assert trace.n_frames == 4


def test_frame_zero_goes_where_first_frame_is_zero(wire):
    # Rows 0 and 1 carry the same neuron: over a streaming edge (from frame 0) and over a sequential one.
    program = wire(
        nodes=[("I", 1, "input", 0), ("O", 2, "output", 0)],
        host=[(0, 0, 0, 0, 2, 0), (0, 0, 0, 1, 0, 1)],
        outputs=[(1, 0, 0, 0), (1, 1, 0, 1)],
        period=2,
    )
    trace = simulate(program, frames_of([1], [0], [1]))
    # streaming: frame 0 arrives at tick 2, in frame 1 of O; sequential: only frame 2, at tick 4
    assert trace.frames("O").astype(int).tolist() == [[0, 0], [1, 0], [0, 1]]


def test_bias_rows_spike_in_every_frame_from_their_first(wire):
    program = wire(
        nodes=[("I", 1, "input", 0), ("O", 1, "output", 1)],
        host=[(BIAS, 0, 0, 0, 1, 1)],
        outputs=[(1, 0, 0, 0)],
        period=3,
    )
    trace = simulate(program, frames_of([0], [0], [0], [0]))
    assert trace.tick.tolist() == [4, 7, 10]
    assert trace.frames("O").reshape(-1).tolist() == [False, True, True, True]


def test_it_runs_until_the_slowest_output_and_early_outputs_have_no_strays(wire):
    # Neuron 0 is read as O at tick 1 + 2 i; P is read 10 ticks later and stays silent.
    program = wire(
        nodes=[("P", 1, "output", 11), ("I", 1, "input", 0), ("O", 1, "output", 1)],
        host=[(1, 0, 0, 0, 1, 1), (BIAS, 0, 0, 1, 0, 1)],
        outputs=[(2, 0, 0, 0), (0, 0, 0, 1)],
        period=2,
    )
    trace = simulate(program, frames_of([0], [1], [1]))
    assert trace.n_ticks == 11 + 2 * 2 + 1
    assert [port.name for port in trace.nodes] == ["P", "O"]
    assert trace.frames("O").reshape(-1).tolist() == [False, True, True]
    assert len(trace.strays("O")) == 0
    # The bias reaches neuron 1 at ticks 2 and 4: not on P's ticks 13 and 15.
    assert trace.strays("P").tolist() == [[2, 0], [4, 0]]


def test_neurons_that_are_not_read_out_leave_no_trace_and_silent_outputs_have_frames(wire):
    program = wire(
        nodes=[("I", 1, "input", 0), ("H", 1, "hidden", 0), ("O", 3, "output", 0)],
        host=[(0, 0, 0, 0, 0, 1)],
        outputs=[],
    )
    trace = simulate(program, frames_of([1], [1]))
    assert len(trace.tick) == 0
    assert not trace.frames("O").any()
    assert trace.frames("O").shape == (2, 3)


@given(seed=st.integers(0, 2**32 - 1), period=st.integers(1, 4), n_frames=st.integers(2, 6))
@settings(deadline=None, max_examples=40)
def test_a_wire_shows_its_input(make_chip, make_program, seed, period, n_frames):
    # Inputs of two nodes at different phases, which may be negative; each output neuron copies one input neuron.
    rng = np.random.default_rng(seed)
    sizes = {"I": int(rng.integers(1, 5)), "J": int(rng.integers(1, 5))}
    phases = {"I": int(rng.integers(-period, 3)), "J": int(rng.integers(-period, 3))}
    total = sum(sizes.values())
    places = rng.permutation(total)
    rows = [(node, k) for node, name in enumerate(sizes) for k in range(sizes[name])]
    program = make_program(
        make_chip(), np.eye(total)[None], leak=-1, threshold=0, weights=1,
        nodes=[
            ("I", sizes["I"], "input", 0), ("J", sizes["J"], "input", 0),
            ("OI", sizes["I"], "output", phases["I"]), ("OJ", sizes["J"], "output", phases["J"]),
        ],
        host=[(node, k, 0, place, phases["IJ"[node]], 1) for (node, k), place in zip(rows, places, strict=True)],
        outputs=[(node + 2, k, 0, place) for (node, k), place in zip(rows, places, strict=True)],
        period=period,
    )  # fmt: skip
    frames = {name: rng.random((n_frames, size)) < 0.5 for name, size in sizes.items()}
    trace = simulate(program, frames)
    events = list(zip(trace.tick.tolist(), trace.node.tolist(), trace.index.tolist(), strict=True))
    assert events == sorted(events)
    for name in sizes:
        assert (trace.frames("O" + name)[1:] == frames[name][1:]).all()
        assert len(trace.strays("O" + name)) == 0


def test_progress_grows_and_ends_with_the_last_tick(wire):
    told = []
    program = wire(nodes=[("I", 1, "input", 0), ("O", 1, "output", 0)])
    simulate(program, frames_of(*[[0]] * 100), progress=lambda done, total: told.append((done, total)))
    assert told == sorted(set(told))
    assert {total for _, total in told} == {100}
    assert told[-1] == (100, 100)


def test_wrong_requests_are_refused(wire):
    program = wire(nodes=[("I", 1, "input", 0), ("O", 1, "output", 0)])
    with pytest.raises(InputError, match="engine slow: is not known; engines are fast, numpy"):
        simulate(program, frames_of([0], [0]), engine="slow")
    with pytest.raises(StimulusError, match="node J is not an input node"):
        simulate(program, {"I": np.zeros((2, 1), bool), "J": np.zeros((2, 1), bool)})


@pytest.mark.parametrize(
    ("tables", "found"),
    [
        ({"nodes": [("I", 1, "input", 0)]}, "no output node"),
        ({"host": [(1, 0, 0, 0, 0, 1)]}, "host row 0: node is 1; needs a node of kind input"),
        ({"host": [(7, 0, 0, 0, 0, 1)]}, "host row 0: node is 7; needs a position in nodes"),
        ({"host": [(0, 1, 0, 0, 0, 1)]}, "host row 0: index is 1; needs a neuron of its node"),
        ({"host": [(0, 0, 0, 0, -2, 1)]}, "arrival of the first delivered frame is -1; needs tick 0 or later"),
        ({"host": [(0, 0, 0, 4, 0, 1)]}, "host row 0: axon is 4; needs an axon 0 to 3"),
        ({"outputs": [(0, 0, 0, 0)]}, "output row 0: node is 0; needs a node of kind output"),
        ({"outputs": [(1, 2, 0, 0)]}, "output row 0: index is 2; needs a neuron of its node"),
        ({"outputs": [(1, 0, 0, 4)]}, "output row 0: neuron is 4; needs a neuron 0 to 3"),
        ({"outputs": [(1, 0, 0, 0), (1, 1, 0, 0)]}, "output row 0: number of rows that read its neuron is 2; needs 1"),
    ],
)
def test_tables_that_point_nowhere_are_refused(wire, tables, found):
    program = wire(**{"nodes": [("I", 1, "input", 0), ("O", 2, "output", 0)], **tables})
    with pytest.raises(ProgramError, match=found):
        simulate(program, frames_of([1], [1]))
