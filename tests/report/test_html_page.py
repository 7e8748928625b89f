"""The HTML page: self-contained, well formed, escaped, with the figures of the report."""

import json
import re
from html import unescape
from xml.etree import ElementTree

import numpy as np
import pytest
from html_pages import Page
from small_networks import network_of_any_names

from neuromap.mapping.options.options import MappingOptions
from neuromap.network.build import build_network
from neuromap.network.network import Network
from neuromap.report import latency_report
from neuromap.report.drawings.draw_network import MOST_EDGES
from neuromap.report.drawings.draw_timeline import draw_overview
from neuromap.report.findings import findings
from neuromap.report.text import distinct_rows
from neuromap.rollout.pattern import RolloutPattern

pytestmark = pytest.mark.smoke

HOSTILE = '<script>alert("1")</script>'
NAMES = {"I": 'I"><img src=x onerror=alert(2)>', "A": "A</text></svg><b>", "O": "{{ 7 * 7 }}&amp;'"}


def hostile_network():
    one = np.ones((1, 1), dtype=int)
    edges = [("I", "A"), ("A", "O"), ("I", "O"), ("A", "A")]
    return network_of_any_names(
        {NAMES["I"]: (1, None), NAMES["A"]: (1, 1), NAMES["O"]: (1, 1)},
        {(NAMES[u], NAMES[v]): one for u, v in edges},
        patterns={"<i>p</i>": [(NAMES["A"], NAMES["A"])], "<u>bad</u>": []},
        name=HOSTILE,
    )


@pytest.fixture(scope="module")
def report():
    return latency_report(hostile_network(), patterns=["streaming", "<i>p</i>", "<u>bad</u>"])


@pytest.fixture(scope="module")
def html(report):
    return report.to_html()


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


def test_the_page_is_well_formed_and_runs_its_own_script_only(page, html):
    assert html.startswith("<!DOCTYPE html>")
    assert not {"b" * 3, "u", "i"} & set(page.tags)
    page.require_closed()
    without_name = page.without_scripts.replace(HOSTILE, "")
    assert not re.search(r"https?:|//[a-z]|url\(|@import", without_name)


def test_the_page_holds_its_data(page, report):
    found = [json.loads(text) for text in page.data_blocks()]
    assert found == [json.loads(report.to_json()), report.to_csv()]


def test_edges_of_cones_are_those_of_the_patterns(html, report):
    network = report.network
    found = [json.loads(unescape(text)) for text in re.findall(r'data-stepped data-edges="(.*?)"', html)]
    position = {name: k for k, name in enumerate(network.nodes)}
    rows = [row for row in report.rows if row.execution == "windowed" and row.status == "mapped"]
    wanted = [
        [[position[u], position[v], int((u, v) in row.streaming_edges)] for u, v in network.edges] for row in rows
    ]
    assert found == wanted


def test_findings_compare_rows_of_one_time_axis():
    one = np.ones((1, 1), dtype=int)
    edges = {("I", "A"): one, ("A", "B"): one, ("B", "O"): one, ("I", "O"): one}
    network = build_network({"I": (1, None), "A": (1, 1), "B": (1, 1), "O": (1, 1)}, edges)
    report = latency_report(network, patterns=["streaming", "sequential"])
    said = [(finding.text, finding.execution) for finding in findings(report)]
    for row in report.rows:
        ticks = row.measured.first_response_ticks
        mine = [text for text, execution in said if execution == row.execution and "stimulus onset" in text]
        assert len(mine) == 1
        assert f"{ticks} tick" in mine[0]
    text = "streaming answers first: 1 tick (1 ms) after stimulus onset; sequential 3 ticks (3 ms)"
    assert [execution for found, execution in said if found == text] == ["windowed", "pipelined"]


def test_findings_leave_names_as_they_are_and_tell_equal_others_once():
    one = np.ones((1, 1), dtype=int)
    edges = {("I", "A"): one, ("A", "B"): one, ("B", "O"): one, ("I", "O"): one}
    network = build_network({"I": (1, None), "A": (1, 1), "B": (1, 1), "O": (1, 1)}, edges)
    patterns = [RolloutPattern.from_values(network, (0 if k else 1,) * 4, f"p{k}") for k in range(10)]
    page = latency_report(network, patterns=patterns, executions=["windowed"], n_frames=3).to_html()
    assert "<li>p0 answers first: 1 tick (1 ms) after stimulus onset; 9 others 3 ticks (3 ms).</li>" in page


