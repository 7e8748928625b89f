"""Short streams through memory, for tests that ask for a bench but not for the speed of this bench_report."""

import pytest

from neuromap.bench import bench_report


@pytest.fixture
def short_streams(monkeypatch):
    """The memory that a bench measures is a megabyte: it stays in a cache, and takes no second."""
    monkeypatch.setattr(bench_report, "_LEAST_BUFFER", 2**20)
    monkeypatch.setattr(bench_report, "_CACHES", 0)
    monkeypatch.setattr(bench_report, "_MOST", 2**20)
