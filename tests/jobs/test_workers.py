"""Jobs in several processes: the results of one, and what becomes of the processes."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest

from neuromap.errors import InputError, NeuromapError
from neuromap.jobs.workers import Workers, check_processes


@pytest.mark.parametrize("processes", [1, 2])
def test_every_number_of_processes_gives_the_same(processes):
    with Workers(math.factorial, processes, "factorials") as workers:
        for k in range(4):
            workers.prepare(k, k)
        assert [workers.get(k, k) for k in (3, 1, 5)] == [6, 1, 120]
    assert workers.processes == processes


def test_a_worker_that_is_ended_is_said_in_one_line():
    with (
        Workers(os._exit, 2, "sweep") as workers,
        pytest.raises(NeuromapError, match=r"^sweep: one of 2 processes was ended.*use fewer$"),
    ):
        workers.get("job", 1)


def test_errors_of_a_job_are_the_caller_s():
    with Workers(math.factorial, 2, "factorials") as workers, pytest.raises(ValueError, match="negative"):
        workers.get("job", -1)


def test_leaving_ends_what_is_under_way():
    others = set(multiprocessing.active_children())
    began = time.monotonic()
    with Workers(time.sleep, 2, "sleep") as workers:
        workers.prepare("long", 600)
        assert set(multiprocessing.active_children()) - others
    assert set(multiprocessing.active_children()) <= others
    assert time.monotonic() - began < 300


@pytest.mark.parametrize("processes", [0, -1, 1025])
def test_numbers_out_of_range(processes):
    with pytest.raises(InputError, match=f"processes = {processes}: must be 1 to 1024"):
        check_processes(processes)
    check_processes(1)
    check_processes(1024)


KILLED = """
import os, signal, time
from neuromap.jobs.workers import Workers

if __name__ == "__main__":
    with Workers(time.sleep, 2, "sleep") as workers:
        workers.prepare("long", 600)
        workers.get("short", 0)
        print("working", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_workers_end_with_whoever_was_killed(tmp_path):
    """A job that went on would write what the next run writes too."""
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    # Workers hold the pipe of stdout, so this returns when the last one has ended.
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, "working\n")
