"""A streaming rollout over processes gives the very values of one process."""

from pathlib import Path

import pytest

import neuromap as nm
from neuromap.errors import InputError, NeuromapError

NET = Path(__file__).parents[3] / "examples" / "digits" / "real" / "sr.toml"


@pytest.fixture(scope="module")
def model(one_thread):
    from neuromap.training.torch.rollout_model import RolloutModel

    return RolloutModel(nm.load_network(NET), 5).eval()


def test_every_frame_is_that_of_one_process_until_one_is_ended(model, one_thread):
    from neuromap.training.torch.parallel_stream import ParallelStream

    torch, pattern = one_thread, nm.RolloutPattern.streaming(model.network)
    frames = torch.rand((6, 3, 8, 8, 1))
    with torch.no_grad(), ParallelStream(model, 3, processes=2) as stream:
        assert sorted(name for share in stream.shares for name in share) == ["H1", "H2", "O"]
        state = model.blank({"I": frames[0]})
        for i, frame in enumerate(frames):
            state = model.step(pattern, state, {"I": frame}) if i else state
            found = stream.step({"I": frame})
            for name, value in state.items():
                assert torch.equal(found[name], value), (i, name)
        stream._workers[0].kill()
        stream._workers[0].join()
        with pytest.raises(NeuromapError, match="one of 2 processes was ended"):
            stream.step({"I": frames[0]})


def test_a_batch_is_one_input_or_more(model):
    from neuromap.training.torch.parallel_stream import ParallelStream

    with pytest.raises(InputError, match="batch 0: must be 1 or more"):
        ParallelStream(model, 0, 2)
