"""Patterns that are learned with the weights: what comes out is a plain pattern, on the chip as in the model."""

from dataclasses import replace

import numpy as np
import pytest

import neuromap as nm
from neuromap.accuracy import decide
from neuromap.accuracy.measure import ImageFrames
from neuromap.cli.arguments.options import read_pattern
from neuromap.errors import InputError
from neuromap.network.network import Network
from neuromap.network.transforms import Conv, Dense
from neuromap.rollout.behaviour import equivalent
from neuromap.simulation.run.simulate_batch import simulate_batch
from neuromap.training import LearnedPattern, TrainingOptions, train_for_chip, train_network
from neuromap.training.options.loss_over_time import LossOverTime

CHIP = nm.load_chip("truenorth")
QUICK = TrainingOptions(
    epochs=4, batch=20, frames=2, optimiser="adam", learning_rate=0.05, schedule="cosine", threads=1
)


def network(table, recurrent=True):
    """A skip edge beside a longer way, and a cycle of two nodes with an order of their own."""
    shapes = {"I": (4, 4, 1), "A": (2, 2, 8), "B": (2, 2, 8), "O": (3, 1, 4)}
    edges = {
        ("I", "A"): Conv(shapes["I"], shapes["A"], kernel=(3, 3), stride=(2, 2)),
        ("A", "B"): Conv(shapes["A"], shapes["B"], kernel=(1, 1)),
        ("B", "O"): Dense(shapes["B"], shapes["O"]),
        ("A", "O"): Dense(shapes["A"], shapes["O"]),
    }
    if recurrent:
        edges["B", "A"] = Conv(shapes["B"], shapes["A"], kernel=(1, 1))
    made = nm.build_network({name: (shape, None) for name, shape in shapes.items()}, edges, name="bars")
    return Network(made.name, made.nodes, made.edges, made.outputs, tables={"inputs": {"I": table}})


@pytest.fixture(scope="module")
def images(bars):
    return {"train": bars(160, 0), "validation": bars(40, 1)}


@pytest.fixture(scope="module")
def real():
    return network({"noise": 0.1})


def test_what_was_learned_is_on_the_chip_what_it_is_in_the_model_image_by_image(images, tmp_path):
    net = network({"code": "threshold"})
    asked = replace(QUICK, loss_over_time="deadline=4ms", weight_time=0.05)
    made = train_for_chip(LearnedPattern(net, "pipelined"), CHIP, images, asked)
    learned = made.result.learned
    assert any("the pattern is learned in 2 epochs" in line for line in made.lines)
    made.network.save(tmp_path / "made.toml")
    read = nm.load_network(tmp_path / "made.toml")
    pattern = nm.RolloutPattern.named(read, "learned")
    assert pattern.is_valid
    assert learned.streaming == tuple(f"{u} -> {v}" for u, v in pattern.streaming_edges)
    assert read_pattern(read, learned.pattern) == pattern

    rollout = nm.Rollout(read, pattern, "pipelined")
    shown = ImageFrames.of(rollout, images["validation"], len(made.result.accuracy), 0)
    spikes = simulate_batch(nm.map_rollout(rollout, CHIP), shown.portions(), threads=1).frames("O")[:, shown.first :]
    from neuromap.training.torch.rollout_model import NetworkModel
    from neuromap.training.torch.train import output_scores

    (portion,) = shown.portions()
    torch = pytest.importorskip("torch")
    frames = torch.from_numpy(portion["I"].astype(np.float32)).unflatten(2, read.nodes["I"].shape).swapaxes(0, 1)
    scores = output_scores(NetworkModel(read), pattern, frames, 3)
    of_model = scores.argmax(-1).T.numpy()
    of_chip = decide(spikes, 3)
    assert np.array_equal(of_chip, of_model)
    right = (of_chip == images["validation"].labels[:, None]).mean(0)
    assert right == pytest.approx(made.result.accuracy, abs=1e-6)
    assert right[-1] > 0.6


@pytest.mark.parametrize(
    ("form", "execution"), [("mean", "windowed"), ("area=6", "windowed"), ("by=5:0.8", "pipelined")]
)
def test_a_run_that_was_stopped_goes_on_to_the_same_weights_and_gates(real, images, tmp_path, form, execution):
    asked = replace(QUICK, loss_over_time=form, schedule="decay", learning_rate=0.005)
    learned = LearnedPattern(real, execution)
    whole = train_network(learned, images, asked, tmp_path / "whole")
    file = tmp_path / "stopped"

    class Stopped(Exception):
        pass

    for at in (1, 3):  # among drawn patterns, and after them

        def stop(text, done, of, at=at):
            if done == at:
                raise Stopped

        with pytest.raises(Stopped):
            train_network(learned, images, asked, file, stop)
    again = train_network(learned, images, asked, file)
    assert [(e.loss, e.accuracy, e.gates) for e in again.history] == [
        (e.loss, e.accuracy, e.gates) for e in whole.history
    ]
    assert again.learned == whole.learned
    assert again.accuracy == whole.accuracy
    assert any(e.gates != (0.5,) * len(e.gates) for e in whole.history)
    with pytest.raises(InputError, match="is of another run: learned"):
        train_network(LearnedPattern(real, "pipelined:3"), images, asked, file)


