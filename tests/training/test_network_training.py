"""Training: it learns, a run that was stopped ends with the same weights, and what is wrong is told in one line."""

import json
import re
from dataclasses import fields, replace

import numpy as np
import pytest
from safetensors.numpy import load_file

import neuromap as nm
from neuromap.encoding import input_encodings
from neuromap.errors import InputError, NetworkError, NotSupportedError, StimulusError, TrainingError
from neuromap.files.sealed import metadata_of, sealed_bytes
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.training.chip_training import train_for_chip
from neuromap.training.forms import render_text
from neuromap.training.network_training import task_of, train_network
from neuromap.training.options.training_options import TrainingOptions, memory_told

QUICK = TrainingOptions(epochs=3, batch=32, frames=2, optimiser="adam", learning_rate=0.02, threads=1)


@pytest.fixture(scope="module")
def net(real):
    nodes = {"I": Node("I", (4, 4, 1)), "H": Node("H", (1, 1, 8)), "O": Node("O", (1, 1, 6))}
    edges = {key: Edge(*key) for key in (("I", "H"), ("H", "H"), ("H", "O"), ("I", "O"))}
    network = real(Network("bars", nodes, edges))
    return replace(
        network,
        tables={"inputs": {"I": {"noise": 0.2}}, "training": {"nodes": {"H": {"dropout": 0.2}}}},
    )


@pytest.fixture(scope="module")
def images(bars):
    return {"train": bars(200, 0), "validation": bars(60, 1), "test": replace(bars(50, 2), part="test")}


@pytest.mark.parametrize("pattern", ["streaming", "sequential"])
def test_it_learns_and_says_when_frames_are_known(net, images, pattern):
    rollout = nm.Rollout(net, pattern)
    found = train_network(rollout, images, replace(QUICK, epochs=6))
    assert found.accuracy[-1] > 0.9
    assert found.history[-1].loss < found.history[0].loss
    assert (found.part, found.n_images, len(found.history)) == ("test", 50, 6)
    first, period = rollout.first_response("O"), rollout.frame_period
    assert found.times.windowed == (first, first + period)


@pytest.mark.parametrize("optimiser", ["rmsprop", "adam", "sgd"])
def test_a_run_that_was_stopped_ends_with_the_same_weights(net, images, tmp_path, optimiser, monkeypatch):
    rollout = nm.Rollout(net, "streaming")
    options = replace(QUICK, optimiser=optimiser)
    whole, parts = tmp_path / "whole.safetensors", tmp_path / "parts.safetensors"
    expected = train_network(rollout, images, options, whole)

    class Stopped(BaseException):
        pass

    def stop(_, done, total):
        if done == 2:
            raise Stopped

    with pytest.raises(Stopped):
        train_network(rollout, images, options, parts, stop)
    done = []
    found = train_network(rollout, images, options, parts, lambda _, n, total: done.append(n))
    assert done == [2, 3]
    assert found.accuracy == expected.accuracy
    one, two = load_file(whole), load_file(parts)
    assert one.keys() == two.keys()
    for name in one:
        assert np.array_equal(one[name], two[name]), name


def test_one_set_of_weights_serves_several_patterns_and_goes_on_where_it_was_stopped(net, images, tmp_path):
    rollouts = [nm.Rollout(net, pattern) for pattern in ("streaming", "sequential")]
    options = replace(QUICK, epochs=6, preceding=1)
    whole, parts = tmp_path / "whole.safetensors", tmp_path / "parts.safetensors"
    found = train_network(rollouts, images, options, whole)
    assert [one.pattern for one in found.by_pattern] == ["streaming", "sequential"]
    assert [one.times.windowed[0] for one in found.by_pattern] == [r.first_response("O") for r in rollouts]
    assert all(one.accuracy[-1] > 0.9 for one in found.by_pattern)
    train_network(rollouts, images, replace(options, epochs=3), parts)  # 7 batches: the turns go on, too
    assert train_network(rollouts, images, options, parts).by_pattern == found.by_pattern
    one, two = load_file(whole), load_file(parts)
    assert all(np.array_equal(one[name], two[name]) for name in one)
    text = render_text(found)
    assert "(streaming, sequential) on bars" in text
    assert text.count("streaming  ") == text.count("sequential  ") == 1
    assert found.to_dict()["other_patterns"][0]["pattern"] == "sequential"
    with pytest.raises(InputError, match=r"of another run: pattern '1111, 0100' \(now '0100, 1111'\)"):
        train_network(rollouts[::-1], images, options, parts)


