"""Large networks are analysed in seconds: nothing costly is done twice."""

import random
import time

import pytest

from neuromap.cli.main import main
from neuromap.cli.printing.pattern_figures import pattern_counts, pattern_figures
from neuromap.network.network import Network
from neuromap.rollout.cycles import cycle_structure as feedback
from neuromap.rollout.cycles import indexed_network, sequential_values
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.rollout.sequential import most_sequential_summary


def test_the_most_sequential_pattern_is_searched_once(monkeypatch, tmp_path, capsys):
    path = tmp_path / "net.toml"
    path.write_text('format = 1\n[edges."I -> A"]\n[edges."A -> B"]\n[edges."B -> A"]\n')
    blocks = []
    search = sequential_values._search
    monkeypatch.setattr(sequential_values, "_search", lambda block: blocks.append(block) or search(block))
    main(["rollouts", str(path), "--json"])
    assert '"name": "sequential"' in capsys.readouterr().out
    assert len(blocks) == 1


LOOP = """\
format = 1
[nodes.I]
shape = [1, 1, 3]
[nodes.A]
shape = [1, 1, 3]
threshold = 1
[nodes.B]
shape = [1, 1, 3]
threshold = 1
[edges."I -> A"]
transform = "identity"
[edges."A -> B"]
transform = "identity"
[edges."B -> A"]
transform = "identity"
"""


@pytest.mark.parametrize("words", [("rollouts", "--json"), ("explore", "--frames", "2", "--json")])
def test_the_cycles_of_a_network_are_looked_at_once_on_a_trip(words, monkeypatch, tmp_path, capsys):
    path = tmp_path / "net.toml"
    path.write_text(LOOP)
    found = {"components and blocks": 0, "edges on cycles": 0, "most sequential": 0}

    def counted(what, function):
        def count(*args, **kwargs):
            found[what] += 1
            return function(*args, **kwargs)

        return count

    for module, name, what in (
        (indexed_network, "split_at_nodes", "components and blocks"),
        (feedback, "CycleStructure", "edges on cycles"),
        (sequential_values, "_search", "most sequential"),
    ):
        monkeypatch.setattr(module, name, counted(what, getattr(module, name)))
    command, *flags = words
    main([command, str(path), *flags])
    assert '"sequential"' in capsys.readouterr().out
    assert found == {"components and blocks": 1, "edges on cycles": 1, "most sequential": 1}


def test_both_executions_share_the_search_for_blocks(monkeypatch):
    net = Network.from_edges([("I", "A"), ("A", "B"), ("B", "A")])
    pattern = RolloutPattern.streaming(net)
    calls = []
    split = indexed_network.split_at_nodes
    monkeypatch.setattr(indexed_network, "split_at_nodes", lambda pairs: calls.append(pairs) or split(pairs))
    for execution in ("windowed", "pipelined"):
        assert Rollout(net, pattern, execution).full_responses
    assert len(calls) == 1


@pytest.mark.parametrize("cyclic", [False, True])
@pytest.mark.parametrize("n", [2000, pytest.param(10_000, marks=pytest.mark.thorough)])
def test_thousands_of_nodes_with_ten_edges_each_are_analysed_in_seconds(large_edges, n, cyclic):
    rng = random.Random(1)
    net = Network.from_edges((f"n{u}", f"n{v}") for u, v in large_edges(rng, cyclic, n))
    begin = time.process_time()
    figures = pattern_counts(net)
    assert figures["proven"]["most_sequential"] != cyclic
    assert pattern_figures(RolloutPattern.streaming(net), 1)["inference_factor"] == 1
    # At 10,000 nodes about 5 s of one slow core; several times that is a defect, not a busy machine.
    assert time.process_time() - begin < 20
    if cyclic:
        check_heuristic(net, most_sequential_summary(net))  # found above, and known since


def check_heuristic(net, summary):
    """Beyond exact search there is a pattern that says so: a valid one, and a sensible one."""
    assert not summary.proven
    assert summary.count is None
    assert summary.first.is_valid
    # Of the edges of a random graph, more than half can be sequential under any sensible order.
    assert summary.streaming_edges < 0.3 * len(net.edges)
    assert summary.first.inference_factor > 1
