"""Behaviour classes have one number each, whichever command shows them and whatever it was asked."""

from __future__ import annotations

import pytest

OTHER = """
[rollouts.early]
streaming = ["H1 -> H1", "I -> H1"]
[rollouts.skip]
streaming = ["H1 -> H1", "H1 -> O"]
"""


@pytest.fixture(params=["sr", "sr with other patterns", "digits s"])
def network(request, folder, sr_text, root_of_examples):
    """A network with weights, as a file."""
    if request.param == "digits s":
        return root_of_examples / "examples" / "digits" / "s.toml"
    path = folder / "net.toml"
    path.write_text(sr_text.partition("[rollouts")[0] + OTHER if "other" in request.param else sr_text)
    return path


def edges_of(row):
    """R as a set of streaming edges, as the commands write them in one way or the other."""
    return frozenset(edge if isinstance(edge, str) else " -> ".join(edge) for edge in row["streaming_edges"])


def test_all_commands_give_a_class_the_same_number(network, neuromap):
    listed = neuromap("rollouts", network, "--all", "--json").json["patterns"]
    number = {edges_of(row): row["behaviour_class"] for row in listed}
    named = neuromap("rollouts", network, "--json").json["patterns"]
    assert [row["behaviour_class"] for row in named] == [number[edges_of(row)] for row in named]
    assert named[0]["behaviour_class"] == 1  # streaming
    ranks = list(dict.fromkeys(row["behaviour_class"] for row in named))
    assert ranks == list(range(1, len(ranks) + 1))

    other = max(listed, key=lambda row: row["behaviour_class"])  # without a name, where there are so many classes
    typed = ", ".join(other["streaming_edges"])
    quick = ("--frames", 2, "--most-mapped", 2, "--no-verify", "--json")
    for words in (
        (),
        ("--given", "sequential"),
        ("--given", typed, "--executions", "pipelined"),
        ("--within", "class"),
    ):
        found = neuromap("explore", network, *words, *quick).json
        assert all(row["behaviour_class"] == number[edges_of(row)] for row in found["rows"])
        own = number[edges_of(found["given"])]
        assert found["given"]["behaviour_class"] == own
        assert all(row["needs_retraining"] == (row["behaviour_class"] != own) for row in found["rows"])
        assert found["class_numbers_are_of_network"]

    patterns = ("--patterns", "sequential", "--patterns", typed)
    reported = neuromap("report", network, *patterns, "--executions", "pipelined", "--frames", 2, "--json").json["rows"]
    assert [row["behaviour_class"] for row in reported] == [number[edges_of(row)] for row in reported]
