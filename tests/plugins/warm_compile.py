"""One warm compile: what several workers need is compiled once, while they collect, and lies in Numba's cache.

The cache is the one that users have, beside the modules. A run in one process compiles what it meets.
"""

import subprocess
import sys
from pathlib import Path

import pytest

COMPILERS = pytest.StashKey[list[subprocess.Popen]]()


def pytest_sessionstart(session):
    """Begin, in the process that hands out the tests, with as many compilers as there are workers."""
    only_listed = session.config.getoption("collectonly")
    n_workers = 0 if only_listed else session.config.getoption("numprocesses", None) or 0
    command = [sys.executable, str(Path(__file__).with_name("compile_all.py"))]
    session.config.stash[COMPILERS] = [
        subprocess.Popen([*command, str(k), str(n_workers)], stdout=subprocess.DEVNULL) for k in range(n_workers)
    ]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node):
    """No worker gets a test before all is compiled."""
    for compiler in node.config.stash[COMPILERS]:
        assert compiler.wait() == 0, "the warm compile failed: see above"


def pytest_unconfigure(config):
    """Leave none behind where the session ended early."""
    for compiler in config.stash.get(COMPILERS, []):
        compiler.kill()
        compiler.wait()
