"""Short streams through memory, for tests that ask for a bench but not for the speed of this machine."""

import pytest

from neuromap.bench import caches, machine


@pytest.fixture
def short_streams(monkeypatch):
    """The memory that a bench measures is a megabyte: it stays in a cache, and takes no second."""
    monkeypatch.setattr(machine, "_LEAST_BUFFER", 2**20)
    monkeypatch.setattr(machine, "_CACHES", 0)
    monkeypatch.setattr(caches, "_MOST", 2**20)
