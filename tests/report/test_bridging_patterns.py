"""Edges that bridge frames, from the pattern to the report."""

import json

import jsonschema
import numpy as np
import pytest

from neuromap.errors import PatternError
from neuromap.explorer.explore import explore
from neuromap.network.build import build_network
from neuromap.report import latency_report, report_schema, to_dict
from neuromap.rollout import best_in_class, check_theorem1
from neuromap.rollout.pattern import RolloutPattern


@pytest.fixture(scope="module")
def skip():
    """A chain of three layers, and an edge around them that bridges what they take."""
    edges = [("I", "A"), ("A", "B"), ("B", "O"), ("I", "O")]
    return build_network(
        {"I": (3, None), "A": (3, 1), "B": (3, 1), "O": (3, 2)},
        {key: np.eye(3, dtype=int) for key in edges},
        patterns={"bridge": [("A", "B"), ("B", "O")]},
        bridging={"bridge": {("I", "O"): 2}},
    )


def test_the_best_pattern_of_a_class_answers_windowed_like_its_class_does_pipelined(skip):
    named = RolloutPattern.named(skip, "bridge")
    assert named == best_in_class(RolloutPattern.sequential(skip), bridging=True)
    report = latency_report(skip, patterns=["sequential", "bridge"], n_frames=6)
    rows = {(row.pattern, row.execution): row for row in report.rows}
    assert all(row.status == "mapped" and row.verification.verified for row in report.rows)
    assert len({row.behaviour_class for row in report.rows}) == 1
    one, other = rows["bridge", "windowed"], rows["sequential", "pipelined"]
    assert (one.frame_period_ticks, one.predicted, one.measured) == (1, other.predicted, other.measured)
    assert rows["sequential", "windowed"].frame_period_ticks == 3
    document = to_dict(report)
    jsonschema.validate(document, report_schema())
    bridging = {row["pattern"]: row.get("bridging_edges") for row in json.loads(report.to_json())["rows"]}
    assert bridging == {"sequential": None, "bridge": [{"edge": ["I", "O"], "frames": 2}]}
    assert "I -&gt; O: bridges 2 frames (R = 2)" in report.to_html()


def test_what_is_of_binary_patterns_says_so_in_one_line(skip):
    pattern = RolloutPattern.named(skip, "bridge")
    for refuse in (check_theorem1, lambda p: explore(skip, given=p)):
        with pytest.raises(PatternError, match=r"bridge: edge I -> O bridges frames, R = 2; this is for binary"):
            refuse(pattern)
    assert pattern.digits == "0112"
    assert RolloutPattern(skip, (0, 10, 1, 2)).digits == "0 10 1 2"
