"""What engines refuse: events and masks that do not fit the program. Both engines say the same."""

import importlib.util

import numpy as np
import pytest

from neuromap.bench.characterisation import characterisation_program
from neuromap.errors import InputError, NotSupportedError, StimulusError
from neuromap.simulation.engine.engine import HostEvents, make_engine
from neuromap.simulation.engine.engine_choice import ENGINES, EngineChoice


@pytest.fixture(params=ENGINES)
def engine(request):
    return make_engine(characterisation_program(2), EngineChoice(request.param, threads=1))


def events(start, cores, axons):
    return HostEvents(np.array(start, np.int64), np.array(cores, np.int32), np.array(axons, np.int32))


@pytest.mark.parametrize(
    ("cores", "axons", "words"),
    [
        ([2], [0], "event 0 is at core 2; allowed is 0 to 1"),
        ([0, -1], [0, 0], "event 1 is at core -1"),
        ([0], [256], "event 0 is at axon 256; allowed is 0 to 255"),
        ([0], [-1], "axon -1"),
        ([2**40], [0], "allowed is 0 to 1"),
        ([0, 1, 0], [1, 2], "3 cores and 2 axons"),
    ],
)
def test_a_step_on_axons_that_are_not_there_is_refused(engine, cores, axons, words):
    with pytest.raises(StimulusError, match=words):
        engine.step(cores, axons)
    assert engine.tick == 0
    engine.step([0, 1], 3)  # one axon of two cores


@pytest.mark.parametrize("start", [[0, 3], [1, 0, 2], [-1, 2], []])
def test_starts_that_do_not_divide_the_events_are_refused(engine, start):
    with pytest.raises(StimulusError, match="start must rise"):
        engine.run(events(start, [0, 1], [0, 0]))


@pytest.mark.parametrize(
    "watched", [np.ones((2, 255), bool), np.ones((1, 256), bool), np.ones(512, bool), np.ones((2, 256), np.uint8)]
)
def test_masks_of_another_shape_or_type_are_refused(engine, watched):
    with pytest.raises(InputError, match=r"needs bool of shape \(2, 256\)"):
        engine.run(HostEvents.none(3), watched)


def test_without_numba_the_fast_engine_is_refused_in_one_line(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        NotSupportedError, match=r"engine fast: needs Numba.*pip install numba, or .*engine numpy"
    ) as met:
        EngineChoice()
    assert "\n" not in str(met.value)
    assert EngineChoice("numpy").n_threads > 0
