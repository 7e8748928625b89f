"""Values find their forms, and notebooks show every public value with all names escaped."""

import base64
import importlib
import pkgutil
from functools import cache
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from optional_rooms import entered

import neuromap as nm
from neuromap.errors import InputError
from neuromap.explorer.answer.exploration import Exploration
from neuromap.forms.card import Card
from neuromap.forms.formed import form, forms_of

PACKAGE = Path(nm.__file__).resolve().parent
HOSTILE = '<script>alert("x")</script>&amp;'


@cache
def declared():
    """Every form that the door of a room declares: room, class, name of the form, module and function."""
    rooms = [name for _, name, is_package in pkgutil.walk_packages([str(PACKAGE)], "neuromap.") if is_package]
    return [
        (room, cls, name, place if place.startswith("neuromap.") else f"{room}.{place}")
        for room in rooms
        for cls, forms in getattr(entered(room), "FORMS", {}).items()
        for name, place in forms.items()
    ]


def test_every_form_that_is_declared_exists():
    assert {cls for _, cls, _, _ in declared()} >= {"BenchReport", "Exploration", "LatencyReport", "Program"}
    for _, cls, name, place in declared():
        module, function = place.rsplit(".", 1)
        assert callable(getattr(importlib.import_module(module), function)), (cls, name)


def test_every_class_with_forms_finds_them():
    for room in {room for room, *_ in declared()}:
        package = importlib.import_module(room)
        modules = [name for _, name, _ in pkgutil.walk_packages(package.__path__, f"{room}.")]
        here = {n: c for m in modules for n, c in vars(entered(m) or object).items() if isinstance(c, type)}
        for cls in package.FORMS:
            told = {name: place for where, whose, name, place in declared() if (where, whose) == (room, cls)}
            assert forms_of(here[cls]) == told


@pytest.mark.parametrize("name", ["report", "exploration", "bench"])
def test_save_refuses_what_is_no_form(name, request, tmp_path):
    value = request.getfixturevalue(name)
    with pytest.raises(InputError) as caught:
        value.save(tmp_path / "x.pdf")
    article = {"exploration": "an"}.get(name, "a")
    known = {"report": ".json, .csv, .html, .txt", "exploration": ".json, .csv, .html, .svg, .txt"}
    choice = known.get(name, ".json, .txt")
    assert (
        str(caught.value) == f"{tmp_path}/x.pdf: suffix '.pdf' is no form of {article} {name}; choose one of {choice}"
    )
    assert not list(tmp_path.iterdir())
    value.save(str(tmp_path / "X.JSON"))
    assert (tmp_path / "X.JSON").read_text(encoding="utf-8") == form(value, "json") == value.to_json()


def test_a_derived_class_has_the_forms_of_its_base(exploration):
    derived = type("Mine", (Exploration,), {})
    assert forms_of(derived) == forms_of(Exploration)
    assert forms_of(int) == {}


class Table(HTMLParser):
    """Refuses elements that are no part of a plain table, and counts what is in it."""

    def __init__(self):
        super().__init__()
        self.open, self.cells, self.text = [], 0, []

    def handle_starttag(self, tag, attrs):
        assert tag in {"table", "caption", "thead", "tbody", "tr", "th", "td", "br", "img"}
        self.cells += tag in ("th", "td")
        if tag == "img":
            self.check_image(**dict(attrs))
            return
        assert dict(attrs).keys() <= {"style"}
        if tag != "br":
            self.open.append(tag)

    def check_image(self, alt, style, src):
        kind, _, data = src.partition("base64,")
        assert (kind, style) == ("data:image/svg+xml;", "max-width:100%")
        assert ElementTree.fromstring(base64.b64decode(data)).get("aria-label") == alt

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


VALUES = (
    "Network", "RolloutPattern", "Rollout", "ChipSpec", "MappedRollout", "Program", "Trace", "Batch", "Verification",
    "LatencyReport", "Exploration", "BenchReport", "Activity", "Energy", "DryRun", "ReportRow",
)  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_notebooks_show_a_table_with_names_escaped(name, shown):
    value = shown[name]
    assert isinstance(value, Card)
    table = Table()
    table.feed(value._repr_html_())
    table.close()
    assert not table.open
    assert table.cells >= 4
    text = "".join(table.text)
    assert (HOSTILE in text) == (name not in ("Activity", "ChipSpec", "Energy", "ReportRow"))


def test_the_card_of_an_invalid_pattern_names_its_cycle(network):
    pattern = nm.RolloutPattern(network, (1, 0))
    assert f"no, cycle {escape(HOSTILE)} -&gt; {escape(HOSTILE)}<" in pattern._repr_html_()


def test_a_card_is_no_part_of_a_value(network, report):
    assert "_called" not in repr(report)
    assert network != nm.Network(network.name, network.nodes, network.edges)  # by identity, as before
