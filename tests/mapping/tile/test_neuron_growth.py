"""Copies on a cycle, neuron by neuron: bounds are those of the linear program, and proven in whole numbers."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.optimize
from scipy import sparse

from neuromap.mapping.core.core_of import core_of
from neuromap.mapping.legalise.legalised import Link, Sources
from neuromap.mapping.tile.tile_all import least_cores_of_neurons


def bound(chip, weights, own, neurons):
    """Of one population that reads itself with these weights."""
    matrix = sparse.csr_array(np.array(weights, np.int64))
    n = matrix.shape[0]
    links = (Link(0, 0, matrix, 1),)
    sources = Sources(links, matrix, np.zeros(n, np.int64), np.arange(n))
    core = core_of(chip(neurons=neurons))
    return least_cores_of_neurons([sources], {0: np.ones(n, np.int64)}, {0: np.array(own, np.int64)}, core)


def test_the_bound_is_that_of_the_program(chip):
    """A ring of neurons, each read once: C = own + C / N for each, so C = own N / (N - 1)."""
    ring = np.roll(np.eye(6, dtype=int), 1, axis=1)
    assert bound(chip, ring, [3] * 6, 4) == pytest.approx(6 * 3 * 4 / 3 / 4, rel=1e-4)


def test_growth_without_end_is_proven(chip):
    """Everybody reads everybody: a core of 4 neurons asks for 8 axons, hence for more copies than it holds."""
    assert bound(chip, np.ones((8, 8), int), [1] * 8, 4) == np.inf
    some = np.zeros((12, 12), int)
    some[:8, :8] = 1
    some[8:, 0] = 1  # neurons that nobody reads do not grow, and hide no proof
    assert bound(chip, some, [1] * 12, 4) == np.inf


@pytest.mark.parametrize("lie", ["infeasible", "dear"])
def test_a_solver_that_errs_proves_nothing(chip, monkeypatch, lie):
    ring = np.roll(np.eye(6, dtype=int), 1, axis=1)

    def solve(price, **program):
        n = len(price)
        if lie == "infeasible":
            return SimpleNamespace(status=2 if (price > 0).all() else 0, x=np.ones(n))
        return SimpleNamespace(status=0, fun=1e9, x=np.ones(n), ineqlin=SimpleNamespace(marginals=np.full(7, -9.0)))

    monkeypatch.setattr(scipy.optimize, "linprog", solve)
    assert bound(chip, ring, [3] * 6, 4) == 0