def test_patterns_that_cannot_take_turns_are_told(net, images):
    streaming = nm.Rollout(net, "streaming")
    for given, words in (
        ([], "no rollout is given"),
        ([streaming, nm.Rollout(net, "streaming", "pipelined")], "pattern streaming is given twice"),
        ([streaming, nm.Rollout(replace(net, name="other"), "sequential")], r"are of several networks \(real, other\)"),
    ):
        with pytest.raises(InputError, match=words):
            train_network(given, images, QUICK)
    tracks = replace(net, tables={"inputs": {"I": {"frames": "track"}}})
    tracked = {part: replace(found, tracks=np.arange(len(found.images)) // 10) for part, found in images.items()}
    with pytest.raises(InputError, match="tracks begin in frame 0 where an edge of I streams"):
        train_network([nm.Rollout(tracks, name) for name in ("streaming", "sequential")], tracked, QUICK)
    with pytest.raises(InputError, match="drop preceding"):
        train_network(nm.Rollout(tracks, "streaming"), tracked, replace(QUICK, preceding=1))


@pytest.mark.parametrize("pattern", ["streaming", "sequential"])
def test_frames_before_the_first_response_to_an_image_are_those_of_the_image_before(real, pattern, one_thread):
    """A chain of nodes has no state: what it answers is of the one image or of the other."""
    from neuromap.training.torch.rollout_model import RolloutModel
    from neuromap.training.torch.train import after_another, onset, output_scores

    nodes = {"I": Node("I", (4, 4, 1)), "H": Node("H", (1, 1, 8)), "O": Node("O", (1, 1, 6))}
    chain = real(Network("chain", nodes, {key: Edge(*key) for key in (("I", "H"), ("H", "O"))}))
    rolled = nm.RolloutPattern.named(chain, pattern)
    torch = one_thread
    shown = torch.rand((1, 5, 4, 4, 1), generator=torch.Generator().manual_seed(1)).expand(9, 5, 4, 4, 1)
    model = RolloutModel(chain, 1)
    alone = output_scores(model, rolled, shown, 3)[0]
    scores = output_scores(model, rolled, after_another(shown, 3 + onset(rolled)), 3)
    assert len({tuple(row) for row in alone.tolist()}) == 5
    torch.testing.assert_close(scores[:3], alone.roll(1, 0).expand(3, 5, 3))
    torch.testing.assert_close(scores[3:], alone.expand(len(scores) - 3, 5, 3))


def test_runs_from_before_an_option_was_there_go_on_and_are_known():
    later = {"preceding", "loss_over_time", "weight_time", "precision", "graphs"}
    before = {f.name for f in fields(QUICK)} - later
    assert set(QUICK.told()) == before
    assert not QUICK.differences(QUICK.told())
    assert replace(QUICK, preceding=2).differences(QUICK.told()) == ["preceding 0 (now 2)"]
    assert replace(QUICK, preceding=2).told()["preceding"] == 2


def test_a_mean_reaches_training_and_its_checkpoints_and_draws_nothing(net, images):
    from neuromap.training.torch.train import Batches

    given = replace(net, tables={**net.tables, "inputs": {"I": {"noise": 0.2, "mean": 0.25}}})
    encoding = input_encodings(given)["I"]
    one, two = (Batches(images["train"], replace(encoding, mean=mean), 64, 0) for mean in ((), (0.25,)))
    for plain, shifted in ((one.epoch(1, 3), two.epoch(1, 3)), (one.in_order(3), two.in_order(3))):
        for (a, _), (b, _) in zip(plain, shifted, strict=True):
            assert np.array_equal(a - 0.25, b)
    plain_task, task = (task_of([nm.RolloutPattern.streaming(n)], images) for n in (net, given))
    assert task == plain_task | {"mean": [0.25]}
    found = [train_network(nm.Rollout(n, "streaming"), images, replace(QUICK, epochs=1)) for n in (net, given)]
    assert found[0].history[0].loss != found[1].history[0].loss


def test_real_numbers_are_trained_in_the_units_of_the_network(net, images):
    within = {part: replace(found, seen=(-1.0, 1.0)) for part, found in images.items()}
    told = [replace(net, tables={"inputs": {"I": {"seen": list(seen)}}}) for seen in ((-1.0, 1.0), (-3.0, 3.0))]
    plain, same, wider = (
        train_network(nm.Rollout(n, "streaming"), within, replace(QUICK, epochs=1)).history[0].loss
        for n in (replace(net, tables={}), *told)
    )
    assert plain == same != wider
    with pytest.raises(StimulusError, match="images are 0 to 1, the network was made for -1 to 1"):
        train_network(nm.Rollout(told[0], "streaming"), images, QUICK)
    tasks = [task_of([nm.RolloutPattern.streaming(n)], within) for n in told]
    assert [task["seen"] for task in tasks] == [[-1.0, 1.0], [-3.0, 3.0]]


@pytest.mark.parametrize(("pattern", "onset"), [("streaming", 0), ("sequential", 1)])
def test_frames_of_a_track_are_its_consecutive_pictures_from_the_first_that_counts(net, bars, pattern, onset):
    from neuromap.training.torch.train import Batches

    drawn, tracks = bars(20, 0), np.repeat([0, 1], [12, 8])
    numbered = np.broadcast_to(np.arange(20, dtype=np.uint8)[:, None, None, None], drawn.images.shape)
    shown = replace(drawn, images=numbered, tracks=tracks)
    given = replace(input_encodings(net)["I"], noise=0.0, frames="track")
    batches = Batches(shown, given, 4, 1, flip=True, run=5)
    batches.begin_at(nm.Rollout(net, pattern))
    assert (len(batches), batches.n_shown) == (3, 12)
    starts = []
    for frames, labels in [*batches.epoch(0, 7), *batches.in_order(7)]:
        numbers = np.rint(frames.numpy()[..., 0, 0, 0] * 255).astype(int)
        starts += numbers[0].tolist()
        assert (numbers[onset : onset + 5] == numbers[0] + np.arange(5)[:, None]).all()
        np.testing.assert_array_equal(numbers[onset + 5 :], numbers[[onset + 4]].repeat(2 - onset, 0))
        np.testing.assert_array_equal(labels, drawn.labels[numbers[0]])
    runs = [*range(8), *range(12, 16)]
    assert sorted(starts[:12]) == starts[12:] == runs


def test_a_checkpoint_of_another_run_is_refused_and_kept(net, images, tmp_path):
    path = tmp_path / "c.safetensors"
    train_network(nm.Rollout(net, "streaming"), images, replace(QUICK, epochs=1), path)
    before = path.read_bytes()
    for rollout, options, words in (
        (nm.Rollout(net, "streaming"), replace(QUICK, learning_rate=0.5), "learning_rate 0.02 .now 0.5."),
        (nm.Rollout(net, "sequential"), QUICK, "pattern '1111' .now '0100'."),
    ):
        with pytest.raises(
            InputError, match=f"is of another run: .*{words}; name another file or folder, or remove it"
        ):
            train_network(rollout, images, options, path)
    assert path.read_bytes() == before
    for damaged in (b"", before[:1000], before[: len(before) // 2], b"no file of tensors" * 9):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="is not a checkpoint of a training run"):
            train_network(nm.Rollout(net, "streaming"), images, QUICK, path)


def test_a_checkpoint_of_other_images_is_refused_and_one_that_does_not_tell_its_images(net, images, tmp_path):
    path, rollout, shown = tmp_path / "c.safetensors", nm.Rollout(net, "streaming"), images["train"]
    train_network(rollout, images, replace(QUICK, epochs=1), path)
    for other in (
        {"images": shown.images[::-1]},
        {"labels": shown.labels[::-1]},
        {"white": 254},
        {"seen": (0.0, 0.5)},
        {"classes": ("a", "b", "c")},
    ):
        with pytest.raises(InputError, match=r"is of another run: image_digest .*; name another file or folder"):
            train_network(rollout, images | {"train": replace(shown, **other)}, QUICK, path)
    held = images["validation"]
    with pytest.raises(InputError, match=r"is of another run: validation_digest .*; name another file or folder"):
        train_network(rollout, images | {"validation": replace(held, labels=held.labels[::-1])}, QUICK, path)
    train_network(rollout, images | {"train": replace(shown, notes=("copied",))}, QUICK, path)
    metadata = metadata_of(path.read_bytes())
    about = json.loads(metadata["about"])

    def forget(name):
        del about["task"][name]
        old = {"format": metadata["format"], "about": json.dumps(about)}
        path.write_bytes(sealed_bytes("training checkpoint", load_file(path), old))

    forget("validation_digest")
    train_network(rollout, images, QUICK, path)
    forget("image_digest")
    with pytest.raises(
        InputError, match=r"does not tell which images it saw, an older version .*; remove it and start"
    ):
        train_network(rollout, images, QUICK, path)


def test_a_checkpoint_with_other_insides_is_refused(net, images, tmp_path):
    path = tmp_path / "c.safetensors"
    train_network(nm.Rollout(net, "streaming"), images, replace(QUICK, epochs=2), path)
    with pytest.raises(InputError, match="holds 2 epochs, 1 are asked for; ask for 2 or more"):
        train_network(nm.Rollout(net, "streaming"), images, replace(QUICK, epochs=1), path)
    data = path.read_bytes()
    about = json.loads(json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["about"])
    tensors = load_file(path)
    for change in (
        {"history": about["history"][:1]},
        {"history": [{"epoch": 1}, {"epoch": 2}]},
        {"history": 2, "epoch": "2"},
        {"options": []},
        {"task": None},
        {"epoch": 10**30},
    ):
        text = json.dumps(about | change)
        metadata = {"format": "neuromap training checkpoint 1", "about": text}
        path.write_bytes(sealed_bytes("training checkpoint", tensors, metadata))
        with pytest.raises(InputError, match="is not a checkpoint of a training run"):
            train_network(nm.Rollout(net, "streaming"), images, QUICK, path)
    for key, value in (
        ("weights/I -> H", np.zeros((1, 1), np.float32)),
        ("weights/X.bias", tensors["weights/H.bias"]),
        ("optimiser/I -> H/exp_avg", np.zeros((3, 2), np.float32)),
    ):
        metadata = {"format": "neuromap training checkpoint 1", "about": json.dumps(about)}
        path.write_bytes(sealed_bytes("training checkpoint", tensors | {key: value}, metadata))
        with pytest.raises(InputError, match="holds other tensors than the network takes"):
            train_network(nm.Rollout(net, "streaming"), images, QUICK, path)


def test_what_cannot_be_trained_is_told(net, images, bars):
    rollout = nm.Rollout(net, "streaming")
    with pytest.raises(TrainingError, match=r"the loss is (nan|inf) in epoch 1, batch \d+; take a lower learning rate"):
        train_network(rollout, images, replace(QUICK, optimiser="sgd", learning_rate=1e30))
    spikes = nm.Rollout(replace(net, tables={"inputs": {"I": {"code": "threshold"}}}), "streaming")
    with pytest.raises(NetworkError, match=r'inputs.I.code: "threshold" gives spikes, .*train for a chip'):
        train_network(spikes, images, QUICK)
    wide = {part: replace(found, images=np.repeat(found.images, 2, axis=2)) for part, found in images.items()}
    for given, error, words in (
        ({"train": images["train"]}, InputError, "needed are train, and validation or test"),
        (wide, InputError, "node I: has shape [4, 4, 1], bars images (train) have [4, 8, 1]"),
        ({k: replace(v, classes=tuple("abcd")) for k, v in images.items()}, NetworkError, "4 classes cannot share"),
    ):
        with pytest.raises(error, match=re.escape(words)):
            train_network(rollout, given, QUICK)


def test_cuda_trains_what_the_processor_trains(net, images, one_thread):
    rollout = nm.Rollout(net, "streaming")
    if not one_thread.cuda.is_available():
        with pytest.raises(NotSupportedError, match=r"device cuda: PyTorch .* finds none here; leave --device out"):
            train_network(rollout, images, replace(QUICK, device="cuda"))
        pytest.skip("no CUDA device is here")

    def losses(network, **changed):
        rollout, options = nm.Rollout(network, "streaming"), replace(QUICK, **changed)
        return [epoch.loss for epoch in train_network(rollout, images, options).history]

    # what is drawn differs from device to device: noise and dropout
    drawn, undrawn = net, replace(net, tables={"inputs": {"I": {"noise": 0.0}}})
    assert losses(undrawn) == pytest.approx(losses(undrawn, device="cuda"), rel=1e-3)
    assert losses(drawn) == pytest.approx(losses(drawn, device="cuda"), rel=0.1)
    for more in ({}, {"graphs": True}, {"graphs": True, "precision": "bfloat16"}):
        assert losses(drawn, device="cuda", **more) == losses(drawn, device="cuda", **more)
    assert losses(undrawn, device="cuda", graphs=True) == losses(undrawn, device="cuda")


def test_products_in_bfloat16_learn_and_go_on_to_the_same_weights(net, images, tmp_path):
    """Of all that is computed only what is trained differs: the same weights are measured in 32 bits."""
    rollout, half = nm.Rollout(net, "streaming"), replace(QUICK, precision="bfloat16")
    exact, whole = (train_network(rollout, images, options) for options in (QUICK, half))
    assert whole.accuracy[-1] == pytest.approx(exact.accuracy[-1], abs=0.1)
    assert [epoch.loss for epoch in whole.history] != [epoch.loss for epoch in exact.history]
    path = tmp_path / "c.safetensors"
    train_network(rollout, images, replace(half, epochs=1), path)
    gone_on = train_network(rollout, images, half, path)
    assert [epoch.loss for epoch in gone_on.history] == [epoch.loss for epoch in whole.history]
    assert gone_on.accuracy == whole.accuracy
    with pytest.raises(InputError, match=r"of another run: precision 'bfloat16' \(now 'float32'\)"):
        train_network(rollout, images, QUICK, path)


def test_graphs_are_of_cuda_and_both_are_of_real_values(net, images):
    with pytest.raises(InputError, match="graphs: are captured on CUDA; give --device cuda too"):
        replace(QUICK, graphs=True)
    coded = replace(net, tables={"inputs": {"I": {"code": "threshold"}}})
    for asked in ({"precision": "bfloat16"}, {"graphs": True, "device": "cuda"}):
        told = f"training: {next(iter(asked))}.*: for a chip sums of integers are trained"
        with pytest.raises(InputError, match=told):
            train_for_chip(nm.Rollout(coded, "streaming"), nm.load_chip("truenorth"), images, replace(QUICK, **asked))


def test_want_of_memory_is_told(one_thread):
    with (
        pytest.raises(TrainingError, match="does not suffice for batches of 32 images, 2 frames each"),
        memory_told(QUICK),
    ):
        one_thread.empty(2**50)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epochs": 0}, "epochs 0: must be 1 to 100000"),
        ({"batch": "8"}, "batch"),
        ({"learning_rate": float("nan")}, "learning_rate nan: must be a number of 0 or more"),
        ({"decay": 10**5000}, "decay a huge int: must be a number of 0 or more"),
        ({"learning_rate": 10**400}, "must be a number of 0 or more, and finite"),
        ({"learning_rate": 1e99}, "learning_rate 1e+99: must be 0 to 1e+30"),
        ({"schedule": "cosine", "decay": 5}, "decay 5: is of schedule decay, and schedule is cosine; give --schedule"),
        ({"optimiser": "lion"}, "optimiser 'lion': allowed are rmsprop, adam, sgd"),
    ],
)
def test_options_are_checked(change, words):
    with pytest.raises(InputError, match=re.escape(words)):
        TrainingOptions(**change)
