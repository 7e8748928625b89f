"""Training of graded networks for a chip: it learns, and the network that is written is right as often."""

from dataclasses import replace

import numpy as np
import pytest

import neuromap as nm
from neuromap.accuracy import accuracy_on_chip
from neuromap.errors import InputError, NetworkError, NotSupportedError
from neuromap.network import GradedNeuron, build_network
from neuromap.network.network import Network
from neuromap.network.transforms import Conv, Dense
from neuromap.training import HardwareOptions, TrainingOptions, choose_for_chip, train_for_chip, train_network

QUICK = TrainingOptions(
    epochs=3, batch=20, frames=2, optimiser="adam", learning_rate=0.02, schedule="cosine", threads=1
)


@pytest.fixture(scope="module")
def chip():
    return nm.load_chip("loihi2")


@pytest.fixture(scope="module")
def images(bars):
    return {"train": bars(300, 0), "validation": bars(60, 1)}


def network(self_edge=False, values=(0, 255), **tables):
    shapes = {"I": (4, 4, 1), "H": (2, 2, 8), "O": (3, 1, 2)}
    neurons = {"I": GradedNeuron(*values), "H": GradedNeuron(0, 127), "O": GradedNeuron(-1023, 1023)}
    edges = {
        ("I", "H"): Conv(shapes["I"], shapes["H"], kernel=(3, 3), stride=(2, 2)),
        ("H", "O"): Dense(shapes["H"], shapes["O"]),
    }
    if self_edge:
        edges["H", "H"] = Conv(shapes["H"], shapes["H"], kernel=(1, 1), groups=4)
    made = build_network({name: (shapes[name], neurons[name]) for name in shapes}, edges, name="bars")
    return Network(made.name, made.nodes, made.edges, made.outputs, tables=tables)


def accuracy_by_reference(made, pattern, shown, n_frames, to_values):
    """Share of images that each of the last frames names rightly: two neurons a class add up, the lower of equals."""
    rollout = nm.Rollout(made, pattern)
    first = 2 if pattern == "streaming" else 1
    right = np.zeros(n_frames)
    for image, label in zip(shown.images, shown.labels, strict=True):
        frames = np.tile(to_values(image.astype(int)).reshape(1, -1), (first + n_frames, 1))
        output = nm.reference(rollout, {"I": frames})["O"][first:]
        right += output.reshape(n_frames, 3, 2).sum(2).argmax(1) == label
    return right / len(shown.images)


@pytest.mark.parametrize(("pattern", "self_edge"), [("streaming", False), ("streaming", True), ("sequential", True)])
def test_reference_and_chip_are_right_as_often_as_the_model(images, chip, pattern, self_edge):
    made = train_for_chip(nm.Rollout(network(self_edge), pattern), chip, images, QUICK)
    assert made.result.accuracy[-1] > 0.8
    assert made.result.history[-1].loss < made.result.history[0].loss
    assert any("one frame is trained" in line for line in made.lines) != self_edge
    found = accuracy_by_reference(made.network, pattern, images["validation"], 2, lambda image: image)
    assert made.result.accuracy == pytest.approx(found, abs=1e-6)
    exported = nm.Rollout(made.network, pattern)
    on_chip = accuracy_on_chip(exported, nm.map_rollout(exported, chip), images["validation"], 2, threads=1)
    assert [frame.accuracy for frame in on_chip.frames] == pytest.approx(found, abs=1e-6)


def test_no_checkpoint_goes_on_for_a_chip_of_the_same_name_with_other_widths(images, chip, tmp_path):
    rollout, path = nm.Rollout(network(), "streaming"), tmp_path / "c.safetensors"
    train_for_chip(rollout, chip, images, replace(QUICK, epochs=1, schedule="decay"), checkpoint=path)
    with pytest.raises(InputError, match=r"is of another run: chip 'loihi2 \w+' \(now 'loihi2 \w+'\); name another"):
        train_for_chip(rollout, replace(chip, weight_bits=3), images, replace(QUICK, schedule="decay"), checkpoint=path)


