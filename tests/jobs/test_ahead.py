"""Jobs begun ahead of being asked for: results in the order of one process, and errors only of what is asked for."""

from __future__ import annotations

import multiprocessing
import os
from typing import NoReturn

import pytest

from neuromap.errors import NeuromapError
from neuromap.jobs.ahead import Ahead
from neuromap.jobs.runners import MOST_TRIES, LocalProcesses


def divided(shared: int, job: tuple[str, int]) -> int:
    return shared // job[1]


def ended(shared: int, job: tuple[str, int]) -> NoReturn:
    os._exit(shared)


@pytest.mark.parametrize("processes", [1, 2])
def test_every_number_of_processes_gives_the_same(processes):
    with LocalProcesses(divided, 60, processes, "quotients") as runner:
        ahead = Ahead(runner)
        for k in range(1, 5):
            ahead.prepare(f"{k}", k)
        assert [ahead.get(f"{k}", k) for k in (3, 1, 6, 3)] == [20, 60, 10, 20]
        assert runner.at_once == processes


def test_errors_are_of_what_is_asked_for():
    with LocalProcesses(divided, 60, 2, "quotients") as runner:
        ahead = Ahead(runner)
        ahead.prepare("never asked for", 0)
        assert [ahead.get(f"{k}", k) for k in (1, 2, 3, 4)] == [60, 30, 20, 15]
        with pytest.raises(ZeroDivisionError):
            ahead.get("asked for", 0)


def test_killed_processes_cost_no_result():
    with LocalProcesses(divided, 60, 2, "quotients") as runner:
        ahead = Ahead(runner)
        for k in range(1, 7):
            ahead.prepare(f"{k}", k)
            for process in multiprocessing.active_children()[: k % 2]:
                process.kill()
        assert [ahead.get(f"{k}", k) for k in range(1, 7)] == [60 // k for k in range(1, 7)]


def test_a_job_that_ends_its_process_every_time_is_said_in_one_line():
    with (
        LocalProcesses(ended, 1, 2, "explore") as runner,
        pytest.raises(NeuromapError, match=rf"^explore: {MOST_TRIES} processes that did it were ended.*use fewer"),
    ):
        Ahead(runner).get("a", 1)
