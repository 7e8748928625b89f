"""A mapped network whose neurons draw noise."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import neuromap as nm


def sparse(rng, rows, columns):
    return rng.integers(-1, 2, (rows, columns)) * (rng.random((rows, columns)) < 0.3)


@pytest.fixture(scope="session")
def noisy_program(make_chip):
    """A network with a loop on five cores, windowed or pipelined; with noise the thresholds of its neurons vary."""

    @cache
    def make(execution, noise):
        rng = np.random.default_rng(3)
        net = nm.build_network(
            {"I": (10, None), "H": (24, 1), "G": (24, 1), "O": (20, 1)},
            {("I", "H"): sparse(rng, 24, 10), ("H", "H"): np.eye(24, dtype=int), ("H", "G"): sparse(rng, 24, 24),
             ("G", "O"): sparse(rng, 20, 24)},
        )  # fmt: skip
        chip = make_chip(axons=64, neurons=32, stochastic=noise)
        pattern = nm.RolloutPattern.from_streaming_edges(net, [("H", "H")])
        program = nm.map_rollout(nm.Rollout(net, pattern, execution=execution), chip=chip)
        bits = rng.integers(0, 3, program.shape).astype(np.uint8) if noise else None
        return net, replace(program, neurons=replace(program.neurons, noise_bits=bits))

    return make
