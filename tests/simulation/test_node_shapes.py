"""Frames in the shape of their node are the same frames; other shapes are refused with both that are allowed."""

import numpy as np
import pytest

import neuromap as nm
from neuromap.errors import StimulusError
from neuromap.simulation import load_frames, save_frames
from neuromap.simulation.stimulus import check_stimuli

SHAPE = (2, 3, 2)
NET = nm.build_network({"I": (SHAPE, None), "O": (12, 1)}, {("I", "O"): np.eye(12, dtype=int)})
ROLLOUT = nm.Rollout(NET, "streaming")
FLAT = np.random.default_rng(1).integers(0, 2, (3, 4, 12)).astype(bool)
"""Three stimuli of four frames."""
SHAPED = FLAT.reshape(3, 4, *SHAPE)


def test_every_door_takes_frames_of_node_shape(tmp_path):
    program = nm.map_rollout(ROLLOUT)
    flat, shaped = {"I": FLAT[0]}, {"I": SHAPED[0]}
    np.testing.assert_array_equal(nm.reference(ROLLOUT, flat)["O"], nm.reference(ROLLOUT, shaped)["O"])
    np.testing.assert_array_equal(nm.simulate(program, flat).frames("O"), nm.simulate(program, shaped).frames("O"))
    one, other = (nm.simulate_batch(program, {"I": stimuli}) for stimuli in (FLAT, SHAPED))
    np.testing.assert_array_equal(one.frames("O"), other.frames("O"))
    assert nm.verify(ROLLOUT, program, shaped).verified
    assert nm.measure_activity(program, shaped).work.synaptic_events > 0
    save_frames(tmp_path / "flat", flat)
    save_frames(tmp_path / "shaped", shaped)
    flat, shaped = (load_frames(tmp_path / name) for name in ("flat", "shaped"))
    assert flat.keys() == shaped.keys()
    assert all(np.array_equal(flat[name], shaped[name]) for name in flat)


@pytest.mark.parametrize("shape", [(4, 2, 2, 3), (4, 2, 6), (4, 11), (4, 2, 3, 2, 1), (2, 3, 2), (12,)])
def test_another_shape_is_refused_with_both_that_are_allowed(shape):
    with pytest.raises(StimulusError) as caught:
        nm.reference(ROLLOUT, {"I": np.zeros(shape, bool)})
    assert str(caught.value) == f"frames of I: shape {shape}; must be (n_frames, 12) or (n_frames, 2, 3, 2)"
    with pytest.raises(StimulusError, match=r"must be \(S, n_frames, 12\) or \(S, n_frames, 2, 3, 2\)"):
        check_stimuli({"I": np.zeros((1, *shape), bool)}, NET)


def test_a_program_knows_sizes_only():
    with pytest.raises(StimulusError, match=r"or \(n_frames, rows, columns, features\) with 12 neurons"):
        nm.simulate(nm.map_rollout(ROLLOUT), {"I": np.zeros((4, 2, 3, 3), bool)})
