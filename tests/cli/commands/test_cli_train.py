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
        (("--learning-rate", "fast"), "--learning-rate fast: must be a number, 0 or more"),
        (("--schedule", "cosin"), "did you mean 'cosine'?"),
        (("--loss-over-time", "by=3"), "write it like by=3ms:90%"),
        (("--loss-over-time", "deadline=1", "--for", "truenorth"), "first answers after 2 update steps"),
        (("--loss-over-time", "deadline=1ms", "--for", "truenorth", "--pattern", "learned"), "no pattern of digits SR"),
        (("--loss-over-time", "deadline=3ms", "--for", "loihi1"), "give the time in ticks, such as deadline=3"),
        (("--weight-cores", "1"), "--weight-cores 1: is of training for a chip"),
        (("--weight-cores", "1", "--for", "truenorth"), "weight_cores 1: is for patterns that are learned"),
        (("--weight-time", "1", "--for", "truenorth"), "weight_time 1: is for patterns that are learned"),
        (("--execution", "windowd"), "did you mean 'windowed'?"),
    ],
)
def test_options_that_do_not_fit_are_told(neuromap, words, told):
    pytest.importorskip("torch")
    done = neuromap("train", NET, *words, *QUICK)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_a_network_with_a_learned_pattern_is_written_and_runs_under_it(neuromap, tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    words = ("--pattern", "learned", "--execution", "pipelined", "--loss-over-time", "deadline=4ms", "--epochs", 2)
    made = tmp_path / "made.toml"
    net = "examples/digits/deadline/untrained.toml"  # nothing of its frames is drawn
    done = neuromap("train", net, "--for", "truenorth", *words, *QUICK[2:], "-o", made, "--json")
    assert (done.code, done.err) == (0, "")
    learned, frames = done.json["learned"], done.json["frames"]
    assert 1 <= learned["behaviour_class"] <= learned["classes"] == 4
    assert len(done.json["history"][-1]["gates"]) == len(learned["gates"]) == 3
    assert "the pattern is learned in 1 epoch, then trained on" in done.json["chosen"]
    words = ("--part", "validation", "--limit", 30, "--frames", len(frames), "--execution", "pipelined", "--json")
    for pattern in ("learned", learned["pattern"]):
        found = neuromap("accuracy", made, "--pattern", pattern, *words)
        assert [frame["accuracy"] for frame in found.json["frames"]] == pytest.approx(
            [frame["accuracy"] for frame in frames], abs=1e-6
        )
        assert [frame["update_step"] for frame in found.json["frames"]] == [frame["executed_step"] for frame in frames]
