"""What is chosen for a chip fits its cores, says so, and leaves alone what the network file asks for."""

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import NetworkError, NotSupportedError
from neuromap.network.network import Network
from neuromap.network.transforms import Conv, Dense
from neuromap.training.chip_training import frames_are_alike
from neuromap.training.options.node_settings import WEIGHT_KINDS, choose_for_chip

CHIP = nm.load_chip("truenorth")


def network(inner=64, kernel=3, outputs=32, **tables):
    shapes = {"I": (8, 8, 1), "A": (4, 4, inner), "O": (1, 1, outputs)}
    edges = {
        ("I", "A"): Conv(shapes["I"], shapes["A"], kernel=(kernel, kernel), stride=(2, 2)),
        ("A", "O"): Dense(shapes["A"], shapes["O"]),
    }
    made = nm.build_network({name: (shape, None) for name, shape in shapes.items()}, edges, name="small")
    return Network(made.name, made.nodes, made.edges, made.outputs, tables=tables)


def axons(choice, key):
    transform = choice.network.edges[key].transform
    fan_in = math.prod(transform.weight_shape[:3]) if isinstance(transform, Conv) else transform.weight_shape[-1]
    return fan_in * WEIGHT_KINDS[choice.kinds[key]].axons


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(1, 300), st.integers(1, 16), st.integers(1, 60))
def test_what_is_chosen_fits_a_core_with_as_few_groups_as_can_be(inner, kernel, outputs):
    net = network(inner, kernel, outputs)
    if kernel > 11 or 16 * inner / math.gcd(inner, outputs) > 255:
        with pytest.raises(NotSupportedError, match="axons of a core with the finest groups"):
            choose_for_chip(net, CHIP)
        return
    choice = choose_for_chip(net, CHIP)
    for key, kind in choice.kinds.items():
        assert axons(choice, key) <= 255
        assert (kind == "ternary") == (key[0] == "I" or inner == 1 or 16 * inner <= 127)
    groups = choice.network.edges["A", "O"].transform.groups
    fewer = [n for n in range(1, groups) if math.gcd(inner, outputs) % n == 0]
    assert all(16 * inner // n > 255 for n in fewer)
    [said] = [line for line in choice.lines if line.startswith(f"A -> O: {choice.kinds['A', 'O']} weights")]
    assert f" take {axons(choice, ('A', 'O'))} of 256 axons" in said


def test_what_the_file_asks_for_stays():
    asked = {"edges": {"I -> A": {"weights": "4-bit"}, "A -> O": {"weights": "ternary"}}}
    code = {"I": {"code": "bernoulli"}}
    choice = choose_for_chip(network(training=asked, inputs=code), CHIP)
    assert dict(choice.kinds) == {("I", "A"): "4-bit", ("A", "O"): "ternary"}
    assert choice.network.tables["inputs"]["I"]["code"] == "bernoulli"
    assert choice.network.edges["A", "O"].transform.groups == 16


def test_intensities_become_spikes():
    choice = choose_for_chip(network(inputs={"I": {"noise": 0.5}}), CHIP)
    assert dict(choice.network.tables["inputs"]["I"]) == {"noise": 0.5, "code": "threshold", "levels": (0.5,)}
    assert choice.lines[0] == "I: code threshold, level 0.5: a chip takes spikes, no intensities"
    given = {"noise": 0.5, "mean": [0.2], "frames": "still"}
    shifted = choose_for_chip(network(inputs={"I": given}), CHIP)
    assert shifted.network.tables["inputs"] == choice.network.tables["inputs"]
    assert shifted.lines[0] == f"{choice.lines[0]}; its mean is not subtracted"
    with pytest.raises(NotSupportedError, match=r'inputs.I.frames: "track" is not trained for a chip; drop it'):
        choose_for_chip(network(inputs={"I": {"frames": "track"}}), CHIP)


@pytest.mark.parametrize(
    ("training", "said"),
    [
        ({"nodes": {"A": {"dropout": 0.5}}}, "training.nodes.A.dropout: is none for a chip"),
        ({"edges": {"A -> B": {"weights": "ternary"}}}, r'training.edges."A -> B": unknown key'),
        ({"edges": {"A -> O": {"weights": "8-bit"}}}, "allowed .*4-bit"),
    ],
)
def test_what_no_chip_does_is_refused(training, said):
    with pytest.raises(NetworkError, match=said):
        choose_for_chip(network(training=training), CHIP)


def test_frames_are_alike_without_cycles_and_early_paths():
    def alike(edges, values):
        net = Network.from_edges(edges)
        return frames_are_alike(nm.RolloutPattern.from_values(net, values))

    chain, skip = [("I", "A"), ("A", "O")], [("I", "A"), ("A", "O"), ("I", "O")]
    assert alike(chain, [1, 1])
    assert alike(chain, [0, 1])
    assert alike(skip, [1, 0, 1])
    assert not alike(skip, [1, 1, 1])
    assert not alike([("I", "A"), ("A", "A")], [1, 1])
