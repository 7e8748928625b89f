"""Reports and explorations in a browser: what scripts show is what the library says."""

import json
import re
from collections import deque
from dataclasses import replace
from pathlib import Path

import pytest

import neuromap as nm
from neuromap.report.text import distinct_rows
from neuromap.sweep import sweep_mappings

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def network():
    return nm.load_network(ROOT / "examples" / "digits" / "sr.toml")


@pytest.fixture(scope="module")
def report(network):
    return nm.latency_report(network, patterns=["streaming", "sequential", "hybrid"])


@pytest.fixture(scope="module")
def report_page(report, tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "report.html"
    path.write_text(report.to_html(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def exploration(network):
    return nm.explore(network)


@pytest.fixture(scope="module")
def exploration_page(exploration, tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "exploration.html"
    path.write_text(exploration.to_html(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def import_page(tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "import.html"
    found = nm.from_nir(ROOT / "examples" / "nir" / "snntorch.nir", tool="snntorch")
    path.write_text(replace(found, source="examples/nir/snntorch.nir").to_html(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def sweep_page(network, tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "sweep.html"
    chips = {"core.axons": [64, 128, 256], "core.neurons": [128, 256]}
    found = sweep_mappings(nm.Rollout(network, "streaming"), "truenorth", chips)
    path.write_text(found.to_html(), encoding="utf-8")
    return path


def open_all(page):
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true })")


def assert_no_ticks_alike(page):
    """Numbers along an axis of a chart differ; some may be left out."""
    for axis in page.locator(".plot g.role-axis-label").all():
        texts = [text for text in axis.locator("text").all_text_contents() if text.strip()]
        assert texts
        assert len(texts) == len(set(texts))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("name", ["report_page", "exploration_page", "import_page"])
def test_pages_fit_and_are_accessible(name, width, scheme, request, open_page, assert_fits, assert_accessible, shoot):
    page = open_page(request.getfixturevalue(name), scheme=scheme, width=width)
    open_all(page)
    assert request.getfixturevalue(name).stat().st_size < 2_000_000
    page.wait_for_function("[...document.querySelectorAll('.plot summary')].every(part => part.ariaLabel)")
    assert_fits(page)
    for hero in page.locator(".hero .scroll, .hero .narrow").all():  # the first picture is seen whole
        assert not hero.is_visible() or hero.evaluate("part => part.scrollWidth <= part.clientWidth")
    assert_no_ticks_alike(page)
    assert_accessible(page)
    name = name.replace("_", "-")
    shoot(page, f"{name}-{width}-{scheme}")
    if (width, scheme) == (1440, "light"):
        page.evaluate("scrollTo(0, 0)")
        shoot(page, name, for_docs=True, full_page=False)


CUT = """() => [...document.querySelectorAll("main *")].filter((part) => part.checkVisibility()).flatMap((part) => {
  const box = part.getBoundingClientRect(), svg = part.closest("svg");
  if (!box.width) return [];
  if (svg && part.tagName !== "svg") {
    const whole = svg.getBoundingClientRect(), out = box.right > whole.right + 1 || box.left < whole.left - 1;
    return part.tagName === "text" && (out || box.bottom > whole.bottom + 2) ? [part.textContent] : [];
  }
  const scrolls = part.scrollWidth > part.clientWidth + 1 && getComputedStyle(part).overflowX !== "visible";
  return part.clientWidth && (scrolls || box.right > innerWidth + 1) ? [`${part.tagName}.${part.className}`] : [];
})"""
"""What is wider than its place: parts that scroll or stand out, letters outside their drawing."""


@pytest.mark.parametrize(("width", "most"), [(1440, 5000), (390, 8000)])
def test_a_report_is_short_and_nothing_is_cut(width, most, report_page, open_page):
    page = open_page(report_page, width=width)
    assert page.locator("details[open]").count() == 1  # the first pattern
    assert page.evaluate("document.documentElement.scrollHeight") <= most
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = false })")
    assert page.evaluate("document.documentElement.scrollHeight") <= most / 1.5
    open_all(page)
    assert page.evaluate(CUT) == []


@pytest.mark.parametrize("name", ["exploration_page", "sweep_page"])
def test_telephones_see_other_pages_whole(name, request, open_page):
    page = open_page(request.getfixturevalue(name), width=390)
    assert page.evaluate(CUT) == []


def test_the_summary_says_what_the_report_says(report, report_page, open_page):
    page = open_page(report_page)
    rows = page.locator(".summary tbody tr").all()
    said = [[cell.inner_text() for cell in row.locator("th, td").all()] for row in rows]
    assert [(line[0], line[1]) for line in said] == [(row.pattern, row.execution) for row in distinct_rows(report)]
    for line, row in zip(said, distinct_rows(report), strict=True):
        for text, ticks in zip(
            line[2:5],
            (row.measured.first_response_ticks, row.worst_case_reaction_ticks, row.frame_period_ticks),
            strict=True,
        ):
            assert text == f"{ticks} tick{'s' * (ticks != 1)} ({ticks} ms)"
        assert line[5] == str(row.usage.cores)


def test_the_window_goes_step_by_step(report, report_page, open_page):
    page = open_page(report_page)
    open_all(page)
    for k, name in enumerate(("streaming", "sequential", "hybrid")):
        pattern = nm.RolloutPattern.named(report.network, name)
        tableau = pattern.tableau(3)
        figure = page.locator("figure[data-stepped]").nth(k)
        last = max(tableau.values())
        assert figure.locator("output").inner_text() == f"{last} update steps"
        for step in range(last + 1):
            figure.locator(".stepper .on").click()
            known = sum(value == step for value in tableau.values())
            assert figure.locator("output").inner_text() == f"update step {step} of {last}: {known} known now"
            assert figure.locator("g.node.now").count() == known
            assert figure.locator("g.node.later").count() == sum(value > step for value in tableau.values())


def cone(edges, start, frames, sign):
    """Places that are reached from one by a search of our own: ``sign`` is -1 for what it depends on."""
    found, open_places = {start}, deque([start])
    while open_places:
        frame, node = open_places.popleft()
        for source, target, bridged in edges:
            here, there = (target, source) if sign < 0 else (source, target)
            place = (frame + sign * bridged, there)
            if here == node and 0 <= place[0] <= frames and place not in found:
                found.add(place)
                open_places.append(place)
    return found - {start}


def test_cones_of_influence_follow_the_pointer_and_the_focus(report, report_page, open_page):
    page = open_page(report_page)
    open_all(page)
    names = list(report.network.nodes)
    figure = page.locator("figure[data-stepped]").nth(1)
    edges = json.loads(figure.get_attribute("data-edges"))
    for place in ((2, names.index("H2")), (0, 0), (3, names.index("O"))):
        part = figure.locator(f'[data-at="{place[0]}.{place[1]}"]')
        part.focus()
        for class_, sign in (("past", -1), ("future", 1)):
            found = {
                tuple(map(int, g.get_attribute("data-at").split("."))) for g in figure.locator(f"g.node.{class_}").all()
            }
            assert found == cone(edges, place, 3, sign)
        assert figure.locator(".said").inner_text().startswith(f"{names[place[1]]}: of what is drawn it depends on")
        part.hover()
        part.blur()
        page.mouse.move(0, 0)
        assert figure.locator(".past, .future").count() == 0


def test_data_are_saved_and_tables_sorted(report, report_page, open_page, tmp_path):
    page = open_page(report_page)
    page.locator("#tables summary").first.click()
    for what, wanted in (("the data as JSON", report.to_json()), ("all rows as CSV", report.to_csv())):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save {what}").click()
        saved = tmp_path / download.value.suggested_filename
        download.value.save_as(saved)
        text = saved.read_bytes().decode()
        assert json.loads(text) == json.loads(wanted) if saved.suffix == ".json" else text == wanted
    table = page.locator("#tables table").first
    heads = [head.inner_text() for head in table.locator("thead th").all()]
    column = next(k for k, head in enumerate(heads) if head.startswith("Worst-case"))
    for descending in (False, True):
        table.locator("thead th").nth(column).get_by_role("button").click()
        found = [int(row.locator("th, td").nth(column).inner_text()) for row in table.locator("tbody tr").all()]
        assert found == sorted((row.worst_case_reaction_ticks for row in distinct_rows(report)), reverse=descending)


def test_every_head_leads_to_its_definition(report_page, open_page):
    page = open_page(report_page)
    page.locator("#tables summary").first.click()
    page.locator("#tables thead a").first.click()
    assert page.locator("#def-pattern").is_visible()
    assert page.evaluate("location.hash") == "#def-pattern"


def test_the_chip_is_shown_by_other_figures(report_page, open_page):
    page = open_page(report_page)
    views = page.locator("fieldset.views").first
    for k, name in enumerate(("node", "neurons in use", "copies", "spikes", "load of links")):
        views.get_by_text(name, exact=True).click()
        assert [view.is_visible() for view in views.locator(".view").all()] == [j == k for j in range(5)]


def test_the_chart_filters_rows(exploration, exploration_page, open_page):
    page = open_page(exploration_page)
    mapped = [row for row in exploration.rows if row.cores is not None]
    chart = page.locator("#rows-chart")
    marks = chart.locator("g.mark-symbol.role-mark path")
    assert marks.count() == len(mapped)
    chart.get_by_role("checkbox", name="windowed").uncheck()
    kept = [row for row in mapped if row.candidate.execution != "windowed"]
    page.wait_for_function(
        f"document.querySelectorAll('#rows-chart g.mark-symbol.role-mark path').length === {len(kept)}"
    )
    assert re.match(rf"{len(kept)} of {len(mapped)} rows", chart.locator(".said").inner_text())
    chart.get_by_role("combobox", name="upwards").select_option("energy")
    chart.get_by_text("energy [µJ per frame]", exact=True).last.wait_for()
