"""The forms of an exploration: tables, JSON, CSV, the page, the picture."""

import csv
import io
import math
import re
from dataclasses import replace
from itertools import product
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pytest
from html_pages import Page
from hypothesis import given, settings
from hypothesis import strategies as st
from small_networks import network_of_any_names

import neuromap as nm
from neuromap.errors import DoesNotFitError
from neuromap.explorer.answer.advice import advise, constant_objectives, list_rows
from neuromap.explorer.answer.exploration import Exploration, Gap
from neuromap.explorer.answer.limits import OBJECTIVES, Candidate, ExploredRow, Limits, value_of
from neuromap.explorer.document import exploration_schema, front_chart, to_csv, to_dict, to_html
from neuromap.explorer.draw_front import constant_line, draw_front, make_axis, to_svg
from neuromap.explorer.text import count_line, render_text

HOSTILE = '<script>alert("1")</script>'
NAMES = {"I": 'I"><img src=x onerror=alert(2)>', "A": "A</text></svg><b>", "O": "{{ 7 * 7 }}&amp;'"}
BY_NAME = {objective.name: objective for objective in OBJECTIVES}
CHIP = nm.load_chip("truenorth")


def hostile_network():
    one = np.ones((1, 1), dtype=int)
    edges = [("I", "A"), ("A", "O"), ("I", "O"), ("A", "A")]
    return network_of_any_names(
        {NAMES["I"]: (1, None), NAMES["A"]: (1, 1), NAMES["O"]: (1, 1)},
        {(NAMES[u], NAMES[v]): one for u, v in edges},
        patterns={"<i>p</i>": [(NAMES["A"], NAMES["A"])]},
        name=HOSTILE,
    )


NETWORK = hostile_network()
EDGES = list(NETWORK.edges)


GIVEN_CLASS = 2


def name_of(values):
    return ", ".join(f"{u} -> {v}" for (u, v), value in zip(EDGES, values, strict=True) if value)


def make_row(values, execution="windowed", *, status="mapped", cores=4, **changes):
    fields = {
        "pattern": name_of(values), "n_patterns": 1, "behaviour_class": GIVEN_CLASS, "frame_period_ticks": 1,
        "first_response_ticks": 2, "full_response_ticks": 3, "worst_case_reaction_ticks": 2,
        "full_response_exact": True, "tick_seconds": 1e-3, "core_bound": 2, "energy_bound": None,
        "cores": cores if status == "mapped" else None,
        "verified": True if status == "mapped" else None,
    }  # fmt: skip
    fields |= changes
    needs_retraining = fields["behaviour_class"] != GIVEN_CLASS
    candidate = Candidate(values, execution, CHIP.name)
    return ExploredRow(candidate=candidate, status=status, needs_retraining=needs_retraining, **fields)


def explored(rows, **changes):
    fields = {
        "n_valid_patterns": 8, "n_classes": 2, "n_candidates": 16, "n_rows": 9, "n_mapped": 5,
        "given_class": GIVEN_CLASS,
        "gap": Gap(True, 0, 1.0, 2, 1, "The front is exact."),
        "stimulus": {"kind": "random", "n_frames": 32, "seed": 0, "density": None, "n_stimuli": 5},
    }  # fmt: skip
    given_pattern = nm.RolloutPattern.named(NETWORK, "<i>p</i>")
    return Exploration(NETWORK, given_pattern, (CHIP,), tuple(rows), **{**fields, **changes})


