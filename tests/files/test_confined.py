"""Readers in a process of their own: whatever becomes of them, one line comes back."""

import os
import signal
import sys
import time

import numpy as np
import pytest

from neuromap.errors import InputError, NetworkError, NotSupportedError
from neuromap.files.confined import _MOST_ANSWERS, confined
from neuromap.files.foreign import foreign_boundary


def echo(**asked):
    print("noise of a library")
    return asked, {"twice": 2 * np.arange(asked["n"])}


def where():
    return os.getcwd(), {}  # noqa: PTH109


def refuse():
    raise NotSupportedError("holds a Loop; unroll it")


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def hang():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)


def swell():
    return 0, {"x": np.ones(2**28)}


def make_room(n_bytes):
    return np.empty(n_bytes, np.uint8).nbytes, {}  # not touched, so it takes addresses only


def print_much(n_bytes):
    while n_bytes:
        n_bytes -= os.write(1, b"x" * n_bytes)  # as a library in C does
    return "read", {}


def fault():
    raise KeyError("x")


@pytest.fixture(autouse=True)
def _found_by_children(monkeypatch):
    monkeypatch.setattr(sys, "path", [os.path.dirname(__file__), *sys.path])  # noqa: PTH120


def run(function, asked=None, *, keep=False, **limits):
    return confined(f"test_confined:{function}", asked or {}, "thing", keep=keep, **limits)


def test_an_answer_comes_back_whole():
    told, arrays = run("echo", {"n": 3, "name": "Ä\n"})
    assert told == {"n": 3, "name": "Ä\n"}
    np.testing.assert_array_equal(arrays["twice"], [0, 2, 4])
    assert not arrays["twice"].flags.writeable


@pytest.mark.parametrize("keep", [False, True])
def test_relative_paths_start_where_the_caller_is(keep, tmp_path, monkeypatch):
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        monkeypatch.chdir(folder)
        assert run("where", keep=keep)[0] == str(folder)


def test_a_refusal_keeps_its_words_and_its_class():
    with pytest.raises(NotSupportedError, match=r"^holds a Loop; unroll it$"):
        run("refuse")


@pytest.mark.parametrize(
    ("function", "line"),
    [
        ("crash", "ended by signal 11"),
        ("swell", "more memory"),
        ("fault", "KeyError: 'x'"),
        ("hang", "longer than 2 s"),
    ],
)
def test_a_reader_that_fails_costs_one_line(function, line):
    began = time.monotonic()
    with pytest.raises(NetworkError, match=line) as caught:
        run(function, seconds=2 if function == "hang" else 60, memory=2**29, error=NetworkError)
    assert "\n" not in str(caught.value)
    assert time.monotonic() - began < 30


def test_the_boundary_lets_only_errors_of_the_package_out():
    with (
        pytest.raises(InputError, match=r"^cannot be read as a thing \(KeyError: 'x'\)") as caught,
        foreign_boundary("a thing"),
    ):
        fault()
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(NotSupportedError, match="Loop"), foreign_boundary("a thing"):
        refuse()
    with pytest.raises(KeyboardInterrupt), foreign_boundary("a thing"):
        raise KeyboardInterrupt


def test_a_reader_may_take_a_gibibyte_where_nothing_else_is_said():
    assert run("make_room", {"n_bytes": 7 * 2**27})[0] == 7 * 2**27
    with pytest.raises(InputError, match="more memory"):
        run("make_room", {"n_bytes": 9 * 2**27})


def test_what_libraries_print_stands_in_no_answer_and_has_a_bound():
    assert run("print_much", {"n_bytes": 2**20})[0] == "read"
    with pytest.raises(InputError, match="cannot be read as a thing"):
        run("print_much", {"n_bytes": 2**20 + 1})


def compute_without_end():
    while True:
        pass


def test_work_is_bounded_for_every_file_anew():
    for _ in range(3):
        run("tell_process", keep=True, work=1)
    with pytest.raises(InputError, match=r"takes longer than 1\.?0? s to read"):
        run("compute_without_end", keep=True, work=1)


def tell_process():
    return os.getpid(), {}


def test_a_child_that_is_kept_answers_again_until_it_fails():
    first = run("tell_process", keep=True)[0]
    with pytest.raises(NotSupportedError, match="Loop"):
        run("refuse", keep=True)
    assert run("tell_process", keep=True)[0] == first
    assert run("tell_process")[0] != first
    with pytest.raises(InputError, match="signal 11"):
        run("crash", keep=True)
    second = run("tell_process", keep=True)[0]
    assert second != first
    os.kill(second, signal.SIGKILL)  # it may end while nothing is asked of it
    os.waitid(os.P_PID, second, os.WEXITED | os.WNOWAIT)  # all its threads have ended
    assert run("tell_process", keep=True)[0] not in (first, second)


def test_a_child_that_is_kept_reads_so_many_files_and_no_more():
    processes = [run("tell_process", keep=True, memory=2**29)[0] for _ in range(2 * _MOST_ANSWERS)]
    assert len(set(processes)) == 2
    assert len(set(processes[:_MOST_ANSWERS])) == len(set(processes[_MOST_ANSWERS:])) == 1
