"""A pytest plugin: runs Nengo's own tests on neuromap's back end, and tells which of them the chip took part in.

``-p suite_plugin`` with this folder on the path; ``suite.ini`` names the simulator. ``--chip-json FILE`` writes the
counts and the list.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neuromap.backends.nengo import Simulator

STEPPED: set[str] = set()
"""Tests in which an ensemble took a step on the chip."""
OUTCOMES: dict[str, tuple[str, str]] = {}
"""Test -> outcome, and the reason of a skip."""
_now = [""]


_take_step = Simulator.step


def _step(simulator: Simulator) -> None:
    """Take a step, and remember in which test a chip took it."""
    _take_step(simulator)
    if simulator.mapped is not None:
        STEPPED.add(_now[0])


Simulator.step = _step


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of the counts' file."""
    parser.addoption("--chip-json", default=None, help="write counts and the list of tests to this file")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Remember the test that runs."""
    _now[0] = _name(item.nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep the outcome of a test; a fault before or after it is a failure."""
    name = _name(report.nodeid)
    if report.when == "call" or report.outcome != "passed":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
        OUTCOMES[name] = (outcome, reason.removeprefix("Skipped: ") or getattr(report, "wasxfail", ""))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the counts, and write them."""
    on_chip = sorted(n for n, (outcome, _) in OUTCOMES.items() if outcome == "passed" and n in STEPPED)
    on_host = sorted(n for n, (outcome, _) in OUTCOMES.items() if outcome == "passed" and n not in STEPPED)
    failed = sorted(n for n, (outcome, _) in OUTCOMES.items() if outcome == "failed")
    left_out = {n: why for n, (outcome, why) in sorted(OUTCOMES.items()) if outcome in ("skipped", "xfailed")}
    terminalreporter.write_line(
        f"{len(OUTCOMES)} tests use the simulator: {len(on_chip) + len(on_host)} pass, {len(on_chip)} of them with "
        f"steps on the chip; {len(failed)} fail; {len(left_out)} left out"
    )
    if path := terminalreporter.config.getoption("--chip-json"):
        found = {"on_chip": on_chip, "on_host": on_host, "failed": failed, "left_out": left_out}
        Path(path).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _name(nodeid: str) -> str:
    """Drop what precedes Nengo's folder."""
    return nodeid[nodeid.index("nengo/") :] if "nengo/" in nodeid else nodeid