@pytest.fixture(scope="module")
def some():
    """Both groups, every status, rows on and off fronts."""
    return explored(
        [
            make_row((0, 0, 0, 1), pattern="<i>p</i>", cores=3, frame_period_ticks=2, on_class_front=True),
            make_row((0, 0, 0, 1), "pipelined:2", cores=5, on_front=True, on_class_front=True, energy_joules=3e-6),
            make_row(
                (1, 1, 1, 1), pattern="streaming", behaviour_class=1, cores=2, full_response_ticks=7, on_front=True
            ),
            make_row((1, 0, 1, 1), behaviour_class=3, cores=9, first_response_ticks=4, full_response_exact=False),
            make_row((0, 1, 1, 1), behaviour_class=4, status="not mapped", first_response_ticks=1),
            make_row((1, 0, 0, 1), status="does not fit", message="node A: 300 sources, bound 256"),
            make_row((0, 1, 0, 1), behaviour_class=4, status="excluded"),
        ],
        gap=Gap(False, 1, math.inf, 2, 1, "Not exact: one row is open."),
        n_valid_patterns=2**70,
        n_classes=None,
    )


@st.composite
def explorations(draw):
    rows = []
    for values in draw(st.lists(st.sampled_from(list(product((0, 1), (0, 1), (0, 1), (1,)))), max_size=12)):
        status = draw(st.sampled_from(["mapped", "mapped", "mapped", "not mapped", "does not fit", "excluded"]))
        first, bound = draw(st.integers(1, 9)), draw(st.integers(1, 400))
        rows.append(
            make_row(
                values, draw(st.sampled_from(["windowed", "pipelined", "pipelined:4"])), status=status,
                cores=bound + draw(st.integers(0, 300)), core_bound=bound, first_response_ticks=first,
                full_response_ticks=first + draw(st.integers(0, 40)), frame_period_ticks=draw(st.integers(1, 9)),
                behaviour_class=draw(st.integers(1, 3)), on_front=status == "mapped" and draw(st.booleans()),
                on_class_front=status == "mapped" and draw(st.booleans()),
                energy_bound=draw(st.sampled_from([None, 1e-7])),
                message="refused" if status == "does not fit" else "",
            )
        )  # fmt: skip
    return explored(rows)


@pytest.mark.parametrize(
    ("n_patterns", "whom"),
    [((1,), "1 pattern (#1)"), ((3, 4), "7 patterns (#1 to #2)"), ((4, 4), "all 8 patterns (#1 to #2)")],
)
def test_a_refusal_is_told_once_with_the_patterns_it_concerns(n_patterns, whom):
    why, other = "node A: 300 sources, bound 256", "node B: 301 sources, bound 256"
    values = list(product((0, 1), (0, 1), (0, 1), (1,)))
    refused = [
        make_row(v, status="does not fit", message=why, n_patterns=n) for v, n in zip(values, n_patterns, strict=False)
    ]
    last = make_row(values[-1], status="does not fit", message=other, first_response_ticks=5)
    gap = Gap(False, 0, math.inf, 0, 0, f"no row fits: {why}", nothing_fits=True)
    exploration = explored([*refused, last], gap=gap)
    text = " ".join(exploration.to_text(300).split())
    assert f"{whom}: {why} " in text
    assert re.search(rf"1 pattern \(#\d\): {other} ", text)
    for told in (text, exploration.to_html().split("<script")[0]):
        assert told.count(other) == 1
    assert text.count(why) == 1
    assert text.endswith("No row fits.")


# JSON and CSV.


@given(explorations(), st.sampled_from(["", "cores <= 200", "cores <= 3, energy <= 1nJ"]))
@settings(deadline=None, max_examples=40)
def test_every_document_follows_the_schema(exploration, text):
    limits = Limits.parse(text)
    best = BY_NAME["cores"]
    advice = advise(exploration, best, limits) if limits.best(exploration.rows, best) is not None else None
    document = to_dict(exploration, limits, advice)
    validator = jsonschema.Draft202012Validator(exploration_schema())
    validator.validate(document)
    assert len(document["rows"]) == len(exploration.rows)
    for row, found in zip(exploration.rows, document["rows"], strict=True):
        for objective in exploration.objectives:
            assert found[objective.name] == getattr(row, objective.name)
        assert found["within_limits"] == limits.allows(row)
        assert found["message"] == (row.message or None)
    if advice is not None:
        assert exploration.rows[document["best"]["row"]] == advice.row


