"""Tilings that are shared between rows: the same results, found with less work."""

from __future__ import annotations

import pytest

import neuromap as nm
from neuromap.explorer.answer.limits import Candidate
from neuromap.explorer.search import measurements as module
from neuromap.explorer.search.measurements import Setting, evaluate
from neuromap.mapping.tile import tilings
from neuromap.simulation.choose_frames import RandomFrames, choose_stimuli
from neuromap.simulation.engine.engine_choice import EngineChoice


@pytest.mark.parametrize("most_tiles", [10_000, pytest.param(0, marks=pytest.mark.thorough)])
def test_rows_are_the_same_with_what_was_known_before(chip, monkeypatch, most_tiles):
    """On two chips with cores of the same neurons, whose tilings are not to be taken for each other's."""
    net = nm.load_network("examples/digits/s.toml")
    chips = {"many": chip(), "few": chip(axons=140)}
    stimuli, _ = choose_stimuli(net, None, RandomFrames(3), 1)
    setting = Setting(net, chips, stimuli, False, EngineChoice(threads=1))
    candidates = [
        Candidate(pattern.values, execution, name, splitters, None)
        for name in chips
        for pattern in list(nm.rollout.enumerate_valid(net))[:3]
        for execution, splitters in (("windowed", "slack"), ("pipelined", "anywhere"))
    ]
    made = []
    tile = tilings.tile_population
    monkeypatch.setattr(tilings, "tile_population", lambda *a, **k: made.append(1) or tile(*a, **k))
    alone = [evaluate(setting, candidate) for candidate in candidates]
    n_alone = len(made)

    monkeypatch.setattr(module, "_MOST_TILES", most_tiles)
    known = {}
    assert [evaluate(setting, candidate, known) for candidate in candidates] == alone
    assert set(known) == set(chips)
    if most_tiles:
        assert len(made) - n_alone < n_alone / 2
    else:  # forgotten after every row: they are made as often as for rows alone
        assert len(made) - n_alone == n_alone
