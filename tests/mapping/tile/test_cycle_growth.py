"""Copies on a cycle: what cannot settle is known from the axons that any of its tiles needs."""

from __future__ import annotations

import numpy as np
import pytest

import neuromap as nm
from neuromap.errors import DoesNotFitError
from neuromap.mapping.core.core_of import core_of
from neuromap.mapping.legalise.legalise import legalise
from neuromap.mapping.legalise.sources import join_sources
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.tile.cycle_growth import CycleGrowth, cycle_growth


def ring(chain, sizes: list[int], values: list[int]) -> nm.Rollout:
    """Nodes in a circle, each joined densely to the next; the first is read out."""
    rng = np.random.default_rng(0)
    names = [f"A{k}" for k in range(len(sizes))]
    edges = {("I", "A0"): np.ones((sizes[0], 1), int)}
    for k, (name, size) in enumerate(zip(names, sizes, strict=True)):
        after = (k + 1) % len(sizes)
        edges[name, names[after]] = rng.choice(values, (sizes[after], size))
    nodes = {"I": (1, None)} | {name: (size, 1) for name, size in zip(names, sizes, strict=True)}
    return nm.Rollout(chain(nodes, edges, outputs=["A0"]), "streaming")


def growth_of(rollout: nm.Rollout, spec: nm.ChipSpec) -> CycleGrowth:
    network = legalise(rollout, spec)
    copies = {i: np.ones(len(p.neurons), np.int64) for i, p in enumerate(network.populations)}
    own = {i: p.own_copies for i, p in enumerate(network.populations)}
    return cycle_growth(network, join_sources(network), copies, own, core_of(spec))


@pytest.mark.parametrize(
    ("sizes", "values", "neurons", "settles"),
    [
        ([24], [1], 25, True),
        ([24], [1], 24, False),  # as many as there is room for, and one to be read out
        ([16, 36], [1], 25, True),
        ([16, 36], [1], 23, False),  # 24 on balance, by the geometric mean
        ([24], [-8, -5, -3, 1, 3, 5, 8], 25, False),  # several axons for a source
    ],
)
def test_a_dense_cycle_settles_iff_a_core_holds_what_it_asks_for(chip, chain, sizes, values, neurons, settles):
    rollout, spec = ring(chain, sizes, values), chip(neurons=neurons)
    growth = growth_of(rollout, spec)
    assert growth.settles == settles
    if not settles:
        with pytest.raises(DoesNotFitError, match="copies cannot settle") as refusal:
            nm.map_rollout(rollout, spec, splitters="never")
        assert refusal.value.infeasibility.limit == "copies"


@pytest.mark.parametrize(("sizes", "neurons"), [([24], 26), ([24], 40), ([24], 64), ([16, 36], 30)])
def test_no_mapping_takes_fewer_cores_than_the_bound(chip, chain, sizes, neurons):
    rollout, spec = ring(chain, sizes, [-1, 1]), chip(neurons=neurons)
    mapped = map_with_stages(rollout, spec, nm.MappingOptions(splitters="never", placer="hilbert"))
    held = sum(int(tile.copies.sum()) for tile in mapped.partition.apart)
    assert 0 < growth_of(rollout, spec).cores * neurons <= held
