"""``neuromap lift``: a network file that is the program, or one line."""

import json

import jsonschema
import pytest

import neuromap as nm


@pytest.fixture
def program(neuromap, root_of_examples, folder, monkeypatch):
    monkeypatch.chdir(folder)
    network = root_of_examples / "examples" / "digits" / "sr.toml"
    assert neuromap("map", network, "--pattern", "sequential", "-o", "sr.nmp").code == 0
    return folder / "sr.nmp"


def test_the_network_is_written_and_can_be_mapped_again(program, neuromap):
    done = neuromap("lift", "sr.nmp", "-o", "lifted.toml")
    assert (done.code, done.err) == (0, "")
    assert "4 nodes, 200 neurons" in done.out
    assert "merged, as they compute the same as another: 315" in done.out
    assert done.out.endswith("written to lifted.toml\n")
    assert neuromap("verify", "lifted.toml", "--frames", "8").code == 0
    shown = json.loads(neuromap("lift", "sr.nmp", "--json").out)
    jsonschema.validate(shown, nm.load_schema("lift"))
    assert (shown["counts"]["left"], shown["file"]) == (200, None)


def test_refusals_are_one_line_and_write_nothing(program, neuromap, folder):
    before, there = program.read_bytes(), set(folder.iterdir())
    for words, code, told in (
        (["sr.nmp", "-o", "sr.nmp"], 2, "is the program itself"),
        (["none.nmp", "-o", "net.toml"], 2, "none.nmp: does not exist"),
        (["sr.nmp", "-o", "net.txt"], 2, "choose .toml"),
    ):
        done = neuromap("lift", *words)
        assert (done.code, done.out, done.err.count("\n")) == (code, "", 1)
        assert told in done.err
    program.write_bytes(before[:-9])
    assert neuromap("lift", "sr.nmp", "-o", "net.toml").code == 2
    assert set(folder.iterdir()) == there
