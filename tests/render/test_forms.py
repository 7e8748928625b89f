"""Values find their forms, and notebooks show every public value with all names escaped."""

import base64
import importlib
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
from neuromap.render.value import Card, form, forms_of

PACKAGE = Path(nm.__file__).resolve().parent
HOSTILE = '<script>alert("x")</script>&amp;'


@cache
def formed():
    """Every class that names modules of forms, by the modules that it names."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if "_forms = (" in path.read_text(encoding="utf-8"):
            module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
            found |= {
                cls: cls.__dict__["_forms"]
                for cls in vars(entered(module) or object).values()
                if isinstance(cls, type) and cls.__module__ == module and cls.__dict__.get("_forms")
            }
    return found


def test_every_class_with_forms_finds_them():
    assert {cls.__name__ for cls in formed()} >= {"BenchReport", "Exploration", "LatencyReport", "ChipProgram"}
    for cls, modules in formed().items():
        found = forms_of(cls)
        assert all(callable(made) for made in found.values())
        for name in modules:
            made = vars(importlib.import_module(name))
            assert any(made.get(f"to_{form}", made.get(f"render_{form}")) is found[form] for form in found), name


def test_a_value_offers_what_its_forms_make():
    for cls in formed():
        for name in ("dict", "json", "csv", "html", "svg", "pandas", "parquet"):
            assert hasattr(cls, f"to_{name}") <= (name in forms_of(cls)), (cls, name)


@pytest.mark.parametrize("name", ["report", "exploration", "bench"])
def test_save_refuses_what_is_no_form(name, request, tmp_path):
    value = request.getfixturevalue(name)
    with pytest.raises(InputError) as caught:
        value.save(tmp_path / "x.pdf")
    article = {"exploration": "an"}.get(name, "a")
    known = {"report": ".json, .csv, .html, .txt", "exploration": ".json, .csv, .html, .svg, .txt"}
    choice = known.get(name, ".json, .txt")
    assert (
        str(caught.value)
        == f"{tmp_path}/x.pdf: suffix '.pdf' is not a form of {article} {name}; choose one of {choice}"
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
