"""Convolutions of the host's frames: tiles that reach the bound of windows and cover any image (docs/theorems)."""

from math import ceil

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.mapping.bounds.lower_bounds import core_bound
from neuromap.mapping.legalise.legalise import legalise
from neuromap.network import build_network


def area(p, w, h, kernel, stride):
    """Places that p positions in w columns, at most h in one, cover at least."""
    (ky, kx), (sy, sx) = kernel, stride
    return sx * sy * p + sx * (ky - sy) * w + sy * (kx - sx) * h + (kx - sx) * (ky - sy)


def best_tile(most, room, kernel, stride):
    """The most positions up to a number that cover places for which there is room: positions, columns, tallest."""
    for p in range(most, 0, -1):
        least, w, h = min((area(p, ceil(p / h), h, kernel, stride), ceil(p / h), h) for h in range(1, p + 1))
        if least <= room:
            return p, w, h
    return None


def covered(tile, kernel, stride):
    """Places that the windows of positions cover."""
    (ky, kx), (sy, sx) = kernel, stride
    return {(sx * x + i, sy * y + j) for x, y in tile for i in range(kx) for j in range(ky)}


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(
    st.tuples(st.integers(1, 4), st.integers(1, 4)), st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.integers(1, 90), st.integers(1, 40), st.integers(1, 25), st.integers(1, 25),
)  # fmt: skip
def test_full_columns_and_a_part_of_one_reach_the_bound_and_tile_the_plane(kernel, stride, room, most, rows, columns):
    stride = tuple(min(pair) for pair in zip(kernel, stride, strict=True))
    best = best_tile(most, room, kernel, stride)
    assume(best is not None)
    p, w, h = best
    r = p - (w - 1) * h
    assert 1 <= r <= h
    tile = {(x, y) for x in range(w) for y in range(h if x < w - 1 else r)}
    assert len(covered(tile, kernel, stride)) == area(p, w, h, kernel, stride) <= room
    # translations by (w - 1, r) and (-1, h): of p tiles a place each, none twice
    classes = {((x * h + y) % p, ((w - 1) * y - r * x) % p) for x, y in tile}
    assert len(classes) == p
    # every position of an image in one tile; as many tiles as positions over p, but for those along the edges
    cores = {tile_of(x, y, w, h, r, p) for x in range(columns) for y in range(rows)}
    assert rows * columns <= len(cores) * p <= (columns + 2 * w) * (rows + 2 * h)


def tile_of(x, y, w, h, r, p):
    """The translation whose tile holds a position."""
    for dx in range(w):
        for dy in range(h if dx < w - 1 else r):
            first, second = (x - dx) * h + (y - dy), (w - 1) * (y - dy) - r * (x - dx)
            if first % p == 0 and second % p == 0:
                return first // p, second // p
    raise AssertionError(f"position {x}, {y} is in no tile")


@pytest.mark.thorough
@pytest.mark.parametrize(("kernel", "features"), [(3, 4), (5, 2)])
@pytest.mark.parametrize("side", [16, 24, 32, 48, 64])
def test_two_convolutions_in_a_row_take_hardly_more_cores_than_the_bound(kernel, features, side):
    """Evidence for a conjecture, not a proof: where neurons feed the second one, copies are needed."""
    shape, ones = (side, side, features), np.ones((kernel, kernel, features, features), int)
    conv = nm.Conv(shape, shape, (kernel, kernel), padding="same", weights=ones)
    nodes = {"I": (shape, None), "A": (shape, 1), "O": (shape, 1)}
    rollout = nm.Rollout(build_network(nodes, {("I", "A"): conv, ("A", "O"): conv}), "streaming")
    chip = nm.load_chip("truenorth")
    least = core_bound(legalise(rollout, chip), chip).total
    assert least <= nm.map_rollout(rollout, chip, placer="row-major").n_cores <= 1.1 * least
