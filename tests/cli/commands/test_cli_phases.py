"""Phases at least cost on the command line: said, kept in the program, verified, and refused where misspelt."""

from itertools import pairwise

import numpy as np
import pytest

import neuromap as nm
from neuromap.cli.arguments.options import read_rollout


@pytest.fixture
def beside(folder):
    """Twelve neurons that wait for a chain of single ones: for the spikes of one input neuron, or for relays of all."""
    chain = ["I", *(f"b{k}" for k in range(20)), "O"]
    sizes = dict.fromkeys(chain, 1) | {"a": 12}
    nodes = {name: (size, None if name == "I" else 1) for name, size in sizes.items()}
    edges = [*pairwise(chain), ("I", "a"), ("a", "O")]
    nm.build_network(nodes, {(u, v): np.ones((sizes[v], sizes[u]), int) for u, v in edges}, name="beside").save(
        folder / "beside.toml"
    )
    return folder / "beside.toml"


HOW = ("--execution", "pipelined")


def test_what_waits_is_where_it_costs_least(folder, beside, neuromap):
    asked = ("map", beside, "--pattern", "sequential", *HOW)
    least = neuromap(*asked, "--json").json
    done = neuromap(*asked, "--phases", "cheapest", "-o", folder / "b.nmp", "--json").json
    assert (least["relays"], done["relays"]) == (12, 0)
    assert least["phases"] is None
    assert done["phases"] == {"neurons": 32, "neurons_before": 44, "is_proven": True, "is_taken": True}
    told = " ".join(neuromap(*asked, "--phases", "cheapest").out.split())
    assert "delays take at least 32 neurons, 12 fewer; no others take fewer" in told
    assert neuromap("verify", beside, "--program", folder / "b.nmp", "--json").json["verified"]
    program = nm.load_program(folder / "b.nmp")
    rollout = read_rollout(nm.load_network(beside), program, folder / "b.nmp", None, None)
    assert (rollout.delays["I", "a"], rollout.delays["a", "O"]) == (20, 1)
    row = neuromap("report", beside, "--program", folder / "b.nmp", "--json").json["rows"][0]
    assert row["core_bound"]["total"] <= row["cores"]


def test_reports_take_it(beside, neuromap):
    asked = ("--phases", "cheapest", "--json")
    (row,) = neuromap("report", beside, "--patterns", "sequential", "--executions", "pipelined", *asked).json["rows"]
    assert (row["relays"], row["verified"]) == (0, True)


@pytest.mark.parametrize("command", ["map", "explore"])
def test_another_word_is_refused(beside, neuromap, command):
    done = neuromap(command, beside, "--phases", "late")
    assert done.code == 2
    assert "choose one of least, cheapest" in done.err
    assert done.err.count("\n") == 1
