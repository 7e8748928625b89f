"""Large networks are analysed in seconds: nothing costly is done twice."""

import random
import time

import pytest

from neuromap.cli.main import main
from neuromap.cli.printing.pattern_figures import pattern_counts, pattern_figures
from neuromap.network.network import Network
from neuromap.rollout.cycles.blocks import cycle_structure
from neuromap.rollout.patterns import sequential
from neuromap.rollout.patterns.pattern import RolloutPattern
from neuromap.rollout.schedule import walks
from neuromap.rollout.schedule.rollout import Rollout


def test_the_most_sequential_pattern_is_searched_once(monkeypatch, tmp_path, capsys):
    path = tmp_path / "net.toml"
    path.write_text('format = 1\n[edges."I -> A"]\n[edges."A -> B"]\n[edges."B -> A"]\n')
    blocks = []
    search = sequential._search
    monkeypatch.setattr(sequential, "_search", lambda block: blocks.append(block) or search(block))
    main(["rollouts", str(path), "--json"])
    assert '"name": "sequential"' in capsys.readouterr().out
    assert len(blocks) == 1


def test_both_executions_share_the_search_for_blocks(monkeypatch):
    net = Network.from_edges([("I", "A"), ("A", "B"), ("B", "A")])
    pattern = RolloutPattern.streaming(net)
    calls = []
    split = walks.nx.biconnected_component_edges
    monkeypatch.setattr(walks.nx, "biconnected_component_edges", lambda graph: calls.append(graph) or split(graph))
    for execution in ("windowed", "pipelined"):
        assert Rollout(net, pattern, execution).full_responses
    assert len(calls) == 1


@pytest.mark.slow
@pytest.mark.parametrize("cyclic", [False, True])
def test_ten_thousand_nodes_and_a_hundred_thousand_edges_are_analysed_in_seconds(cyclic):
    rng = random.Random(1)
    n = 10_000
    edges = {(rng.randrange(v), v): None for v in range(1, n)}
    while len(edges) < 100_000:
        u, v = rng.randrange(n), rng.randrange(1, n)
        if cyclic or u < v:
            edges[u, v] = None
    net = Network.from_edges((f"n{u}", f"n{v}") for u, v in edges)
    begin = time.process_time()
    structure = cycle_structure(net)
    summary = sequential.most_sequential_summary(net, structure)
    figures = pattern_counts(net, structure, summary)
    assert figures["proven"]["most_sequential"] != cyclic
    assert pattern_figures(RolloutPattern.streaming(net), 1)["inference_factor"] == 1
    # About 5 s of one slow core; several times that is a defect, not a busy machine.
    assert time.process_time() - begin < 20
