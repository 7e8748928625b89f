"""Accuracy of the digits networks on the simulated chip: the script against the reference, digit by digit."""

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import neuromap as nm

pytest.importorskip("sklearn", reason="the digits ship inside scikit-learn: install neuromap-rollouts[examples]")

DIGITS = Path(__file__).parents[2] / "examples" / "digits"


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the script with these words, in this process."""
    monkeypatch.syspath_prepend(str(DIGITS))
    monkeypatch.delitem(sys.modules, "data", raising=False)

    def run(*words):
        monkeypatch.setattr(sys, "argv", [str(DIGITS / "accuracy.py"), *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(sys.argv[0], run_name="__main__")
        return ended.value.code, *capsys.readouterr()

    return run


@pytest.mark.parametrize("pattern", ["streaming", "hybrid"])
def test_the_accuracy_on_the_chip_is_that_of_the_reference(pattern, run):
    code, out, err = run(DIGITS / "sr.toml", "--pattern", pattern, "--digits", "20", "--frames", "5", "--threads", "2")
    assert (code, err) == (0, "")
    import data

    intensities, labels = data.load("held-out")
    net = nm.load_network(DIGITS / "sr.toml")
    rollout = nm.Rollout(net, nm.RolloutPattern.named(net, pattern))
    shown = np.pad(data.encode(intensities[:20], 5, seed=1), ((0, 0), (1, data.TAIL), (0, 0)))
    votes = [nm.reference(rollout, {"I": rows})["O"].sum(axis=0).reshape(10, -1).sum(axis=1) for rows in shown]
    correct = np.mean([vote.argmax() == label for vote, label in zip(votes, labels, strict=False)])
    assert re.search(r"([0-9.]+) of 20 digits, 5 frames each", out).group(1) == f"{correct:.3f}"


@pytest.mark.parametrize("words", [["--digits", "0"], ["--frames", "0"], ["--seed", "-1"], ["--threads", "0"]])
def test_wrong_words_are_refused(words, run):
    code, out, err = run(DIGITS / "sr.toml", *words)
    assert (code, out) == (2, "")
    assert "must be" in err
