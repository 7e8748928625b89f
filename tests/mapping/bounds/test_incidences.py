"""Pairs of positions and places in their windows, against all sets of positions."""

from itertools import product

import numpy as np
import pytest

from neuromap.mapping.bounds.window_axons import incidences


@pytest.mark.parametrize("height", [1, 2, 3])
def test_no_positions_and_places_have_more_pairs(height):
    rows, columns = (3, 4) if height > 1 else (2, 6)
    most = incidences(height, rows * columns, 16)
    reached = np.zeros_like(most)
    for bits in product((False, True), repeat=rows * columns):
        chosen = np.reshape(bits, (rows, columns))
        padded = np.zeros((rows + height - 1, columns + 2), int)
        for y, x in product(range(height), range(3)):
            padded[y : y + rows, x : x + columns] += chosen
        best_places = np.cumsum([0, *np.sort(padded.ravel())[::-1]])[:17]
        q = chosen.sum()
        reached[q, : len(best_places)] = np.maximum(reached[q, : len(best_places)], best_places)
    assert (most >= reached).all()
    # and they are reached, where the board is no hindrance
    assert (most[:4] == reached[:4]).all()
