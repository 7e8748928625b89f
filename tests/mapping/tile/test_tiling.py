"""Tiles: every neuron in one core, groups share cores, dead neurons cost nothing."""

from __future__ import annotations

import numpy as np
import pytest

import neuromap as nm
from neuromap.network import Conv, Dense, build_network


def program_of(net: nm.Network, spec: nm.ChipSpec) -> nm.Program:
    return nm.map_rollout(nm.Rollout(net, nm.RolloutPattern.streaming(net)), spec, packing=False)


def test_several_groups_share_a_core(chip):
    """Eight groups of 4 -> 4 features fit one core; a mapper with a group per core would take eight."""
    shape = (2, 2, 32)
    dense = Dense(shape, shape, groups=8, weights=np.ones((8, 16, 16), int))
    net = build_network({"I": (shape, None), "A": (shape, 1)}, {("I", "A"): dense})
    assert program_of(net, chip()).n_cores == 1


def test_convolution_meets_the_tile_bound(chip):
    """16x16x4, 3x3 kernel, read out: 256 neurons a core, and (h+2)(w+2)4 axons: tiles of 6x6 at most."""
    shape = (16, 16, 4)
    conv = Conv(shape, shape, (3, 3), weights=np.ones((3, 3, 4, 4), int))
    net = build_network({"I": (shape, None), "A": (shape, 1)}, {("I", "A"): conv})
    program = program_of(net, chip())
    assert program.n_cores <= 9
    labels = program.neuron_index[program.neuron_node >= 0]
    assert sorted(labels.tolist()) == list(range(1024))


def test_copies_follow_the_readers(chip):
    """A feeds two nodes, each in one core, and is read out: three copies of each of its neurons."""
    eye = np.eye(5, dtype=int)
    nodes = {n: ((1, 1, 5), None if n == "I" else 1) for n in "IABC"}
    net = build_network(nodes, {("I", "A"): eye, ("A", "B"): eye, ("A", "C"): eye}, outputs=["A", "B", "C"])
    program = program_of(net, chip())
    a = [port.name for port in program.nodes].index("A")
    assert np.bincount(program.neuron_index[program.neuron_node == a]).tolist() == [3] * 5


def test_neurons_that_nobody_reads_are_left_out(chip):
    read = np.eye(6, dtype=int)[:2]
    nodes = {"I": ((1, 1, 6), None), "A": ((1, 1, 6), 1), "B": ((1, 1, 2), 1)}
    net = build_network(nodes, {("I", "A"): np.eye(6, dtype=int), ("A", "B"): read})
    program = program_of(net, chip())
    assert int((program.neuron_node >= 0).sum()) == 4


@pytest.mark.parametrize("kind", ["sign-fixed", "ternary"])
def test_the_sizes_that_the_digits_networks_rely_on(chip, kind):
    """Sign-fixed H1 4x4x8 and ternary H1 4x4x4 with H2 32 and a 3x3 self-edge fit few TrueNorth cores."""
    features = 8 if kind == "sign-fixed" else 4
    rng = np.random.default_rng(1)
    h1, h2, out = (4, 4, features), (1, 1, 32), (1, 1, 10)

    def w(*shape: int) -> np.ndarray:
        return np.ones(shape, int) if kind == "sign-fixed" else rng.integers(-1, 2, shape)

    n = 16 * features
    net = build_network(
        {"I": ((8, 8, 1), None), "H1": (h1, 2), "H2": (h2, 2), "O": (out, 2)},
        {
            ("I", "H1"): Conv((8, 8, 1), h1, (3, 3), stride=(2, 2), weights=rng.integers(-1, 2, (3, 3, 1, features))),
            ("H1", "H2"): Dense(h1, h2, weights=w(32, n)),
            ("H2", "O"): Dense(h2, out, weights=w(10, 32)),
            ("H1", "O"): Dense(h1, out, weights=w(10, n)),
            ("H1", "H1"): Conv(h1, h1, (3, 3), weights=w(3, 3, features, features)),
        },
    )
    assert program_of(net, nm.load_chip("truenorth")).n_cores <= 6


@pytest.mark.parametrize("spread", [slice(0, 0), slice(1100, None)])
def test_neurons_without_sources_fill_cores_too(chip, spread):
    weights = np.zeros((1200, 3), int)
    weights[spread] = 1
    net = build_network({"I": ((1, 1, 3), None), "O": ((1, 1, 1200), 1)}, {("I", "O"): weights})
    assert program_of(net, chip()).n_cores == 5