def test_the_schema_is_sound_and_strict(some):
    schema = exploration_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    document = to_dict(some)
    for spoil in ({"format": "neuromap-exploration-0"}, {"more": 1}, {"rows": [{}]}, {"counts": {}}):
        assert not validator.is_valid({**document, **spoil})


def test_what_is_not_defined_is_null(some):
    document = to_dict(some)
    assert document["gap"]["cores_factor"] is None
    assert document["counts"]["valid_patterns"] == str(2**70)
    assert document["counts"]["behaviour_classes"] is None
    assert set(document["limits"].values()) == {None}
    assert document["best"] is None
    by_status = {row["status"]: row for row in document["rows"]}
    assert all(by_status["not mapped"][name] is None for name in ("cores", "energy_joules", "verified", "message"))
    assert "NaN" not in some.to_json()
    assert "Infinity" not in some.to_json()


def test_csv_holds_the_rows_of_json(some):
    lines = list(csv.DictReader(io.StringIO(to_csv(some), newline="")))
    for line, row in zip(lines, to_dict(some)["rows"], strict=True):
        assert list(line)[2:] == list(row)
        assert line["pattern"] == row["pattern"]
        assert line["cores"] == ("" if row["cores"] is None else str(row["cores"]))
        assert line["on_front"] == str(row["on_front"]).lower()
    assert to_csv(explored([])).count("\n") == 1


def test_csv_names_the_stages_that_a_row_had_no_time_for(some):
    rows = (replace(some.rows[0], cut_short=("placement", "energy")), *some.rows[1:])
    first, *_ = csv.DictReader(io.StringIO(to_csv(replace(some, rows=rows)), newline=""))
    assert first["cut_short"] == "placement, energy"


def test_the_chart_has_the_mapped_rows(some):
    chart = front_chart(some, Limits())
    mapped = [row for row in some.rows if row.cores is not None]
    assert [(point["pattern"], point["cores"]) for point in chart.rows] == [(row.pattern, row.cores) for row in mapped]
    for point, row in zip(chart.rows, mapped, strict=True):
        assert point["first"] == pytest.approx(1e3 * row.first_response_seconds)
    assert {axis.key for axis in chart.axes} <= set(chart.rows[0])
    assert set(chart.filters) | {chart.colour, chart.shape} | {axis.key for axis in chart.told} <= set(chart.rows[0])


# Which rows are shown, and the table.


def twins(row, other):
    """Alike in all that a user chooses by."""
    return (
        row.needs_retraining == other.needs_retraining and row.candidate.execution == other.candidate.execution
        and row.status == other.status and all(value_of(row, o) == value_of(other, o) for o in OBJECTIVES)
    )  # fmt: skip


@given(explorations(), st.booleans(), st.sampled_from(["", "cores <= 200", "full response <= 12ms"]))
@settings(deadline=None, max_examples=40)
def test_shown_rows_are_numbered_grouped_and_all_accounted_for(exploration, every, text):
    limits = Limits.parse(text)
    listing = list_rows(exploration, limits, every=every)
    assert [n for n, _ in listing.all] == list(range(1, len(listing.all) + 1))
    assert not any(row.needs_retraining for _, row in listing.same)
    assert all(row.needs_retraining for _, row in listing.other)
    shown = {id(row) for _, row in listing.all}
    for row in exploration.rows:
        if not limits.allows(row) and row.status != "does not fit":
            assert id(row) not in shown
        elif every or row.on_front or row.status == "not mapped":
            assert any(twins(row, other) and (not every or other is row) for _, other in listing.all)
    mapped = [row for row in exploration.rows if row.status == "mapped" and limits.allows(row)]
    left = [row for row in exploration.rows if limits.allows(row) and id(row) not in shown]
    if every:
        assert not any(row.status == "mapped" for row in left)
        assert listing.n_off_front == listing.n_alike == 0
    else:
        assert sum(row.status == "mapped" for row in left) <= listing.n_off_front + listing.n_alike
        assert listing.n_off_front <= sum(not row.on_front for row in mapped)
    for row in exploration.rows:  # the given pattern is always there
        if row.candidate.values == exploration.given.values and limits.allows(row):
            assert id(row) in shown


