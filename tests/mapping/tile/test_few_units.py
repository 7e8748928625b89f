"""Orders, cuts and exchanges of few units, made with arrays: the very same as those of the plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from neuromap import loops
from neuromap.mapping.core.core_of import core_of
from neuromap.mapping.tile import overlap_order, partitioners
from neuromap.mapping.tile.overlap_order import CORE_PRICE, AxonDemand
from neuromap.mapping.tile.partitioners import cut_single

NO_END = 10**12


def tilings(demand, copies, core, *, by_arrays: bool):
    """An order by overlap; its cheapest cut, a greedy one and the cheapest refined."""
    with pytest.MonkeyPatch.context() as chosen:
        chosen.setattr(overlap_order, "FEW", NO_END if by_arrays else -1)
        chosen.setattr(loops, "PLAIN", -1 if by_arrays else NO_END)
        for module in (overlap_order, loops):
            chosen.setattr(module, "pays", lambda work, **_: False)
        order = overlap_order.overlap_order(demand, copies, core)
        cutter = overlap_order.Cutter(
            demand.indptr, demand.items, demand.price, copies, (demand.limit, core.neurons), CORE_PRICE, 0
        )
        greedy = cutter.cost(order, greedy=True)
        cut = cut_single(order, demand, copies, core)
        if cut is None:
            return [order.tolist(), greedy]
        refined = partitioners.exchange_neurons(cut, demand, copies, core)
        event(f"refined: {refined.cost < cut.cost}")
        ends = cutter.ends(order, greedy=True)
        return [order.tolist(), greedy, ends, *([c.neurons.tolist(), c.ends.tolist(), c.cost] for c in (cut, refined))]


@settings(deadline=None, max_examples=150)
@given(
    n=st.integers(1, 60),
    n_items=st.integers(1, 40),
    density=st.sampled_from([0.05, 0.3, 0.9]),
    neurons=st.integers(3, 40),
    seed=st.integers(0, 2**32 - 1),
)
def test_arrays_do_what_the_loops_do(chip, n, n_items, density, neurons, seed):
    rng = np.random.default_rng(seed)
    rows = [np.flatnonzero(rng.random(n_items) < density) for _ in range(n)]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    items, price = np.concatenate(rows).astype(np.int64), rng.integers(0, 4000, n_items)
    demand = AxonDemand(indptr, items, price, int(rng.integers(1, n_items + 2)), exact=False)
    copies = rng.integers(0, 4, n)
    copies[rng.integers(n)] += 1
    core = core_of(chip(neurons=max(neurons, int(copies.max()))))
    assert tilings(demand, copies, core, by_arrays=True) == tilings(demand, copies, core, by_arrays=False)
