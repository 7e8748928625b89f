"""Fingerprints tell apart what results depend on, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import neuromap as nm
from neuromap.jobs.results_file import Fingerprint, fingerprint_of_chip
from neuromap.network import build_network


def network(threshold=1, weight=1, outputs=("A",)):
    nodes = {"I": ((1, 1, 2), None), "A": ((1, 1, 2), threshold), "B": ((1, 1, 1), 1)}
    edges = {("I", "A"): np.array([[1, 0], [0, weight]]), ("A", "B"): np.ones((1, 2), int)}
    return build_network(nodes, edges, outputs=list(outputs))


def of_network(net, frames=None):
    found = Fingerprint("test")
    found.add_network(net)
    found.add_frames({"I": np.eye(2, dtype=bool)} if frames is None else frames)
    return found.text()


def test_the_same_is_the_same():
    assert of_network(network()) == of_network(network())
    assert fingerprint_of_chip(nm.load_chip("truenorth")) == fingerprint_of_chip(nm.load_chip("truenorth"))


@pytest.mark.parametrize("change", [{"threshold": 2}, {"weight": -1}, {"outputs": ("B",)}])
def test_other_networks_differ(change):
    assert of_network(network(**change)) != of_network(network())


def test_other_frames_differ():
    shapes = [np.zeros((2, 2), bool), np.zeros((3, 2), bool), np.ones((2, 2), bool)]
    assert len({of_network(network(), {"I": rows}) for rows in shapes}) == 3


@pytest.mark.parametrize("change", [{"name": "other"}, {"axons": 255}, {"energy": {}}, {"tick_seconds": 1e-4}])
def test_other_chips_differ(change):
    chip = nm.load_chip("truenorth")
    assert fingerprint_of_chip(replace(chip, **change)) != fingerprint_of_chip(chip)