def test_no_retraining_comes_first_and_says_so(some):
    text = render_text(some, 200)
    same, other = (
        text.index("No retraining: behaviour class 2, that of <i>p</i>"),
        text.index("Needs retraining: other"),
    )
    assert same < text.index("\n 1 ") < other < text.index("\n 4 ")
    for words in (
        "[ticks = ms]", " 2 = 2 ", "not mapped", "✓ yes", "Not exact: one row is open.", "about 2^70.0 valid patterns",
        "behaviour classes not counted", "node A: 300 sources", "pipelined:P", "update steps",
    ):  # fmt: skip
        assert words in text, words
    assert "≤ 3 = 3" in render_text(some, 200, every=True)


def test_one_of_anything_is_no_plural(some):
    numbers = ("n_valid_patterns", "n_classes", "n_candidates", "n_rows")
    one = count_line(replace(some, **dict.fromkeys(numbers, 1)))
    assert one.startswith("1 valid pattern, 1 behaviour class, 1 candidate (pattern, execution, mapping choice), ")
    assert "1 distinct row," in one
    two = count_line(replace(some, **dict.fromkeys(numbers, 2)))
    assert two.startswith("2 valid patterns, 2 behaviour classes, 2 candidates (pattern, execution, mapping choice)")
    assert "2 distinct rows," in two


@pytest.mark.parametrize("width", [60, 80, 120, 160])
def test_tables_fit_the_width(some, width):
    for line in render_text(some, width, every=True).splitlines():
        assert len(line) <= width


def test_patterns_too_long_for_a_cell_stand_below_in_full(some):
    text = render_text(some, 300, every=True)
    found = dict(re.findall(r"^(P\d+) streams on (.*)$", text, re.MULTILINE))
    assert found
    for short, edges in found.items():
        assert text.count(f"{short} (") >= 1
        assert edges in {row.pattern for row in some.rows}


def test_rows_left_out_are_counted(some):
    assert "1 row outside the limits (cores <= 4) left out." in render_text(
        some, limits=Limits(cores=4), every=True
    ) or ("rows outside the limits (cores <= 4) left out." in render_text(some, limits=Limits(cores=4), every=True))
    assert "1 row on no front left out" in render_text(some)
    assert "left out" not in render_text(some, every=True)


def test_an_exploration_without_rows_is_still_shown():
    empty = explored([])
    assert "The front is exact." in render_text(empty)
    assert draw_front(empty) is None
    assert "The front is exact." in to_html(empty)
    with pytest.raises(DoesNotFitError, match="nothing to draw"):
        to_svg(empty)


# Axes.


@given(st.lists(st.floats(1e-3, 1e7), min_size=1, max_size=20), st.booleans())
def test_axes_hold_all_values_in_order_with_round_ticks(values, whole):
    axis = make_axis(values, whole=whole)
    assert axis.low <= min(values) <= max(values) <= axis.high
    places = [axis.place(value) for value in sorted(values)]
    assert places == sorted(places)
    assert 0 <= places[0] <= places[-1] <= 1
    assert 1 <= len(axis.ticks) <= 8
    assert len(set(axis.labels())) == len(axis.ticks)
    for tick in axis.ticks:
        assert axis.low * (1 - 1e-9) <= tick <= axis.high * (1 + 1e-9)
        assert f"{tick:e}"[0] in "1235" or not axis.is_log
    if whole and not axis.is_log:
        assert all(abs(tick - round(tick)) < 1e-9 for tick in axis.ticks)


@given(st.floats(1e-3, 1e9), st.integers(1, 999), st.sampled_from([1e-4, 1e-6, 1e-9, 1e-12]))
def test_ticks_of_figures_that_hardly_differ_are_told_apart(value, part, apart):
    labels = make_axis([value, value * (1 + part * apart / 1000)]).labels()
    assert len(set(labels)) == len(labels) >= 2


