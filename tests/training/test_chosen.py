"""What training for a chip chooses where nothing is said, and what it says where it does not learn."""

import logging
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neuromap as nm
from neuromap.datasets import image_sets
from neuromap.errors import InputError
from neuromap.training import choose_for_chip, train_for_chip
from neuromap.training.options.training_options import HardwareOptions, TrainingOptions, chosen_options, near_chance

TEXT = """
format = 1
outputs = ["O"]
nodes.I.shape = [8, 8, 1]
nodes.C.shape = [8, 8, 3]
nodes.O.shape = [1, 1, 3]
edges."I -> C" = { transform = "conv", kernel = [3, 3] }
edges."C -> O" = { transform = "dense" }
"""

CODED = '[inputs.I]\ncode = "threshold"\nlevels = [0.3]\n'


@pytest.fixture
def network(tmp_path):
    def write(more=""):
        (tmp_path / "net.toml").write_text(TEXT + more)
        return nm.load_network(tmp_path / "net.toml")

    return write


def stripes(n=120):
    """Three classes of images that few weights tell apart: in which third the bright rows are."""
    draw, labels = np.random.default_rng(0), np.arange(n) % 3
    pixels = draw.integers(0, 90, (n, 8, 8))
    for image, label in zip(pixels, labels, strict=True):
        image[3 * label : 3 * label + 2] += 160
    return image_sets(pixels.astype(np.uint8), labels)


