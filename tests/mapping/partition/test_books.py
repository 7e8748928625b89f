"""Books of where neurons sit: whatever is moved, they say what a count from scratch says."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.mapping.partition.occupancy import Books, LooseNeurons


def loose_neurons(rng: np.random.Generator, n: int, n_axons: int) -> LooseNeurons:
    """Neurons that need random axons, some of which others of them feed."""
    needs = [np.flatnonzero(rng.random(n_axons) < 0.4) for _ in range(n)]
    axons = np.concatenate(needs)
    nothing = np.zeros(n, np.int64)
    return LooseNeurons(
        tile=nothing,
        population=nothing,
        neuron=np.arange(n),
        fixed=np.zeros(n, bool),
        own_copies=rng.integers(0, 2, n),
        weights=np.zeros((n, 1), np.int64),
        leak=nothing,
        alpha=nothing,
        first_needed=np.cumsum([0, *map(len, needs)]),
        needed=axons,
        columns=np.zeros(len(axons), np.int64),
        axon_type=np.zeros(n_axons, np.int64),
        home=rng.integers(-1, n, n_axons),
    )


@settings(deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 8), n_axons=st.integers(1, 8), n_cores=st.integers(1, 4))
def test_books_agree_with_a_count_from_scratch(seed, n, n_axons, n_cores):
    rng = np.random.default_rng(seed)
    loose = loose_neurons(rng, n, n_axons)
    books = Books(loose, rng.integers(0, n_cores, n), n_cores, axons=5, neurons=6)
    for neuron in rng.integers(0, n, 12).tolist():
        was_legal = bool((books.load <= 6).all() and (books.axons <= 5).all())
        books.take_out(neuron)
        found = books.find(neuron, np.zeros(len(books.load), bool))
        books.put_in(neuron, books.open_core() if found is None else found)
        assert (books.core_of >= 0).all()
        np.testing.assert_array_equal(books.copies, loose.copies(books.core_of))
        np.testing.assert_array_equal(books.axons, loose.axons(books.core_of, len(books.load)))
        np.testing.assert_array_equal(
            books.load, np.bincount(books.core_of, books.copies, minlength=len(books.load)).astype(int)
        )
        if was_legal and found is not None:
            assert (books.load <= 6).all()
            assert (books.axons <= 5).all()
