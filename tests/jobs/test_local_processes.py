"""Jobs whose results come as they are done, from processes that may be killed at any moment."""

from __future__ import annotations

import math
import multiprocessing
import operator
import os
import signal
import subprocess
import sys
import time

import pytest

from neuromap.errors import InputError, NeuromapError
from neuromap.jobs.ahead import Lost, not_lost
from neuromap.jobs.runners import MOST_TRIES, LocalProcesses, check_processes


def done(runner, jobs):
    return {job: result for batch in runner.results(jobs) for job, result in batch}


@pytest.mark.parametrize("processes", [1, 2])
def test_every_number_of_processes_gives_the_same(processes):
    with LocalProcesses(math.comb, 9, processes, "combinations") as runner:
        assert done(runner, range(10)) == {k: math.comb(9, k) for k in range(10)}
        assert done(runner, [3]) == {3: 84}
    assert not multiprocessing.active_children()


def test_no_more_jobs_are_taken_than_processes_need():
    taken = []
    with LocalProcesses(operator.add, 1, 2, "sums") as runner:
        n_done = 0
        for batch in runner.results(taken.append(k) or k for k in range(9)):
            n_done += len(batch)
            assert len(taken) <= n_done + 2


def test_the_job_of_a_killed_process_is_done_by_another():
    with LocalProcesses(operator.call, time.sleep, 2, "sleep") as runner:
        results = runner.results([0.01, 0.2, 0.3, 0.4])
        found = next(results)
        for process in multiprocessing.active_children():
            process.kill()
        found += [one for batch in results for one in batch]
    assert sorted(job for job, _ in found) == [0.01, 0.2, 0.3, 0.4]
    assert {result for _, result in found} == {None}


def test_a_job_that_ends_its_process_every_time_is_lost_alone():
    with LocalProcesses(operator.call, os._exit, 2, "sweep") as runner:
        found = done(runner, [7])
    assert isinstance(found[7], Lost)
    assert str(found[7]).startswith(f"sweep: {MOST_TRIES} processes that did it were ended")
    with pytest.raises(NeuromapError) as raised:
        not_lost(found[7])
    assert (type(raised.value), str(raised.value)) == (NeuromapError, str(found[7]))


def test_errors_of_a_job_are_the_caller_s():
    with LocalProcesses(operator.floordiv, 1, 2, "quotients") as runner, pytest.raises(ZeroDivisionError):
        done(runner, [1, 0])
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("shared", [1, bytes(10**6)], ids=["small", "more than a pipe holds"])
def test_processes_that_cannot_begin_are_said_in_one_line(shared, monkeypatch):
    monkeypatch.setattr(multiprocessing.spawn, "_python_exe", b"/bin/false")
    with (
        LocalProcesses(operator.getitem, shared, 2, "sweep") as runner,
        pytest.raises(NeuromapError, match=r"^sweep: processes end before they have begun .* use fewer"),
    ):
        done(runner, [1, 2])


def test_leaving_ends_what_is_under_way():
    began = time.monotonic()
    with LocalProcesses(operator.call, time.sleep, 2, "sleep") as runner:
        runner.give(600)
        assert multiprocessing.active_children()
    assert not multiprocessing.active_children()
    assert time.monotonic() - began < 300


@pytest.mark.parametrize("processes", [0, -1, 1025])
def test_numbers_out_of_range(processes):
    with pytest.raises(InputError, match=f"processes = {processes}: must be 1 to 1024"):
        check_processes(processes)
    check_processes(1)
    check_processes(1024)


KILLED = """
import os, signal, time
import operator
from neuromap.jobs.runners import LocalProcesses

if __name__ == "__main__":
    with LocalProcesses(operator.call, time.sleep, 2, "sleep") as runner:
        runner.give(600)
        runner.give(0)
        runner.next_done()
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
