"""Rollouts over numbers of cores: rows, leads, text and picture."""

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import neuromap as nm
from neuromap.errors import InputError, NotSupportedError
from neuromap.network.build import build_network
from neuromap.render.plot import log_ends
from neuromap.report.over_cores import BEST, Lead, seconds_over_cores
from neuromap.rollout.schedule.tick_seconds import FIGURES
from neuromap.simulation.cost.frame_work import _loads, count_frame_work


@pytest.fixture(scope="module")
def over():
    net = nm.load_network(Path(__file__).resolve().parents[2] / "examples" / "digits" / "sr.toml")
    return seconds_over_cores(count_frame_work(net, "loihi1"), ["streaming", "sequential", "hybrid"])


def test_rows_are_the_patterns_and_what_bounds_them(over):
    assert over.cores == (1, 2, 4, 8, 16, 32, 64, 128)
    *rows, best = over.rows
    assert [row.name for row in rows] == [
        "streaming, windowed", "sequential, windowed", "hybrid, windowed", "shortest path first, pipelined:3",
    ]  # fmt: skip
    assert best.pattern == BEST
    for k in range(len(over.cores)):
        for figure in FIGURES:
            assert getattr(best.figures[k], figure) <= min(getattr(row.figures[k], figure) for row in rows)
        # theorem 2, and streaming samples most often
        assert best.figures[k].first == rows[3].figures[k].first
        assert best.figures[k].period == rows[0].figures[k].period


def test_titles_count_neurons_that_the_mapper_leaves_out(over):
    weights = np.ones((4, 4), int)
    nodes = {"I": (4, None), "H": (4, 1), "O": (4, 1)}
    net = build_network(nodes, {("I", "H"): weights, ("H", "O"): weights * [1, 0, 1, 0]}, outputs=["O"])
    spread = seconds_over_cores(count_frame_work(net, over.work.chip), ["streaming"], cores=[1])
    assert nm.map_rollout(nm.Rollout(net, "streaming"), over.work.chip).left_out == {"H": 2}
    assert "evenly spread, with 2 on which no output depends and which the mapper leaves out." in str(spread)
    assert "evenly spread.\n" in str(over)


def test_steps_of_several_ticks_are_left_to_what_is_mapped(over):
    with pytest.raises(NotSupportedError, match="its least delay is 2 ticks"):
        count_frame_work(over.work.network, replace(over.work.chip, delay=(2, 62)))


def test_leads_say_from_how_many_cores_on(over):
    (lead,) = [lead for lead in over.leads if (lead.figure, lead.other) == ("first", "sequential, windowed")]
    (start, end), n = lead.ranges[0], over.work.most_cores
    assert end == n == 128
    rollouts = [nm.Rollout(over.work.network, name) for name in ("streaming", "sequential")]
    before, after = ([over.work.seconds(r, cores).first for r in rollouts] for cores in (start - 1, start))
    assert before[0] >= before[1]
    assert after[0] < after[1]
    assert f"answers before sequential (windowed) from {start} cores on" in str(over)


def test_what_cores_do_is_counted_once_for_all_rollouts_and_figures(over):
    """It is the most of the work, and does not depend on the rollout."""
    before = _loads.cache_info().misses
    again = seconds_over_cores(over.work, ["streaming", "sequential", "hybrid"])
    assert again.leads == over.leads
    assert _loads.cache_info().misses - before <= over.work.most_cores + len(over.cores)


@pytest.mark.parametrize(
    ("figure", "ranges", "told"),
    [
        ("first", (), "a (b) never answers before c on 2 to 9 cores"),
        ("full", ((2, 9),), "a (b) answers in full before c on 2 to 9 cores"),
        ("period", ((3, 9),), "a (b) samples more often than c from 3 cores on"),
        ("period", ((2, 4),), "a (b) samples more often than c on 2 to 4 cores"),
        ("reaction", ((2, 3), (7, 9)), "a (b) reacts before c from 7 cores on, and on some numbers from 2 on"),
    ],
)
def test_leads_in_words(figure, ranges, told):
    assert Lead(figure, "a, b", "c", ranges, 2, 9).told == told


def test_the_picture_has_logarithmic_axes(over, tmp_path):
    over.save(tmp_path / "cores.svg")
    drawn = (tmp_path / "cores.svg").read_text(encoding="utf-8")
    dots = [float(y) for y in re.findall(r'<circle class="dot0"[^>]* cy="([\d.]+)"', drawn)][:8]
    first = [row.first for row in over.rows[0].figures]
    # equal ratios are equal heights
    assert (dots[1] - dots[0]) / (dots[2] - dots[0]) == pytest.approx(
        math.log(first[1] / first[0]) / math.log(first[2] / first[0]), rel=1e-2
    )
    assert "answers before" in over._repr_html_()


@pytest.mark.parametrize(
    ("least", "most", "ends"), [(3, 40, (2, 50)), (0.1, 1, (0.1, 1)), (5, 5, (5, 10)), (7, 99, (5, 100))]
)
def test_ends_of_logarithmic_axes(least, most, ends):
    assert log_ends(least, most) == pytest.approx(ends)


def test_bad_numbers_of_cores_are_refused(over):
    with pytest.raises(InputError, match="1 or more"):
        seconds_over_cores(over.work, cores=[0, 4])
    with pytest.raises(InputError, match="cores 129: loihi1 has 128; give 1 to 128"):
        seconds_over_cores(over.work, cores=[4, 129])
