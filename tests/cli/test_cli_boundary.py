"""The boundary of the program: whatever happens inside, one line and an exit code come out."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

from neuromap import errors
from neuromap.cli.boundary import run_guarded


def app_that(action):
    app = typer.Typer(pretty_exceptions_enable=False)

    @app.command()
    def command(as_json: bool = typer.Option(False, "--json")):
        action()

    return app


def raising(error):
    def action():
        raise error

    return action


def endless():
    return endless()


RAISED = [
    (errors.NetworkError("node A: wrong"), 2, "node A: wrong"),
    (errors.PatternError("two\nlines"), 2, "two lines"),
    (errors.DoesNotFitError("too large"), 3, "too large"),
    (errors.NotSupportedError("not yet"), 4, "not yet"),
    (errors.VerificationError("differs"), 5, "differs"),
    (KeyboardInterrupt(), 130, "interrupted"),
    (MemoryError(), 1, "out of memory"),
    (FileNotFoundError(2, "No such file", "a.toml"), 2, "a.toml: No such file"),
    (ZeroDivisionError("x"), 1, "internal error"),
]


@pytest.mark.parametrize(("error", "code", "words"), RAISED, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("arguments", [[], ["--json"]], ids=["text", "json"])
def test_every_exception_is_one_line_and_a_code(error, code, words, arguments, capsys):
    assert run_guarded(app_that(raising(error)), arguments) == code
    captured = capsys.readouterr()
    assert captured.err.startswith("neuromap: ")
    assert captured.err.count("\n") == 1
    assert words in captured.err
    # a failed verification has printed its own document before
    assert ('"error"' in captured.out) == (bool(arguments) and code != 5)


def test_too_deep_recursion(capsys):
    assert run_guarded(app_that(endless), []) == 1
    assert "nested too deeply" in capsys.readouterr().err


def test_return_values_and_exits(capsys):
    assert run_guarded(app_that(lambda: None), []) == 0
    assert run_guarded(app_that(raising(typer.Exit(5))), []) == 5
    assert run_guarded(app_that(raising(SystemExit(3))), []) == 3
    assert capsys.readouterr().err == ""


def start(*words, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "neuromap", *map(str, words)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


def test_reader_of_stdout_that_goes_away(sr):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "neuromap", "rollouts", str(sr), "--json"],
        stdout=writing, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(writing)
    assert done.returncode == 141
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc to know when the command runs")
def test_interrupt_while_simulating(folder, program):
    out = folder / "out.trace"
    process = start("simulate", program, "--frames", "1000000", "-o", out)
    # The program file is being read: from here on the command runs, and an interrupt is its own to handle.
    maps = Path(f"/proc/{process.pid}/maps")
    deadline = time.monotonic() + 60
    while "safetensors" not in maps.read_text() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert (process.returncode, stdout) == (130, "")
    assert stderr == "neuromap: interrupted\n"
    assert not out.exists()
    assert not list(folder.glob(".out*"))


def test_program_and_module_are_one(folder):
    done = subprocess.run(
        [sys.executable, "-m", "neuromap", "map", str(folder / "nowhere.toml")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("neuromap: ")
    assert done.stderr.count("\n") == 1