def test_no_learned_pattern_goes_on_for_more_epochs_which_its_gates_depend_on(real, images, tmp_path):
    decay, path = replace(QUICK, schedule="decay", epochs=1), tmp_path / "c.safetensors"
    train_network(LearnedPattern(real), images, decay, path)
    with pytest.raises(InputError, match=r"is of another run: epochs 1 \(now 4\); name another file"):
        train_network(LearnedPattern(real), images, replace(decay, epochs=4), path)


def test_time_that_costs_much_makes_a_pattern_that_answers_first(real, images):
    asked = replace(QUICK, epochs=8, loss_over_time="final", weight_time=5.0)
    quick = train_network(LearnedPattern(real, "pipelined"), images, asked)
    assert quick.times.executed[-1] == 3  # the skip edge of the first frame, and one update step for a second one
    streaming = nm.Rollout(real, "streaming", "pipelined")
    assert streaming.first_response("O") + 1 == 3


def test_what_a_pattern_costs_is_time_and_the_cores_of_its_delays(real):
    """A node that is read at two delays takes a copy of itself on a crossbar core."""
    from neuromap.training.network_training import objective_of

    asked = replace(QUICK, loss_over_time="final", frames=1, weight_time=0.5)
    learned = LearnedPattern(real, "pipelined")
    _, learning = objective_of(learned, [nm.Rollout(real, "streaming", "pipelined")], asked, CHIP, 2.0)
    shares = LossOverTime.read("final").shares
    for values, at_two_delays in (((1, 1, 1, 1, 1), False), ((1, 0, 0, 0, 1), True)):
        rollout = nm.Rollout(real, nm.RolloutPattern(real, values), "pipelined")
        delays = {rollout.delays["A", "B"], rollout.delays["A", "O"]}
        assert (len(delays) == 2) == at_two_delays
        neurons = 32 * (2 if at_two_delays else 1) + 32 * len({rollout.delays["B", "O"], rollout.delays["B", "A"]})
        first = rollout.first_response("O")
        assert learning.cost(rollout, shares(rollout, 1)) == pytest.approx(0.5 * first + 2.0 * neurons / CHIP.neurons)


def test_windowed_a_learned_pattern_has_the_least_frame_period_of_its_class(images):
    net = network({"noise": 0.1}, recurrent=False)
    found = train_network(LearnedPattern(net), images, replace(QUICK, epochs=2))
    pattern = read_pattern(net, found.pattern)
    for other in (p for group in nm.rollout.behaviour_classes(net) for p in group):
        if equivalent(pattern, other) is not None:
            assert pattern.inference_factor <= other.inference_factor
    assert 1 <= found.learned.behaviour_class <= found.learned.classes == 4


def test_pictures_of_tracks_begin_where_those_of_each_drawn_pattern_do(images, bars):
    """Two edges leave the input, so drawn patterns differ in whether one of them streams."""
    shapes = {"I": (4, 4, 1), "A": (1, 1, 8), "O": (1, 1, 3)}
    edges = {("I", "A"): Dense(shapes["I"], shapes["A"]), ("A", "O"): Dense(shapes["A"], shapes["O"])}
    edges["I", "O"] = Dense(shapes["I"], shapes["O"])
    made = nm.build_network({name: (shape, None) for name, shape in shapes.items()}, edges, name="tracks")
    tracks = Network(made.name, made.nodes, made.edges, made.outputs, tables={"inputs": {"I": {"frames": "track"}}})
    tracked = {part: replace(found, tracks=np.arange(len(found.images)) // 10) for part, found in images.items()}
    found = train_network(LearnedPattern(tracks, "pipelined"), tracked, QUICK)
    pattern = read_pattern(tracks, found.pattern)
    alone = train_network(nm.Rollout(tracks, pattern, "pipelined"), tracked, replace(QUICK, epochs=1))
    assert found.n_images == alone.n_images
    assert found.accuracy[-1] > 0.3


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"loss_over_time": "deadline=1"}, "no pattern of bars answers before 2 update steps, the shortest path to O"),
        ({"loss_over_time": "deadline=4ms"}, "only a chip says how long an update step takes"),
        ({"preceding": 2}, "drop preceding"),
    ],
)
def test_what_no_pattern_can_be_learned_for_is_refused(real, images, asked, words):
    with pytest.raises(InputError, match=words):
        train_network(LearnedPattern(real, "pipelined"), images, replace(QUICK, **asked))


def test_a_network_of_one_class_has_nothing_to_learn(images):
    chain = nm.build_network(
        {"I": ((4, 4, 1), None), "O": ((3, 1, 1), None)}, {("I", "O"): Dense((4, 4, 1), (3, 1, 1))}, name="chain"
    )
    with pytest.raises(InputError, match="network chain has one behaviour class"):
        train_network(LearnedPattern(chain), images, QUICK)


def test_weights_of_time_are_of_learned_patterns(real, images):
    with pytest.raises(InputError, match="weight_time 1: is for patterns that are learned"):
        train_network(nm.Rollout(real, "streaming"), images, replace(QUICK, weight_time=1.0))
