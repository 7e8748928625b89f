"""The law holds whichever partitioner tiles a network over many cores, and pins are seen in the program."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import DoesNotFitError
from neuromap.mapping.options.options import PARTITIONERS, Pins
from neuromap.mapping.tile.partitioners import CUTS
from neuromap.network import Conv, build_network

INSTALLED = [p for p in PARTITIONERS if p != "metis" or importlib.util.find_spec("pymetis")]


def test_every_partitioner_has_its_cuts():
    assert tuple(CUTS) == PARTITIONERS


def network(seed: int, kind: str) -> nm.Network:
    """A convolution, an irregular node that reads both it and the input, and a readout, on a small cycle."""
    rng = np.random.default_rng(seed)
    image, n_random = (4, 5, 3), 50

    def sparse(rows: int, columns: int) -> np.ndarray:
        values = rng.choice([-1, 1], (rows, columns)) if kind == "ternary" else rng.choice([-2, 1], (1, columns))
        return values * (rng.random((rows, columns)) < 0.15)

    kernel = rng.choice([-1, 1], (3, 3, 3, 3)) if kind == "ternary" else np.ones((3, 3, 3, 3), int)
    nodes = {"I": (image, None), "A": (image, 2), "B": ((1, 1, n_random), 1), "C": ((1, 1, 20), 1)}
    edges = {
        ("I", "A"): Conv(image, image, (3, 3), weights=kernel),
        ("A", "B"): sparse(n_random, 60),
        ("I", "B"): sparse(n_random, 60),
        ("B", "B"): sparse(n_random, n_random),
        ("B", "C"): sparse(20, n_random),
    }
    return build_network(nodes, edges, outputs=["C", "A"])


@pytest.mark.parametrize("partitioner", INSTALLED)
@pytest.mark.parametrize("kind", ["sign-fixed", "ternary"])
@pytest.mark.law
@settings(deadline=None, max_examples=6)
@given(seed=st.integers(0, 999), packing=st.booleans())
def test_chip_equals_reference(agrees, chip, partitioner, kind, seed, packing):
    net = network(seed, kind)
    choices = {"partitioner": partitioner, "packing": packing}
    program = agrees(net, nm.RolloutPattern.streaming(net), "windowed", chip(axons=128, neurons=96), **choices)
    assert program.n_cores > 3
    again = nm.map_rollout(nm.Rollout(net, "streaming"), chip(axons=128, neurons=96), **choices)
    np.testing.assert_array_equal(program.neuron_index, again.neuron_index)
    np.testing.assert_array_equal(program.crossbar, again.crossbar)


@settings(deadline=None, max_examples=15)
@given(
    seed=st.integers(0, 999),
    tile=st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(1, 3)),
    cores=st.integers(1, 12),
    packing=st.just(False),  # packing puts tiles of one node together
)
def test_pins_are_seen_in_the_program(agrees, chip, seed, tile, cores, packing):
    net = network(seed, "sign-fixed")
    pins = Pins(tiles={"A": tile}, cores={"B": cores})
    spec = chip(axons=128, neurons=96)
    try:
        program = agrees(net, nm.RolloutPattern.streaming(net), "windowed", spec, pins=pins, packing=packing)
    except DoesNotFitError as refusal:
        event("refused")
        assert refusal.infeasibility.node == "A"  # noqa: PT017  a refusal is a fine outcome, if it is one
        assert refusal.infeasibility.remedies[0].lever == "pins.tiles"  # noqa: PT017
        return
    event("mapped")
    names = [port.name for port in program.nodes]
    of_a = (program.neuron_node == names.index("A")) & ~program.is_relay
    for core in range(program.n_cores):
        index = program.neuron_index[core][of_a[core]]
        cells = [set(axis // side) for axis, side in zip(np.unravel_index(index, (4, 5, 3)), tile, strict=True)]
        assert all(len(cell) <= 1 for cell in cells)
    of_b = (program.neuron_node == names.index("B")) & ~program.is_relay
    per_core = [len(np.unique(program.neuron_index[core][of_b[core]])) for core in range(program.n_cores)]
    assert sum(count > 0 for count in per_core) >= cores


@pytest.mark.law
@settings(deadline=None, max_examples=6)
@given(seed=st.integers(0, 999), fan_in=st.integers(13, 24), zeros=st.sampled_from([0, 0.2]))
def test_random_signs_too_many_for_two_axons_each_are_exact(agrees, chip, seed, fan_in, zeros):
    rng = np.random.default_rng(seed)
    first, second = (rng.choice([-1, 1], size) * (rng.random(size) >= zeros) for size in ((14, fan_in), (5, 14)))
    net = build_network(
        {"I": ((1, 1, fan_in), None), "A": ((1, 1, 14), 1), "B": ((1, 1, 5), 1)},
        {("I", "A"): first, ("A", "B"): second},
    )
    agrees(net, nm.RolloutPattern.streaming(net), "windowed", chip(axons=24, neurons=64))
