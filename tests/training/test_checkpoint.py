"""Checkpoints of training: a run goes on from a whole one, and from no other."""

import json
import re

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from neuromap.errors import InputError, TrainingError
from neuromap.experiments.experiment_run import epochs_done
from neuromap.files.sealed import sealed_bytes
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.training.options.training_options import TrainingOptions

OPTIONS = TrainingOptions(epochs=3, optimiser="adam", threads=1)
TASK = {"network": "little"}


@pytest.fixture(scope="module")
def run(real, one_thread):
    """A model and its optimiser, with a first step done."""
    from neuromap.training.torch.rollout_model import RolloutModel
    from neuromap.training.torch.train import make_optimiser

    nodes = {"I": Node("I", (1, 1, 2)), "O": Node("O", (1, 1, 1))}
    model = RolloutModel(real(Network("little", nodes, {("I", "O"): Edge("I", "O")})))
    optimiser = make_optimiser((parameter for _, parameter in model.tensors()), OPTIONS)
    sum((parameter**2).sum() for _, parameter in model.tensors()).backward()
    optimiser.step()
    return model, optimiser


@pytest.fixture
def saved(run, tmp_path):
    from neuromap.training.torch.train import Progress, save_checkpoint

    path = tmp_path / "c.safetensors"
    save_checkpoint(path, *run, Progress(1, [{"epoch": 1, "loss": 0.5, "seconds": 1.0}]), OPTIONS, TASK)
    return path


def loaded(path, run):
    from neuromap.training.torch.train import load_checkpoint

    return load_checkpoint(path, *run, OPTIONS, TASK).epoch


def test_no_run_goes_on_from_a_checkpoint_with_one_bit_flipped(saved, run, bits_flipped_in_place):
    refuse_every_bit(saved, run, bits_flipped_in_place, 1)


def refuse_every_bit(saved, run, bits_flipped_in_place, epoch):
    for bit in bits_flipped_in_place(saved):
        try:
            loaded(saved, run)
        except InputError:
            continue
        pytest.fail(f"bit {bit}")
    assert loaded(saved, run) == epoch


@pytest.mark.thorough
@pytest.mark.parametrize("epoch", range(1, 4))
@pytest.mark.parametrize("loss", [0.5, 1e-9, 3e8])
def test_nor_from_any_of_nine_others(run, tmp_path, bits_flipped_in_place, epoch, loss):
    from neuromap.training.torch.train import Progress, save_checkpoint

    path = tmp_path / "c.safetensors"
    run[1].step()
    history = [{"epoch": k, "loss": loss / k, "seconds": 1.0 + k, "accuracy": [0.25] * k} for k in range(1, epoch + 1)]
    save_checkpoint(path, *run, Progress(epoch, history), OPTIONS, TASK)
    refuse_every_bit(path, run, bits_flipped_in_place, epoch)


def metadata_of(path):
    data = path.read_bytes()
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]


def test_damage_and_older_versions_are_told(saved, run):
    data, metadata = saved.read_bytes(), metadata_of(saved)
    saved.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(InputError, match=r"is damaged, it does not fit its digest; take a copy, or remove it and"):
        loaded(saved, run)
    saved.write_bytes(data)
    save_file(load_file(saved), saved, {name: metadata[name] for name in ("format", "about")})
    with pytest.raises(InputError, match=r"has no digest, an older version .* has written it; remove it and start"):
        loaded(saved, run)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["weights/I -> O", "optimiser/I -> O/exp_avg"])
def test_no_run_goes_on_from_what_is_no_finite_number(saved, run, name, value):
    metadata, tensors = metadata_of(saved), load_file(saved)
    tensors[name] = np.full_like(tensors[name], value)
    saved.write_bytes(sealed_bytes("training checkpoint", tensors, metadata))
    with pytest.raises(InputError, match=f"{re.escape(name)} holds NaN or infinity, no run can go on from it; remove"):
        loaded(saved, run)


def test_what_is_no_finite_number_replaces_no_checkpoint(saved, run, one_thread):
    from neuromap.training.torch.train import Progress, save_checkpoint

    before, weights = saved.read_bytes(), dict(run[0].tensors())["I -> O"]
    kept = weights.detach().clone()
    with one_thread.no_grad():
        weights[...] = np.nan
    with pytest.raises(
        TrainingError, match="epoch 2: weights/I -> O holds NaN or infinity; take a lower learning rate"
    ):
        save_checkpoint(saved, *run, Progress(2), OPTIONS, TASK)
    with one_thread.no_grad():
        weights[...] = kept
    assert saved.read_bytes() == before


def test_who_watches_a_run_is_told_no_epochs_by_damaged_files(saved, tmp_path):
    assert epochs_done(saved) == 1
    for about in ("[" * 100_000, '{"epoch": -3}', '{"epoch": 1e9}', '{"epoch": "2"}', "{}"):
        path = tmp_path / "other.safetensors"
        path.write_bytes(sealed_bytes("training checkpoint", {}, {"about": about}))
        assert epochs_done(path) == 0
    assert epochs_done(tmp_path / "nothing") == 0