def test_training_goes_on_from_the_integers_of_a_network(images, chip):
    net = network(True)
    made = train_for_chip([nm.Rollout(net, pattern) for pattern in ("streaming", "sequential")], chip, images, QUICK)
    little = replace(QUICK, epochs=1, learning_rate=0.005)
    more = train_for_chip(nm.Rollout(made.network, "streaming"), chip, images, little)
    moved = [(more.network.edges[key].matrix() != edge.matrix()).nnz for key, edge in made.network.edges.items()]
    assert min(moved) > 0
    assert more.lines[-1] == "training starts from the integers of the network"
    assert more.result.history[0].loss < made.result.history[0].loss
    assert more.result.accuracy[-1] > 0.8


def test_centred_inputs_become_the_values_of_the_node(images, chip):
    """A pixel p is rint((p / 255 - 0.2) x 100), within the range of the node."""
    net = network(values=(-20, 60), inputs={"I": {"mean": 0.2, "step": 0.01}})
    made = train_for_chip(nm.Rollout(net, "sequential"), chip, images, replace(QUICK, epochs=1))
    assert made.lines[0] == "I: (intensity - mean) / step, rounded, -20 to 60, as the network file says"

    def values(image):
        return np.clip(np.rint((image / 255 - 0.2) * 100), -20, 60).astype(int)

    found = accuracy_by_reference(made.network, "sequential", images["validation"], 2, values)
    assert made.result.accuracy == pytest.approx(found, abs=1e-6)


def test_a_run_that_was_stopped_ends_with_the_same_integers(images, chip, tmp_path):
    rollout, hardware = nm.Rollout(network(True), "streaming"), HardwareOptions(shift=1)
    whole = train_for_chip(rollout, chip, images, QUICK, hardware)

    class Stopped(BaseException):
        pass

    def stop(_, done, total):
        if done == 1:
            raise Stopped

    with pytest.raises(Stopped):
        train_for_chip(rollout, chip, images, QUICK, hardware, tmp_path / "c.safetensors", stop)
    resumed = train_for_chip(rollout, chip, images, QUICK, hardware, tmp_path / "c.safetensors")
    for key, edge in whole.network.edges.items():
        np.testing.assert_array_equal(edge.matrix().toarray(), resumed.network.edges[key].matrix().toarray())
    for name, node in whole.network.nodes.items():
        assert repr(node.graded.arrays) == repr(resumed.network.nodes[name].graded.arrays)
    other = nm.Rollout(network(True, values=(-1, 255)), "streaming")
    with pytest.raises(InputError, match="is of another run: graded"):
        train_for_chip(other, chip, images, QUICK, hardware, tmp_path / "c.safetensors")


@pytest.mark.parametrize(
    ("tables", "error", "said"),
    [
        ({"training": {"nodes": {"H": {"dropout": 0.5}}}}, NetworkError, "training.nodes.H: is none of a graded"),
        ({"training": {"edges": {"I -> H": {"weights": "4-bit"}}}}, NetworkError, "training.edges.I -> H: is none of"),
        ({"inputs": {"I": {"code": "layer", "kernel": [3, 3]}}}, NotSupportedError, 'I.code: "layer" gives spikes of'),
        ({"inputs": {"I": {"code": "real"}}}, NotSupportedError, 'inputs.I.code: "real" gives intensities'),
    ],
)
def test_what_graded_networks_do_not_have_is_refused_in_one_line(images, chip, tables, error, said):
    with pytest.raises(error, match=said) as caught:
        train_for_chip(nm.Rollout(network(**tables), "streaming"), chip, images, QUICK)
    assert "\n" not in str(caught.value)


def test_options_and_chips_that_do_not_fit_are_refused_in_one_line(images, chip):
    rollout = nm.Rollout(network(), "streaming")
    with pytest.raises(InputError, match="no_bias: keeps thresholds within the leak"):
        train_for_chip(rollout, chip, images, QUICK, HardwareOptions(no_bias=True))


def test_a_chip_of_spikes_and_real_values_are_refused_for_graded_networks(images):
    with pytest.raises(NotSupportedError, match="its nodes are graded, while neurons of truenorth send spikes"):
        choose_for_chip(network(), nm.load_chip("truenorth"))
    with pytest.raises(InputError, match="network bars is graded; it is trained with the integers of a chip"):
        train_network(nm.Rollout(network(), "streaming"), images, QUICK)
