"""Frames at unequal intervals on the command line: mapped, simulated, verified, reported, with mean and largest gap."""

import json
import re

import jsonschema
import numpy as np
import pytest

import neuromap as nm
from neuromap.report.page import report_schema

INTERVALS = {"frames": 2, "ticks": 3, "largest_gap_ticks": 2}
PATTERN = "a -> b, b -> c"


@pytest.fixture
def ring(folder):
    nodes = {"I": (3, None), "a": (3, 1), "b": (3, 1), "c": (3, 1), "O": (3, 1)}
    edges = [("I", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "O")]
    nm.build_network(nodes, dict.fromkeys(edges, np.eye(3, dtype=int)), name="ring").save(folder / "ring.toml")
    return folder / "ring.toml"


def test_a_program_says_mean_and_largest_gap(folder, ring, neuromap):
    path = folder / "ring.nmp"
    shown = neuromap("map", ring, "--pattern", PATTERN, "--execution", "pipelined:best", "-o", path).out
    assert "3/2 ticks = 1.5 ms on average, frames 1 or 2 ticks apart, sampling at 666.7 Hz" in " ".join(shown.split())
    done = neuromap("map", ring, "--pattern", PATTERN, "--execution", "pipelined:best", "--json").json
    assert (done["frame_period_ticks"], done["intervals"]) == (1.5, INTERVALS)
    run = neuromap("simulate", path, "--frames", "6")
    assert "2 frames every 3 ticks, 2 or less apart" in " ".join(run.out.split())
    assert re.findall(r"\d at (\d)", run.out) == ["1", "2", "4", "5", "7"]
    assert neuromap("simulate", path, "--frames", "6", "--json").json["intervals"] == INTERVALS
    verified = neuromap("verify", ring, "--program", path, "--pattern", PATTERN)
    assert (verified.code, "verified" in verified.out) == (0, True)
    told = neuromap("verify", ring, "--program", path, "--pattern", PATTERN, "--json").json
    assert (told["frame_period_ticks"], told["rollout_period_ticks"], told["intervals"]) == (1.5, 1.5, INTERVALS)
    other = neuromap("verify", ring, "--program", path, "--pattern", PATTERN, "--execution", "pipelined")
    assert other.code == 5
    assert "frame period of the program is 3/2 ticks, that of the rollout 2" in other.out + other.err


def test_a_report_says_mean_and_largest_gap(ring):
    net = nm.load_network(ring)
    pattern = nm.RolloutPattern.from_streaming_edges(net, [("a", "b"), ("b", "c")])
    report = nm.latency_report(net, patterns=[pattern], executions=["pipelined", "pipelined:best"])
    document = json.loads(report.to_json())
    jsonschema.validate(document, report_schema())
    equal, best = document["rows"]
    assert "intervals" not in equal
    assert (best["frame_period_ticks"], best["intervals"], best["verified"]) == (1.5, INTERVALS, True)
    assert best["sampling_frequency_hz"] == pytest.approx(2000 / 3)
    assert best["predicted"]["first_response_ticks"] == best["measured"]["first_response_ticks"]
    assert best["worst_case_reaction_ticks"] == best["predicted"]["first_response_ticks"] + 2 - 1
    for shown in (report.to_text(), report.to_html()):
        assert "rame period 3/2: a mean, 2 frames every 3 ticks, 2 or less apart" in shown
