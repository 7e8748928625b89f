"""Copies on a cycle: what cannot settle is known from the axons that any of its tiles needs."""

from __future__ import annotations

import numpy as np
import pytest

import neuromap as nm
from neuromap.errors import DoesNotFitError
from neuromap.mapping.core.core_of import core_of
from neuromap.mapping.legalise.legalise import legalise
from neuromap.mapping.legalise.legalised import join_sources
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.tile.tile_all import ROUNDS, CycleGrowth, cycle_growth

ONES, ODD = [-1, 1], [-8, -5, -3, 1, 3, 5, 8]


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
        ([24], [-8, -5, -3, 1, 3, 5, 8], 43, False),  # 41 for the least neuron, more on the mean of all
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


def test_copies_that_grow_ever_faster_are_refused_before_the_last_round(chip, chain):
    rollout, spec = ring(chain, [24], ODD), chip(neurons=45, cores=(16, 16))
    with pytest.raises(DoesNotFitError, match="did not settle in") as refusal:
        nm.map_rollout(rollout, spec, splitters="never", packing=False)
    assert int(str(refusal.value).split("settle in ")[1].split()[0]) < ROUNDS


def test_a_cycle_that_settles_only_neuron_by_neuron_is_mapped(chip, chain):
    """Its tiles shrink and its copies grow, faster from round to round, until every neuron is alone in a core."""
    rollout, spec = ring(chain, [24], ODD), chip(neurons=50, cores=(16, 16))
    mapped = map_with_stages(rollout, spec, nm.MappingOptions(splitters="never", placer="hilbert", packing=False))
    assert nm.check_program(mapped.program) == []
    assert all(len(tile.neurons) == 1 for tile in mapped.partition.tiles)


@pytest.mark.parametrize(
    ("sizes", "values", "neurons"),
    [([24], ONES, 26), ([24], ONES, 40), ([24], ONES, 64), ([16, 36], ONES, 30), ([24], ODD, 52), ([10, 14], ODD, 40)],
)
def test_no_mapping_takes_fewer_cores_than_the_bound(chip, chain, sizes, values, neurons):
    rollout, spec = ring(chain, sizes, values), chip(neurons=neurons)
    mapped = map_with_stages(rollout, spec, nm.MappingOptions(splitters="never", placer="hilbert"))
    held = sum(int(tile.copies.sum()) for tile in mapped.partition.apart)
    assert 0 < growth_of(rollout, spec).cores * neurons <= held
