"""Sets of features without a channel in common, and whether a matrix falls apart: held against NetworkX."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from neuromap.mapping.bounds import neuron_capacity as crowding


@settings(deadline=None, max_examples=60)
@given(
    shape=st.tuples(st.integers(1, 12), st.integers(1, 12)),
    density=st.sampled_from([0.05, 0.15, 0.4]),
    short=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_components_are_those_of_the_graph(shape, density, short, seed):
    reads = np.random.default_rng(seed).random(shape) < density
    reads[np.arange(max(shape)) % shape[0], np.arange(max(shape)) % shape[1]] |= density > 0.1
    graph = nx.Graph()
    graph.add_nodes_from(("row", k) for k in range(shape[0]))
    graph.add_edges_from((("row", k), ("column", m)) for k, m in zip(*np.nonzero(reads), strict=True))
    parts = [sum(kind == "row" for kind, _ in part) for part in nx.connected_components(graph)]
    with pytest.MonkeyPatch.context() as chosen:
        if not short:  # then SciPy's search is asked
            chosen.setattr(crowding, "STEPS", 0)
        assert crowding._groups(reads) == (len(parts), max(parts))
        filled = reads[reads.any(axis=1)][:, reads.any(axis=0)]
        if filled.size:
            alone = np.count_nonzero(~reads.any(axis=1))
            assert crowding._is_connected(sparse.csr_array(filled.astype(float))) == (len(parts) - alone == 1)
