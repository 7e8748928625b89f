"""Without Nengo the back end is a hint of one line, and nothing else minds."""

import importlib.util

import pytest

import neuromap.backends.nengo
from neuromap.errors import NotSupportedError


def test_a_missing_extra_is_a_hint_of_one_line(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "Simulator" in dir(neuromap.backends.nengo)
    with pytest.raises(NotSupportedError, match=r"needs Nengo.*pip install 'neuromap-rollouts\[nengo\]'") as error:
        _ = neuromap.backends.nengo.Simulator
    assert "\n" not in str(error.value)
    with pytest.raises(AttributeError, match="no attribute 'Simulater'"):
        _ = neuromap.backends.nengo.Simulater