# The picture.


def test_marks_that_stand_beside_each_other_are_said_to():
    alone = [make_row((0, 0, 0, 1), cores=3), make_row((1, 0, 0, 1), "pipelined", cores=5)]
    twins = [make_row((0, 0, 0, 1)), make_row((1, 0, 0, 1), "pipelined")]
    assert "side by side" not in draw_front(explored(alone))
    assert "side by side" in draw_front(explored(twins))


def test_the_legend_names_faint_marks_and_energies_of_the_given_weights():
    rows = [
        make_row((0, 0, 0, 1), cores=3, energy_joules=1e-6),
        make_row((1, 0, 0, 1), cores=9, energy_joules=2e-6, behaviour_class=1),
    ]
    plain, limited = draw_front(explored(rows)), draw_front(explored(rows), Limits(cores=4))
    assert "before retraining" in plain
    assert "before retraining" not in draw_front(explored(rows[:1]))
    assert "faint: outside the limits" in limited
    assert "faint" not in plain


def groups(svg, class_):
    root = ElementTree.fromstring(svg)
    return [
        node
        for node in root.iter()
        if set(class_.split()) <= set(node.get("class", "").split()) and node.tag.rpartition("}")[2] in ("g", "path")
    ]


def panels(svg):
    return groups(svg, "panel")


def test_there_is_a_panel_for_every_objective_that_tells_rows_apart(some):
    svg = draw_front(some)
    drawn = [row for row in some.rows if row.status in ("mapped", "not mapped")]
    same = constant_objectives(drawn)
    titles = ["".join(p.itertext()) for p in panels(svg)]
    for objective in OBJECTIVES:
        known = any(value_of(row, objective).number is not None for row in drawn)
        panel = [title for title in titles if f"{objective.title} [" in title]
        assert len(panel) == (objective not in same and known and objective.name != "cores")
    assert constant_line(explored(some.rows[:1])).startswith("The same in all rows: first response is 2 ms")


@given(explorations())
@settings(deadline=None, max_examples=30)
def test_every_row_is_in_a_mark_of_its_kind(exploration):
    svg = draw_front(exploration)
    drawn = [row for row in exploration.rows if row.status in ("mapped", "not mapped")]
    assert (svg is None) == (not drawn)
    if svg is None:
        return
    full = [p for p in panels(svg) if "full response [" in "".join(p.itertext())]
    for panel in full:
        kinds = {"same": 0, "other": 0, "open": 0, "windowed": 0}
        for mark in (g for g in panel.iter() if "mark" in g.get("class", "").split()):
            lines = mark.find("title").text.splitlines()
            n = len(lines) - 1 + int(lines[-1].split()[1]) if lines[-1].startswith("and ") else len(lines)
            for kind in kinds:
                kinds[kind] += n if kind in mark.get("class").split() else 0
        assert kinds["same"] + kinds["other"] == len(drawn)
        assert kinds["other"] == sum(row.needs_retraining for row in drawn)
        assert kinds["open"] == sum(row.status == "not mapped" for row in drawn)
        assert kinds["windowed"] == sum(row.candidate.execution == "windowed" for row in drawn)


@given(explorations())
@settings(deadline=None, max_examples=30)
def test_a_stair_has_a_step_for_every_row_that_none_beats_in_the_panel(exploration):
    svg = draw_front(exploration)
    mapped = [row for row in exploration.rows if row.status == "mapped"]
    if svg is None:
        return
    for panel in panels(svg):
        title = next(t for t in panel.itertext() if " [" in t)
        objective = next(o for o in OBJECTIVES if title.startswith(f"{o.title} ["))
        for class_, rows in (("every", mapped), ("same", [row for row in mapped if not row.needs_retraining])):
            points = {
                (row.cores, objective.sign * value_of(row, objective).number)
                for row in rows
                if value_of(row, objective).number is not None
            }
            best = {p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)}
            stairs = [g for g in panel.iter() if g.get("class") == f"stair {class_}"]
            assert len(stairs) == bool(best)
            if best:
                assert stairs[0].get("d").count("V") == len(best)