def test_names_are_text_whatever_they_hold(page):
    text = "".join(page.text)
    assert HOSTILE in text
    assert "<i>p</i>" in text
    assert "49" not in text  # names are no templates
    for name in NAMES.values():
        assert name in text  # tooltips bear whole names


def drawings(html):
    return [ElementTree.fromstring(part) for part in re.findall(r"<svg.*?</svg>", html, re.DOTALL)]


def test_all_drawings_are_there_and_well_formed(html, report):
    found = [d.get("aria-label") or "" for d in drawings(html)]
    assert sum(name.startswith("Network") for name in found) == 2 * 3  # one of them for telephones
    assert sum(name.startswith("Rollout window of size 3") for name in found) == 2  # not of the invalid pattern
    mapped = [row for row in distinct_rows(report) if row.status == "mapped"]
    assert sum(name.startswith("Timeline") for name in found) == len(mapped)
    assert sum(name.startswith("Responses, frame periods") for name in found) == 2  # one of them for telephones


def test_drawings_use_colours_of_the_style_sheet_only(page, html):
    body = page.without_scripts.split("</style>")[1]
    assert not re.search(r"\b(fill|stroke|style)=", body)
    style = html.split("<style>")[1].split("</style>")[0]
    assert "prefers-color-scheme: dark" in style
    used = set(re.findall(r"var\((--[\w-]+)\)", style))
    light, dark = style.split("prefers-color-scheme: dark")[:2]
    for name in used:
        assert f"{name}:" in light
        assert f"{name}:" in dark.split("}")[0]


def test_table_rows_say_what_the_report_says(html, report):
    text = re.sub(r"\s+", " ", html)
    mapped = [row for row in distinct_rows(report) if row.status == "mapped"]
    assert text.count("✓ proven") == 3 * len(mapped)  # in the summary, in the table, and at the head of each row
    assert "its sequential edges form the cycle" in text
    assert "✓ verified in every mapped row" in text
    assert "✗" not in text.split("</header>")[0]
    for unit in ("<small>ticks</small>", "<small>Hz</small>", "<small>update steps</small>"):
        assert unit in text


def test_rows_that_were_not_mapped_are_not_told_as_wrong():
    """A neuron that reads more than a core has axons."""
    nodes = {"I": (300, None), "O": (1, 1)}
    edges = {("I", "O"): np.arange(1, 301)[np.newaxis] % 120}
    html = latency_report(build_network(nodes, edges), patterns=["streaming"], n_frames=3).to_html()
    assert "not asked: no row was mapped" in html
    assert "✗ not in" not in html
    assert 'class="hero"' not in html


def test_a_telephone_sees_the_first_picture_whole_and_long_timelines_are_not_shrunk(report, html):
    narrow = ElementTree.fromstring(draw_overview(report, narrow=True))
    assert float(narrow.get("width")) <= 340
    texts = "".join(narrow.itertext())
    for row in report.rows:
        if row.status == "mapped":
            periods, cores = row.frame_period_ticks, row.usage.cores
            assert f"every {periods} tick{'s' * (periods != 1)}, {cores} core{'s' * (cores != 1)}" in texts
    assert not re.search(r'class="scroll long"', html)
    stretched = MappingOptions(ticks_per_step=40)
    slow = latency_report(hostile_network(), patterns=["streaming"], n_frames=3, options=stretched).to_html()
    assert re.search(r'class="scroll long"', slow)


def test_networks_that_nobody_could_read_are_not_drawn():
    n = 20
    one = np.ones((1, 1), dtype=int)
    nodes = {"I": (1, None), **{f"A{k}": (1, 1) for k in range(n)}}
    edges = {("I", "A0"): one} | {(f"A{j}", f"A{k}"): one for j in range(n) for k in range(j + 1, n)}
    assert len(edges) > MOST_EDGES
    html = latency_report(
        build_network(nodes, edges), patterns=["streaming"], executions=["windowed"], n_frames=3
    ).to_html()
    assert "too many edges to be drawn" in html
    assert "Rollout window of size" not in html


def test_a_report_without_any_mapped_row_is_still_a_page(chip):
    report = latency_report(
        hostile_network(), chip=chip(cores=(1, 1), axons=1, neurons=1), patterns=["streaming"], executions=["windowed"]
    )
    assert report.rows[0].status == "does not fit"
    page = Page(report.to_html())
    assert report.rows[0].message in "".join(page.text)
    assert isinstance(report.network, Network)
