"""Rows that are mapped when the exploration's time is over: the best so far, named, and kept in no file."""

from __future__ import annotations

import itertools
import time

import numpy as np

import neuromap as nm
from neuromap.explorer.answer.limits import Candidate
from neuromap.explorer.candidates.pattern_space import pattern_space
from neuromap.explorer.candidates.schedules import graph_of
from neuromap.explorer.explore import Effort, explore, hurried_space
from neuromap.explorer.search.measurements import Measurements, Setting, evaluate
from neuromap.mapping.tile.tilings import Tilings
from neuromap.simulation.choose_frames import RandomFrames, choose_stimuli
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.sweep.run_store import load_runs


def chain(*sizes: int) -> nm.Network:
    """Layers that are joined one to one."""
    names = "IABC"[: len(sizes)]
    nodes = {n: ((1, 1, k), None if n == "I" else 1) for n, k in zip(names, sizes, strict=True)}
    edges = {(u, v): np.eye(nodes[v][0][2], nodes[u][0][2], dtype=int) for u, v in itertools.pairwise(names)}
    return nm.build_network(nodes, edges)


def test_a_row_that_is_mapped_in_a_hurry_is_verified_and_says_so(tmp_path):
    net = chain(4, 4, 4)
    stimuli, told = choose_stimuli(net, None, RandomFrames(6, 0, None), 1)
    chips = {"truenorth": nm.load_chip("truenorth")}
    setting = Setting(net, chips, stimuli, True, EngineChoice(), stimulus=told)
    candidate, known = Candidate((1,) * len(net.edges), "windowed", "truenorth", "slack", None), dict[str, Tilings]()
    hurried = evaluate(setting, candidate, known, until=time.monotonic())
    assert hurried.status == "mapped"
    assert hurried.verified
    assert "placement" in hurried.cut_short
    assert known == {}
    store = tmp_path / "a.sqlite"
    with Measurements(setting, str, store, until=time.monotonic()) as measurements:
        assert measurements.get("x", candidate).cut_short
    assert load_runs(store).rows == ()
    with Measurements(setting, str, store) as measurements:
        assert measurements.get("x", candidate).cut_short == ()


def test_time_counts_from_the_call():
    effort = Effort(seconds=1000.0)
    assert not effort.is_spent(0)
    assert Effort(seconds=1000.0, began=time.monotonic() - 1000).is_spent(0)
    found = explore(chain(2, 2), seconds=1e-6)
    assert found.n_mapped == 0
    assert not found.gap.is_exact


def test_fewer_patterns_are_searched_where_schedules_take_longer_than_there_is_time():
    """Of two nodes that read each other; those with names stay."""
    nodes = {"I": ((1, 1, 2), None), "A": ((1, 1, 2), 1), "B": ((1, 1, 2), 1)}
    edges = dict.fromkeys([("I", "A"), ("A", "B"), ("B", "A")], np.eye(2, dtype=int))
    net = nm.build_network(nodes, edges, outputs=["B"])
    named = [nm.RolloutPattern.streaming(net)]
    space = pattern_space(graph_of(net), named)
    assert space.is_complete
    assert hurried_space(space, named, ("windowed",), 1000.0) is space
    fewer = hurried_space(space, named, ("windowed",), 0.0)
    assert fewer.sample.tolist() == [list(named[0].values)]
    assert not fewer.is_complete
