"""Mutants: what is proven of a program with a fault computes the network all the same, by simulation."""

from collections import Counter

import pytest

fates = pytest.importorskip("benchmarks.mutants.fates", reason="benchmarks/ is not here: it is no part of the wheel")


def test_no_mutant_is_proven_that_differs_for_some_input():
    outcomes = Counter()
    for k in range(10):  # a program of every kind
        for fate in fates.fates(k, 20, seed=11, n_sequences=64):
            assert fate.outcome != fates.WRONG, fate
            outcomes[fate.outcome] += 1
    # what finds nothing shows nothing: most mutants differ, and many do not
    assert outcomes[fates.SHOWN] > 60
    assert outcomes[fates.PROVEN] > 20
