"""The trips of docs/architecture.md are true: its files are passed in that order, each function by its name."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import neuromap as nm
from neuromap.network import build_network


@pytest.fixture(scope="module")
def trips(root):
    """Name of a command -> files and functions, in the order of the page."""
    text = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    found = {}
    for command, file, function in re.findall(r"^\| (\w+) \| `([\w/]+\.py)` \| `(\w+)` \|", text, re.MULTILINE):
        found.setdefault(command, []).append((file, function))
    return found


@pytest.fixture
def network():
    """A few neurons more than a core holds; made anew for every trip, so that nothing about it is known yet."""
    spread = np.zeros((300, 20), np.int64)
    spread[np.arange(300), np.arange(300) % 20] = 1
    gather = np.kron(np.eye(3, dtype=np.int64), np.ones((1, 100), np.int64))
    nodes = {"I": (20, None), "A": (300, np.ones(300, np.int64)), "B": (3, np.full(3, 5))}
    return build_network(nodes, {("I", "A"): spread, ("A", "B"): gather, ("B", "B"): np.eye(3, dtype=np.int64)})


def files_and_functions(package_folder, run):
    """Every function of the package that a call runs, with its file, in the order of their first calls."""
    seen, ours = {}, str(package_folder)

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code not in seen and "." not in code.co_qualname and code.co_filename.startswith(ours):
            seen[code] = (Path(code.co_filename).relative_to(package_folder).as_posix(), code.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return list(dict.fromkeys(seen.values()))


def run_map(network):
    nm.map_rollout(nm.Rollout(network, "streaming"))


def run_report(network):
    nm.latency_report(network, patterns=["streaming"], executions=["windowed"], n_frames=3).to_text()


def run_explore(network):
    nm.explore(network, n_frames=3, most_mapped=1).to_text()


@pytest.mark.parametrize(("command", "run"), [("map", run_map), ("report", run_report), ("explore", run_explore)])
def test_a_trip_passes_its_files_in_order(command, run, trips, network, package_folder):
    passed = files_and_functions(package_folder, lambda: run(network))
    told = trips[command]
    assert len(told) > 5
    assert [step for step in passed if step in told] == told


def test_no_file_is_opened_twice(trips):
    assert list(trips) == ["map", "report", "explore"]
    for told in trips.values():
        files = [file for file, _ in told]
        assert len(set(files)) == len(files)


def test_from_the_command_to_the_program_at_most_ten_files_are_opened(trips, root):
    text = (root / "neuromap" / "cli" / "commands" / "map.py").read_text(encoding="utf-8")
    assert "map_with_stages(" in text
    assert trips["map"][0] == ("mapping/map_rollout.py", "map_with_stages")
    assert len(trips["map"]) < 10
    assert max(map(len, trips.values())) <= 10


def test_the_page_fits_two_screens(root):
    lines = (root / "docs" / "architecture.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 110
    assert max(map(len, lines)) <= 160
