"""Nodes that no output depends on, and slow hidden nodes, at the command line."""

import json

import pytest

IDENTITY = 'transform = "identity"\n'


def network(name, outputs, edges):
    nodes = dict.fromkeys(n for edge in edges for n in edge.split(" -> "))
    tables = [f"[nodes.{n}]\nshape = [1, 1, 1]\n" + ("threshold = 1\n" if n != "I" else "") for n in nodes]
    tables += [f'[edges."{edge}"]\n{IDENTITY}' for edge in edges]
    return f'format = 1\nname = "{name}"\noutputs = {json.dumps(outputs)}\n' + "".join(tables)


@pytest.fixture
def side(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "side.toml").write_text(network("side", ["O"], ["I -> A", "A -> H", "I -> O"]))
    return "side.toml"


def test_left_out_nodes_are_named_refused_and_kept(neuromap, side):
    line = "left out, as no output depends on it: A (1 of 1 neuron), H (1 of 1 neuron); --keep"
    assert line in " ".join(neuromap("map", side, "-o", "side.nmp").out.split())
    assert line in " ".join(neuromap("report", side, "--executions", "windowed").out.split())
    refused = neuromap("simulate", "side.nmp", "--record", "node:H")
    refused.assert_refused(2, "holds none of its 1 neurons", "--keep H")
    assert neuromap("map", side, "--json", "--keep", "A").json["left_out"] == {"H": 1}
    kept = neuromap("map", side, "--keep", "H", "-o", "kept.nmp")
    assert "left out" not in kept.out
    shown = neuromap("simulate", "kept.nmp", "--record", "node:H", "--frames", "4", "--density", "1", "--json").json
    assert shown["hidden"]["H"]["spikes_per_frame"] == [0, 0, 1, 1]  # streaming: H is two frames behind
    neuromap("map", side, "--keep", "G").assert_refused(2, "keep G: is unknown; allowed are all, A, H, O")


def test_a_run_waits_for_the_slowest_recorded_node(neuromap, folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "slow.toml").write_text(network("slow", ["O"], ["I -> A", "A -> H", "H -> O", "I -> O"]))
    neuromap("map", "slow.toml", "--pattern", "H -> O", "-o", "slow.nmp")
    shown = neuromap("simulate", "slow.nmp", "--frames", "4", "--density", "1", "--record", "outputs,node:H").out
    assert "1 at 6" in shown
    assert "0 at" not in shown
