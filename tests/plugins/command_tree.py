"""The tree of commands is built once, not for every command line that a test runs in this process.

Typer builds all commands with all their options anew whenever the program is called: half of the time of a test of the
command line. The tree holds no state; that a new process builds it is seen by the tests that start one.
"""

import functools

import pytest


@pytest.fixture(scope="session", autouse=True)
def _command_tree():
    import typer.main

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", functools.cache(typer.main.get_command))
        yield
