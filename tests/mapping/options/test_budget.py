"""A budget: one clock for all stages of a request; what is cut keeps the best so far, and says so."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import neuromap as nm
from neuromap.mapping.bounds.lower_bounds import core_bound
from neuromap.mapping.legalise.legalise import legalise
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.budget import STAGES, Budget, OverBudget


def layers_of(size: int) -> nm.Network:
    rng = np.random.default_rng(0)
    names = ["I", "A", "B", "C"]
    nodes = {"I": ((1, 1, 2 * size // 3), None)} | dict.fromkeys(names[1:], ((1, 1, size), 3))
    edges = {(u, v): rng.choice([-1, 0, 1], (size, nodes[u][0][2])) for u, v in itertools.pairwise(names)}
    edges["A", "C"] = np.eye(size, dtype=int)
    return nm.network.build_network(nodes, edges)


@pytest.fixture(scope="module")
def layers() -> nm.Network:
    """Dense layers whose copies, splitters, packing and placement all leave something to search for."""
    return layers_of(150)


def test_stages_end_one_after_the_other_and_say_so():
    told: list[str] = []
    budget = Budget(1e-9, lambda done, total, name: told.append(name))
    assert budget.cut == ()
    assert budget.is_over("packing")
    assert budget.is_over("tiling")
    assert budget.is_over("packing")
    assert budget.cut == ("tiling", "packing")
    assert [line.split(":")[0] for line in told] == ["packing", "tiling"]
    left = [round(Budget(100.0).left_s(stage)) for stage in STAGES]
    assert left == sorted(left)
    assert left[-1] <= 100
    unlimited = Budget()
    assert not any(unlimited.is_over(stage) for stage in STAGES)
    assert unlimited.cut == ()


def test_what_reports_progress_is_ended_with_its_stage():
    told: list[str] = []
    Budget(100.0).watched("splitters", lambda done, total, name: told.append(name))(0, 1, "A")
    assert told == ["A"]
    with pytest.raises(OverBudget):
        Budget(1e-9).watched("splitters", None)(0, 1, "A")


@pytest.mark.parametrize("execution", ["windowed", "pipelined"])
def test_a_mapping_without_any_time_is_legal_and_computes_the_same(layers, computes, execution):
    rollout = nm.Rollout(layers, "streaming", execution)
    mapped = map_with_stages(rollout, "truenorth", nm.MappingOptions(seconds=1e-6))
    assert mapped.cut_short == ("tiling", "splitters", "packing", "placement")
    computes(rollout, mapped.program)


def test_cores_of_lists_are_filled_without_any_time(computes):
    rollout, chip = nm.Rollout(layers_of(24), "streaming"), replace(nm.load_chip("loihi1"), neurons=10)
    mapped = map_with_stages(rollout, chip, nm.MappingOptions(seconds=1e-6))
    assert mapped.cut_short == ("filling", "placement")
    assert mapped.program.n_cores > 1
    computes(rollout, mapped.program)
    ample = map_with_stages(rollout, chip, nm.MappingOptions(seconds=1000.0))
    assert ample.cut_short == ()
    np.testing.assert_array_equal(ample.partition.core, map_with_stages(rollout, chip).partition.core)


def test_a_bound_without_any_time_is_lower_and_says_so(layers):
    budget, chip = Budget(1e-9), replace(nm.load_chip("truenorth"), axons=110)
    network = legalise(nm.Rollout(layers, "streaming"), chip)
    assert 1 <= core_bound(network, chip, budget=budget).total < core_bound(network, chip).total
    assert budget.cut == ("bounds",)


def test_without_or_with_ample_time_the_program_is_the_same(layers):
    rollout = nm.Rollout(layers, "streaming")
    free = map_with_stages(rollout, "truenorth", nm.MappingOptions(placer="hilbert"))
    ample = map_with_stages(rollout, "truenorth", nm.MappingOptions(placer="hilbert", seconds=1e6))
    assert free.cut_short == ample.cut_short == ()
    assert free.program.n_cores == ample.program.n_cores
    for table in ("crossbar", "coordinates", "target_core", "target_axon"):
        np.testing.assert_array_equal(getattr(free.program, table), getattr(ample.program, table))
