"""Neurons wider than a core on the command line: refused with the way out, mapped in parts, verified, explored."""

import numpy as np
import pytest

import neuromap as nm


@pytest.fixture
def wide(folder):
    rng = np.random.default_rng(0)
    nodes = {"I": (600, None), "H": (12, 2), "O": (3, 1)}
    edges = {("I", "H"): rng.integers(-1, 2, (12, 600)), ("H", "O"): rng.integers(-1, 2, (3, 12))}
    nm.build_network(nodes, edges, name="wide").save(folder / "wide.toml")
    return folder / "wide.toml"


def test_from_the_refusal_to_the_verified_program(folder, wide, neuromap):
    refused = neuromap("map", wide)
    assert refused.code == 3
    assert 'wide = "partial-sums" would compute it in parts, a frame every' in refused.err
    done = neuromap("map", wide, "--wide", "partial-sums", "--wide-ticks", "8", "-o", folder / "wide.nmp", "--json")
    assert (done.code, done.json["schedule"]) == (0, "ticks")
    assert done.json["parts"] > 12
    assert nm.load_program(folder / "wide.nmp").is_part.sum() == done.json["parts"]
    assert neuromap("verify", wide, "--program", folder / "wide.nmp", "--json").json["verified"]
    report = neuromap("report", wide, "--wide", "partial-sums", "--wide-ticks", "8", "--json").json
    assert {(row["cores"], row["parts"], row["verified"]) for row in report["rows"]} == {
        (done.json["cores"], done.json["parts"], True)
    }
    dry = neuromap("map", wide, "--wide", "partial-sums", "--wide-ticks", "8", "--dry-run", "--json").json
    assert dry["fits"]
    assert 0 < dry["nodes"][0]["parts"] <= done.json["parts"]  # copies of parts not counted


def test_the_explorer_spends_the_ticks(wide, neuromap):
    found = neuromap("explore", wide, "--wide", "16,4,16", "--executions", "pipelined", "--frames", "4", "--json").json
    front = {(row["wide"], row["wide_ticks"]): row for row in found["rows"] if row["on_front"]}
    few, many = front["partial-sums", 4], front["partial-sums", 16]
    assert few["first_response_ticks"] < many["first_response_ticks"]
    assert few["cores"] > many["cores"]
    assert few["verified"]
    assert many["verified"]


@pytest.mark.parametrize(
    ("command", "words", "says"),
    [
        ("map", ("--wide", "sums"), "refuse, partial-sums"),
        ("map", ("--wide-ticks", "0"), "1 to 100000"),
        ("explore", ("--wide", "all"), "refuse, partial-sums"),
        ("explore", ("--wide", ","), "--wide: is empty"),
    ],
)
def test_wrong_words_are_refused(wide, neuromap, command, words, says):
    done = neuromap(command, wide, *words)
    assert done.code == 2
    assert says in done.err
    assert done.err.count("\n") == 1
