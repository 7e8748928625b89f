"""Weights of another layout are refused when they are given, and the permutation that is named makes them right."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import NetworkError

SIZES = st.integers(1, 4)


@pytest.mark.parametrize(
    ("order", "looks"),
    [((3, 2, 0, 1), "(out, in, height, width)"), ((3, 0, 1, 2), "(out, height, width, in)")],
)
def test_the_layouts_of_other_frameworks_are_named(order, looks):
    right = np.arange(3 * 2 * 5 * 8).reshape(3, 2, 5, 8)
    with pytest.raises(NetworkError) as caught:
        nm.Conv((8, 8, 5), (8, 8, 8), (3, 2), weights=right.transpose(order))
    assert str(caught.value).startswith("weights: found shape [8, ")
    assert f"the transform takes [3, 2, 5, 8]; this looks like {looks}: use weights.transpose(" in str(caught.value)


@given(rows=SIZES, columns=SIZES, source=SIZES, target=SIZES, order=st.permutations(range(4)))
def test_the_permutation_that_is_named_gives_the_right_shape(rows, columns, source, target, order):
    given = np.zeros((rows, columns, source, target), int).transpose(order)
    ends = ((6, 6, source), (6, 6, target), (rows, columns))
    if given.shape == (rows, columns, source, target):
        nm.Conv(*ends, weights=given)
        return
    with pytest.raises(NetworkError) as caught:
        nm.Conv(*ends, weights=given)
    named = re.search(r"use weights\.transpose\(([\d, ]+)\)$", str(caught.value))
    nm.Conv(*ends, weights=given.transpose([int(k) for k in named[1].split(",")]))


def test_a_transposed_matrix_is_named_with_its_edge():
    wrong = np.zeros((3, 2), int)
    with pytest.raises(
        NetworkError, match=r"\[3, 2\]; the transform takes \[2, 3\]; .* use weights\.transpose\(1, 0\)$"
    ):
        nm.Dense((1, 1, 3), (1, 1, 2), weights=wrong)
    with pytest.raises(
        NetworkError, match=r"^edge I -> O: .*looks like \(n_source, n_target\): use weights\.transpose"
    ):
        nm.build_network({"I": (3, None), "O": (2, 1)}, {("I", "O"): wrong})
    with pytest.raises(NetworkError, match=r"the transform takes \[2, 3\]$"):
        nm.Dense((1, 1, 3), (1, 1, 2), weights=np.zeros((2, 4), int))
