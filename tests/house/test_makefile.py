"""The Makefile starts from Python and make alone, and says so where it cannot."""

import re
import subprocess

import pytest


def make(root, *words):
    return subprocess.run(["make", "-C", str(root), *words], capture_output=True, text=True, check=False)


def test_an_old_python_is_refused_with_its_version(root, tmp_path):
    old = tmp_path / "python"
    old.write_text('#!/bin/sh\ncase "$1" in -V) echo Python 3.9.1;; *) exit 1;; esac\n')
    old.chmod(0o755)
    done = make(root, "lint", f"PYTHON={old}", f"VENV={tmp_path}/venv")
    assert done.returncode != 0
    assert "needs Python 3.11 or later" in done.stderr
    assert "Python 3.9.1" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_a_missing_python_is_refused(root, tmp_path):
    done = make(root, "lint", "PYTHON=no-such-python", f"VENV={tmp_path}/venv")
    assert done.returncode != 0
    assert "no-such-python not found" in done.stderr


@pytest.mark.parametrize(
    "target",
    ["demo", "digits-networks", "test", "test-thorough", "fuzz", "docs", "paper", "wheel-check", "clean", "help"],
)
def test_targets_are_listed_with_what_they_do(root, target):
    assert re.search(rf"make {target} +\w+", make(root, "help").stdout)


def test_demo_is_the_report_of_three_patterns_in_both_executions(root, tmp_path):
    done = make(root, "-n", "demo", f"VENV={tmp_path}/venv", f"BUILD={tmp_path}/build")
    text = " ".join(done.stdout.split())
    assert "examples/digits/stimulus.py" in text
    assert "--patterns streaming,sequential,hybrid --executions windowed,pipelined" in text
    assert f"--html {tmp_path}/build/sr.html" in text
