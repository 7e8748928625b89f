"""Accuracy over ticks in the report: what the chip computes, on the time axis of every row, in every form."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

import neuromap as nm
from neuromap.accuracy.measure import accuracy_of_reference
from neuromap.datasets.sources import load_images
from neuromap.errors import NetworkError
from neuromap.render.numbers import seconds
from neuromap.report.drawings.draw_accuracy import draw_accuracy
from neuromap.report.findings import findings
from neuromap.report.page import report_schema
from neuromap.report.text import accuracy_at, accuracy_moments

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "sr.toml"


@pytest.fixture(scope="module")
def images():
    pytest.importorskip("sklearn")
    return load_images("digits", "test", limit=40)


@pytest.fixture(scope="module")
def net():
    return nm.load_network(DIGITS)


@pytest.fixture(scope="module")
def report(net, images):
    names = ["streaming", "sequential"]
    return nm.latency_report(
        net, patterns=names, executions=["windowed"], images=images, n_accuracy_frames=3, n_frames=4
    )


def test_rows_are_as_accurate_as_the_rollout_is_by_definition(report, net, images):
    for row in report.rows:
        expected = accuracy_of_reference(nm.Rollout(net, row.pattern), images, 3)
        assert tuple(frame.accuracy for frame in row.accuracy.frames) == expected
        first, period = row.predicted.first_response_ticks, row.frame_period_ticks
        assert [frame.tick for frame in row.accuracy.frames] == [first, first + period, first + 2 * period]


def test_a_frame_holds_until_the_next_one_is_known(report):
    streaming, sequential = (row.accuracy for row in report.rows)
    assert accuracy_moments(report) == [2, 3, 4]
    assert accuracy_at(sequential, 2) is None
    assert accuracy_at(sequential, 3) == accuracy_at(sequential, 5) == sequential.frames[0].accuracy
    assert accuracy_at(streaming, 99) == streaming.frames[-1].accuracy


def test_every_form_has_it(report):
    document = report.to_dict()
    jsonschema.validate(document, report_schema())
    first = report.rows[0].accuracy
    assert document["rows"][0]["accuracy"]["ticks"] == [2, 3, 4]
    assert document["rows"][0]["accuracy"]["fraction"] == [frame.accuracy for frame in first.frames]
    lines = list(csv.DictReader(io.StringIO(report.to_csv())))
    assert lines[1]["accuracy.ticks"] == "3; 6; 9"
    text = report.to_text(100)
    assert "streaming   windowed" in text
    assert f"{first.frames[0].accuracy:.3f}" in text.split("at tick")[-1]
    page = report.to_html()
    assert "<h2>Accuracy over ticks</h2>" in page
    assert page.count('class="accuracy line1"') == 2 * 2  # the curve and what names it; one picture for telephones


@pytest.mark.parametrize("narrow", [False, True])
def test_four_curves_are_lit_and_the_others_grey(report, narrow):
    row = report.rows[0]

    def scaled(part, name):
        frames = tuple(replace(frame, accuracy=part) for frame in row.accuracy.frames)
        return replace(row, pattern=name, accuracy=replace(row.accuracy, frames=frames))

    rows = [scaled(0.5 + k / 100, f"p{k}") for k in range(6)]
    drawn = draw_accuracy(rows, narrow=narrow)
    assert "grey: 2 curves more, in the table" in drawn
    titles = drawn.replace("<title>", "")  # grey ones are named at the pointer
    assert all(f">p{k}, windowed<" in titles for k in range(6))
    lit = re.findall(r'<path d="[^"]*" class="accuracy line(\w+)"><title>(\w+)', drawn)
    assert sorted(lit) == [("0", "p2"), ("1", "p3"), ("2", "p4"), ("3", "p5"), ("other", "p0"), ("other", "p1")]
    assert "grey" not in draw_accuracy(rows[:4], narrow=narrow)
    twins = [rows[0], replace(rows[0], pattern="twin")]
    assert ">p0 and twin, windowed<" in draw_accuracy(twins, narrow=narrow)


def test_where_ticks_are_timed_accuracy_is_over_time(net, images):
    """Ticks of two patterns last differently there: who is right first is told by seconds, in every form."""
    names = ["streaming", "sequential"]
    found = nm.latency_report(
        net, "loihi1", patterns=names, executions=["windowed"], images=images, n_accuracy_frames=2, n_frames=4
    )
    first = {row.pattern: row.accuracy.frames[0] for row in found.rows}
    assert first["streaming"].tick < first["sequential"].tick
    early = min(first, key=lambda name: first[name].seconds)
    assert early == "sequential"  # in fewer microseconds, though in more ticks
    assert accuracy_moments(found)[0] == first[early].seconds
    told = next(f.text for f in findings(found) if f.kind == "accuracy")
    assert told.startswith(f"after {seconds(first[early].seconds)} {early} names ")
    assert "before streaming has answered" in told
    assert "at tick" not in told
    page = found.to_html()
    assert "<h2>Accuracy over time</h2>" in page
    assert "time since stimulus onset" in page


def test_without_images_there_is_none(net):
    found = nm.latency_report(net, patterns=["streaming"], executions=["windowed"], n_frames=4)
    assert found.to_dict()["rows"][0]["accuracy"] is None
    assert "accuracy" not in found.to_text(100)
    assert "Accuracy over ticks" not in found.to_html()


def test_a_network_that_takes_intensities_is_refused_before_anything_is_mapped(images):
    with pytest.raises(NetworkError, match="a chip takes spikes"):
        nm.latency_report(replace(nm.load_network(DIGITS), tables={}), images=images)
