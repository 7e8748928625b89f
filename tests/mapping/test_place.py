"""Placement: one contract for every strategy."""

from __future__ import annotations

import numpy as np
import pytest

from neuromap.errors import DoesNotFitError, InputError
from neuromap.mapping.place import PLACERS, hilbert_curve, place


def wires(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    source = rng.integers(0, n, 6 * n)
    return source, (source + rng.integers(0, 3, len(source))) % n


def weighted_hops(where: np.ndarray, links: tuple[np.ndarray, np.ndarray]) -> int:
    """Links crossed by one spike per wire, x first, then y."""
    return int(np.abs(where[links[0]] - where[links[1]]).sum())


@pytest.mark.parametrize("placer", PLACERS)
@pytest.mark.parametrize(
    ("n", "grid"), [(1, (1, 1)), (5, (5, 1)), (6, (2, 3)), (37, (64, 64)), (64, (8, 8)), (30, (4, 9))]
)
def test_every_core_has_its_own_place_on_the_grid(chip, placer, n, grid):
    spec = chip(cores=grid)
    where = place(n, wires(n, 0), spec, placer)
    assert where.shape == (n, 2)
    assert len(np.unique(where, axis=0)) == n
    assert (where >= 0).all()
    assert (where < grid).all()
    np.testing.assert_array_equal(where, place(n, wires(n, 0), spec, placer))  # deterministic


@pytest.mark.parametrize("seed", range(4))
def test_swapping_never_costs_hops(chip, seed):
    n = 40
    start = place(n, wires(n, seed), chip(), "hilbert")
    better = place(n, wires(n, seed), chip(), "swap")
    assert weighted_hops(better, wires(n, seed)) <= weighted_hops(start, wires(n, seed))


def test_swap_reaches_a_local_optimum(chip):
    """No single exchange of two cores saves hops; tried one by one."""
    n, links = 12, wires(12, 9)
    where = place(n, links, chip(), "swap")
    reached = weighted_hops(where, links)
    for a in range(n):
        for b in range(a):
            other = where.copy()
            other[[a, b]] = other[[b, a]]
            assert weighted_hops(other, links) >= reached


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_the_hilbert_curve_visits_every_point_in_steps_of_one(order):
    curve = hilbert_curve(order)
    assert len(np.unique(curve, axis=0)) == 4**order
    assert (np.abs(np.diff(curve, axis=0)).sum(axis=1) == 1).all()


def test_an_unknown_placer_is_named(chip):
    with pytest.raises(InputError, match=r"placer 'magic'.*row-major, hilbert, swap"):
        place(3, wires(3, 0), chip(), "magic")


def test_a_target_out_of_reach_is_refused(chip):
    links = (np.array([0]), np.array([8]))
    with pytest.raises(DoesNotFitError) as refusal:
        place(9, links, chip(reach=(1, 1)), "row-major")
    assert refusal.value.infeasibility.to_dict() | {"message": "", "remedies": []} == {
        "limit": "reach",
        "node": None,
        "demand": 2,
        "bound": 1,
        "gap": 1,
        "message": "",
        "remedies": [],
    }


def test_swap_gives_way_to_a_layout_within_reach(chip):
    """A chain with long wires at its ends: fewest hops in all is not shortest for each."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        n = int(rng.integers(3, 14))
        source = np.concatenate([np.arange(n - 1), rng.integers(0, n, 3)])
        links = (source, np.minimum(source + 1, n - 1))
        spec = chip(cores=(4, 4), reach=(1, 1))
        try:
            place(n, links, spec, "hilbert")
        except DoesNotFitError:
            continue
        where = place(n, links, spec, "swap")
        assert np.abs(where[links[0]] - where[links[1]]).max() <= 1
