"""neuromap rollouts --chip: seconds over numbers of cores."""

import pytest


def test_seconds_stand_below_the_update_steps(sr, neuromap, tmp_path):
    svg = tmp_path / "cores.svg"
    text = " ".join(neuromap("rollouts", sr, "--chip", "loihi1", "--cores", "4,1", "--svg", svg).out.split())
    assert "First response on loihi1, neurons evenly spread." in text
    assert "streaming (windowed) answers before sequential (windowed) on" in text
    assert svg.read_text().startswith("<svg")


def test_json_has_the_same_in_seconds(sr, neuromap):
    found = neuromap("rollouts", sr, "--chip", "truenorth", "--cores", "1", "--json").json["seconds"]
    assert (found["chip"], found["output"], found["cores"]) == ("truenorth", "O", [1])
    rows = {row["pattern"]: row for row in found["rows"]}
    assert rows["streaming"]["first"] == [2e-3]
    assert rows["sequential"]["period"] == [3e-3]
    assert found["leads"][0]["ranges"] == [[1, 4096]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--cores", "4"], "--cores: is for --chip; give that too"),
        (["--svg", "a.svg"], "--svg: is for --chip; give that too"),
        (["--seed", "3"], "--seed 3: is for --chip; give that too"),
        (["--chip", "loihi1", "--all"], "--all and --chip loihi1: give one of them"),
        (["--chip", "loihi1", "--cores", "0"], "--cores 0"),
        (["--chip", "loihi1", "--cores", "4,1000000"], "cores 1000000: loihi1 has 128; give 1 to 128"),
        (["--chip", "loihi9"], "loihi9"),
        (["--limit", "20"], "--limit 20: is for --all; give that too"),
    ],
)
def test_bad_options_are_refused(words, message, sr, neuromap):
    neuromap("rollouts", sr, *words).assert_refused(2, message)