def test_open_rows_show_that_they_may_lie_further_right(some):
    for mark in groups(draw_front(some), "mark"):
        reaches = [part for part in mark if part.get("class") == "reach"]
        assert bool(reaches) == ("open" in mark.get("class").split())


def test_limits_are_drawn_and_rows_outside_are_faint(some):
    limits = Limits.parse("cores <= 4, full response <= 5ms")
    marks = groups(draw_front(some, limits), "mark")
    assert any("outside" in mark.get("class").split() for mark in marks)
    assert any("outside" not in mark.get("class").split() for mark in marks)
    assert not groups(draw_front(some), "outside")
    titles = [t.text for t in ElementTree.fromstring(draw_front(some, limits)).iter("title")]
    assert "limit: 4 cores at most" in titles
    assert "limit: full response at most 5 ms" in titles
    far = ElementTree.fromstring(draw_front(some, Limits(cores=1000)))  # far away it is no line at the edge
    assert not [t.text for t in far.iter("title") if t.text.startswith("limit")]


def test_colours_are_classes_and_the_file_has_them_light_and_dark(some):
    assert not re.search(r"(fill|stroke|style)=", draw_front(some))
    text = to_svg(some)
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    style = "".join(node.text or "" for node in root.iter("{http://www.w3.org/2000/svg}style"))
    assert "prefers-color-scheme: dark" in style
    assert "var(" not in style
    light, dark = style.split("prefers-color-scheme: dark")
    assert "text.axis" in light
    assert "text.axis" in dark
    assert "#1c2430" in light
    assert "#1c2430" not in dark
    classes = {part for node in root.iter() for part in node.get("class", "").split()}
    for name in ("stair", "mark", "reach", "panel", "axis", "small", "shape"):
        assert name in classes
        assert re.search(rf"\.{name}\b", style)


# The page.


@pytest.mark.parametrize("limits", ["", "cores <= 4"])
def test_the_page_is_whole_escaped_and_loads_nothing(some, limits):
    limits = Limits.parse(limits)
    html = to_html(some, limits, advise(some, BY_NAME["cores"], limits), "a 'b'.toml", every=True)
    page = Page(html)
    text = "".join(page.text)
    assert not {"b" * 3, "i", "a"} & set(page.tags)
    page.require_closed()
    assert not re.search(r"https?:|url\(|@import", page.without_scripts)
    for words in (HOSTILE, *NAMES.values(), "<i>p</i>", "No retraining", "Not exact: one row is open.", "neuromap map"):
        assert words in text
    assert "49" not in text  # names are no templates
    body = page.without_scripts.split("</style>")[1]
    assert not re.search(r"(fill|stroke|style)=", body)
    assert "best cores" in text


def test_page_and_table_number_rows_alike(some):
    cells = re.findall(r"<tr[^>]*>\n<td>(\d+)</td>", to_html(some))
    assert [int(n) for n in cells] == [n for n, _ in list_rows(some).all]


def test_a_bound_in_place_of_cores_is_marked(some):
    row = next(row for row in some.rows if row.status == "not mapped")
    alone = explored([replace(row, core_bound=77)])
    assert "≥ 77" in to_html(alone)
    assert "≥ 77" in render_text(alone)
    assert "77 (" not in render_text(alone)


def test_few_of_many_rows_that_were_not_mapped_are_shown(slow_path, chip):
    executions = ["windowed", *(f"pipelined:{p}" for p in range(1, 30))]
    found = nm.explore(slow_path, chip(), executions=executions, most_mapped=0, n_frames=2)
    assert len(found.rows) > 20
    few, every = list_rows(found), list_rows(found, every=True)
    assert len(few.same) <= 8
    assert len(few.other) <= 8
    assert len(few.all) + few.n_open + few.n_alike == len(every.all) == len(found.rows)
    assert "that were not mapped left out (--all shows them)" in found.to_text()
