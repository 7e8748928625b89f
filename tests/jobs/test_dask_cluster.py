"""The same jobs on a Dask cluster: its workers may die, and what is missing is said in one line."""

from __future__ import annotations

import importlib.util
import math
import operator
import os
import socket
import sys
import threading
import time

import pytest

from neuromap.errors import InputError, NotSupportedError
from neuromap.jobs.ahead import Lost
from neuromap.jobs.runners import DaskCluster

needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="Dask is an extra (cluster) that is not installed here"
)


def test_without_dask_one_line_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(NotSupportedError, match=r"^sweep: .*neuromap-rollouts\[cluster\]") as caught:
        DaskCluster(math.comb, 9, "tcp://127.0.0.1:1", "sweep").__enter__()
    assert "\n" not in str(caught.value)


@needs_dask
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://"])
def test_a_scheduler_that_does_not_answer_is_said_in_one_line(address, monkeypatch):
    monkeypatch.setattr("neuromap.jobs.runners._SECONDS", 1)
    with pytest.raises(InputError, match=rf"^scheduler {address}: does not answer") as caught:
        DaskCluster(math.comb, 9, address, "sweep").__enter__()
    assert "\n" not in str(caught.value)


@needs_dask
def test_a_scheduler_that_takes_the_call_and_stays_silent_is_said_in_one_line(monkeypatch):
    """It may be any program that listens; nothing of the attempt is left behind."""
    monkeypatch.setattr("neuromap.jobs.runners._SECONDS", 2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        begun, threads = time.monotonic(), threading.active_count()
        with pytest.raises(InputError, match=rf"^scheduler {address}: does not answer within 2 s") as caught:
            DaskCluster(math.comb, 9, address, "sweep").__enter__()
        assert time.monotonic() - begun < 8  # of which a busy machine may take some
        assert threading.active_count() <= threads
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="Dask is an extra (cluster) that is not installed here")
    with distributed.LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        yield cluster


@needs_dask
def test_a_cluster_gives_what_one_process_gives(cluster):
    taken = []
    with DaskCluster(math.comb, 9, cluster.scheduler_address, "combinations") as runner:
        found = {}
        for batch in runner.results(taken.append(k) or k for k in range(40)):
            found |= dict(batch)
            assert len(taken) <= len(found) + 6
    assert found == {k: math.comb(9, k) for k in range(40)}


@needs_dask
@pytest.mark.thorough
def test_a_job_that_ends_its_workers_is_lost_alone(cluster):
    with DaskCluster(operator.call, os._exit, cluster.scheduler_address, "sweep") as runner:
        (batch,) = runner.results([1])
    assert isinstance(batch[0].result, Lost)
