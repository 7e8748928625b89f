"""Small random graded networks, a small chip on which they take several cores, and what nodes send by the reference."""

from dataclasses import replace

import numpy as np

import neuromap as nm
from neuromap.network import Conv, GradedNeuron, Pool, build_network

SIDE, FEATURES, CLASSES = 6, 3, 4


def graded_network(seed, *, named="graded"):
    """Convolution, greatest of a pool, a skip edge, a loop, biases, negative values: all that graded nodes may have."""
    rng = np.random.default_rng(seed)
    zero_point = int(rng.integers(0, 256))
    half = SIDE // 2

    def unit(low, high, size):
        return GradedNeuron(
            low, high, rng.integers(1, 200, size), rng.integers(6, 14, size), rng.integers(-3000, 3001, size)
        )

    nodes = {
        "I": ((SIDE, SIDE, 1), GradedNeuron(-zero_point, 255 - zero_point, zero_point=zero_point)),
        "H": ((SIDE, SIDE, FEATURES), unit(int(rng.integers(-100, 1)), 255, FEATURES)),
        "P": ((half, half, FEATURES), GradedNeuron(-100, 255, maximum=1)),
        "O": ((1, 1, CLASSES), unit(-5000, 5000, CLASSES)),
    }
    n_hidden = half * half * FEATURES
    edges = {
        ("I", "H"): Conv(
            (SIDE, SIDE, 1), (SIDE, SIDE, FEATURES), (3, 3), weights=rng.integers(-99, 100, (3, 3, 1, FEATURES))
        ),
        ("H", "P"): Pool((SIDE, SIDE, FEATURES), (half, half, FEATURES), (2, 2)),
        ("P", "O"): rng.integers(-99, 100, (CLASSES, n_hidden)),
        ("I", "O"): rng.integers(-9, 10, (CLASSES, SIDE * SIDE)),
        ("O", "O"): np.diag(rng.integers(-1, 2, CLASSES)),
    }
    return build_network(nodes, edges, name=named, outputs=["O"])


def small_graded_chip(neurons=100):
    """Loihi 2 with few neurons a core."""
    return replace(nm.load_chip("loihi2"), neurons=neurons)


def graded_rollouts(seed):
    """A rollout for every valid pattern of such a network, in both executions."""
    network = graded_network(seed)
    return [
        nm.Rollout(network, pattern, execution)
        for pattern in nm.rollout.enumerate_valid(network)
        for execution in ("windowed", "pipelined")
    ]


def values_of(network, frames):
    """Values of all nodes, whatever is shown in the first frame being an input of its own."""
    padded = {name: np.concatenate([np.zeros((1, part.shape[1]), part.dtype), part]) for name, part in frames.items()}
    found = nm.reference(nm.Rollout(network, "sequential"), padded)
    return {name: part[1:] for name, part in found.items()}
