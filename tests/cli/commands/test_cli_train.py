"""``neuromap train``: several patterns at once, and options that need each other."""

import pytest

NET = "examples/digits/sr.toml"
QUICK = ("--epochs", 1, "--limit", 30, "--frames", 2, "--threads", 1)


def test_one_run_serves_every_pattern_that_is_given(neuromap):
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    words = ("--for", "truenorth", "--no-bias", "--test", "--with-validation", "--preceding", 1)
    done = neuromap("train", NET, "--pattern", "streaming", "--pattern", "hybrid", *words, *QUICK, "--json")
    assert (done.code, done.err) == (0, "")
    assert (done.json["pattern"], done.json["part"]) == ("streaming", "test")
    (other,) = done.json["other_patterns"]
    assert other["pattern"] == "hybrid"
    assert [frame["windowed_step"] for frame in other["frames"]] == [3, 5]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--no-bias",), "--no-bias: is of training for a chip; give --for truenorth"),
        (("--with-validation",), "--with-validation: leaves no image to measure on"),
        (("--pattern", "hybrid", "--pattern", "hybrid"), "pattern hybrid is given twice"),
        (("--preceding", "-1"), "preceding -1: must be 0 to 1000"),
    ],
)
def test_options_that_do_not_fit_are_told(neuromap, words, told):
    done = neuromap("train", NET, *words, *QUICK)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