@given(st.integers(1, 10**6), st.sampled_from([(8, 8, 1), (28, 28, 1), (1, 1, 9), (32, 32, 3)]), st.booleans())
def test_options_are_valid_and_steps_are_enough(n, shape, graded):
    options, hardware, lines = chosen_options({}, n, shape, 2, graded=graded)
    steps = -(-n // options.batch) * options.epochs
    assert steps >= 2000 or options.epochs == 100
    assert (options.optimiser, options.schedule, options.frames) == ("adam", "cosine", 2)
    assert hardware.shift <= min(shape[:2]) // 8
    assert options.threads == (None if shape == (32, 32, 3) else 1)
    assert any(line.startswith("threads: 1") for line in lines) == (options.threads == 1)
    assert all("\n" not in line for line in lines)


def test_what_is_given_stays_as_it_is():
    given = {"epochs": 3, "optimiser": "sgd", "learning_rate": 0.5, "schedule": "decay", "frames": 7, "shift": 0}
    options, hardware, lines = chosen_options(given, 1000, (28, 28, 1), 2, graded=False)
    assert {name: getattr(options, name) for name in given if name != "shift"} == {
        name: value for name, value in given.items() if name != "shift"
    }
    assert hardware.shift == 0
    assert not [line for line in lines if "sgd" in line or "pixel" in line or "frames" in line]


def test_spikes_get_a_thermometer_and_votes(network):
    images = stripes()["train"]
    choice = choose_for_chip(network(), nm.load_chip("truenorth"), images)
    assert choice.network.nodes["I"].shape == (8, 8, 7)
    assert len(choice.network.tables["inputs"]["I"]["levels"]) == 7
    assert choice.network.nodes["O"].shape == (3, 1, 32)
    assert {edge.transform.groups for edge in choice.network.edges.values() if edge.source == "I"} == {1}
    asked = HardwareOptions(levels=2, votes=1)
    choice = choose_for_chip(network(), nm.load_chip("truenorth"), images, asked)
    assert choice.network.nodes["I"].shape == (8, 8, 2)
    assert choice.network.nodes["O"].shape == (1, 1, 3)


@pytest.mark.parametrize(
    ("chip", "more", "asked", "told"),
    [
        ("truenorth", CODED, {"levels": 5}, r"levels 5: input I \(code threshold\) has 1, .*; drop levels"),
        ("truenorth", "nodes.O.threshold = 2\n", {"votes": 9}, "votes 9: each class of output O has 1, .*; drop votes"),
        (
            "loihi2",
            "",
            {"levels": 5},
            r"levels 5: input I \(code value\) has 0, and network file and chip leave nothing",
        ),
        ("loihi2", "", {"votes": 9}, "votes 9: each class of output O has 1, "),
    ],
)
def test_levels_and_votes_are_refused_where_nothing_is_open(network, chip, more, asked, told):
    images = stripes()["train"]
    with pytest.raises(InputError, match=f"training: {told}"):
        choose_for_chip(network(more), nm.load_chip(chip), images, HardwareOptions(**asked))
    with pytest.raises(InputError, match="is for what is chosen from images; give the options as a mapping, or drop"):
        train_for_chip(
            nm.Rollout(network(more), "streaming"),
            nm.load_chip(chip),
            stripes(),
            TrainingOptions(),
            HardwareOptions(**asked),
        )


def test_levels_and_votes_that_the_file_has_already_are_taken(network):
    asked = HardwareOptions(levels=1, votes=32)
    choice = choose_for_chip(network(CODED), nm.load_chip("truenorth"), stripes()["train"], asked)
    again = choose_for_chip(choice.network, nm.load_chip("truenorth"), stripes()["train"], asked)
    assert again.network.nodes["O"].shape == choice.network.nodes["O"].shape == (3, 1, 32)


def test_two_tones_need_one_level(network):
    images = stripes()["train"]
    tones = replace(images, images=(images.images > 128).astype(np.uint8), white=1)
    assert choose_for_chip(network(), nm.load_chip("truenorth"), tones).network.nodes["I"].shape == (8, 8, 1)


def test_what_the_file_says_stays_as_it_is(network):
    said = network('[inputs.I]\ncode = "threshold"\nlevels = [0.3]\n')
    for chip in ("truenorth", "loihi2"):
        choice = choose_for_chip(said, nm.load_chip(chip), stripes()["train"])
        assert choice.network.nodes["I"].shape == (8, 8, 1)
        assert not choice.network.is_graded


def test_a_chip_of_values_gets_values(network):
    choice = choose_for_chip(network(), nm.load_chip("loihi2"), stripes()["train"])
    assert choice.network.is_graded
    assert choice.network.nodes["O"].graded.low < 0 == choice.network.nodes["C"].graded.low


@pytest.mark.parametrize("chip", ["truenorth", "loihi2"])
def test_defaults_learn(network, chip):
    """At the defaults of TrainingOptions the same network names little more than one of three."""
    pytest.importorskip("torch")
    made = train_for_chip(
        nm.Rollout(network(), "sequential"), nm.load_chip(chip), stripes(), {"epochs": 40, "threads": 1}
    )
    assert made.result.accuracy[-1] > 0.9
    assert made.result.warnings == ()
    assert (made.result.at_bounds is None) == (chip == "loihi2")


def test_a_run_that_does_not_learn_is_told_while_it_runs_and_at_its_end(network, caplog):
    pytest.importorskip("torch")
    still = TrainingOptions(epochs=4, learning_rate=0.0, threads=1, frames=1)
    images = stripes()
    labels = np.random.default_rng(1).permutation(images["test"].labels)
    images["test"] = replace(images["test"], labels=labels)
    images["validation"] = replace(images["validation"], labels=(images["validation"].labels + 1) % 3)
    with caplog.at_level(logging.WARNING, "neuromap"):
        made = train_for_chip(nm.Rollout(network(), "sequential"), nm.load_chip("truenorth"), images, still)
    told = [record.getMessage() for record in caplog.records]
    stalled = near_chance(max(made.result.history[2].accuracy), 3)
    assert any("training stalls" in text for text in told) == stalled
    assert any("near chance" in text and "--optimiser adam" in text for text in made.result.warnings) == near_chance(
        max(made.result.accuracy), 3
    )


@given(st.integers(2, 1000))
def test_near_chance(classes):
    assert near_chance(1 / classes, classes)
    assert not near_chance(1.0, classes)
    assert not near_chance(0.0, 0)
