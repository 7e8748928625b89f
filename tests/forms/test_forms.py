"""Values find their forms, forms make no values, and notebooks show every public value with all names escaped."""

import ast
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
MAKERS = (
    "neuromap.bench.bench",
    "neuromap.explorer.candidates",
    "neuromap.explorer.explore",
    "neuromap.explorer.search",
    "neuromap.hardware.check",
    "neuromap.hardware.program_file",
    "neuromap.mapping.map_rollout",
    "neuromap.network.build",
    "neuromap.network.network_file",
    "neuromap.report.latency",
    "neuromap.report.measure_row",
    "neuromap.simulation.run",
    "neuromap.verification.law",
    "neuromap.verification.wave",
)
"""Rooms and modules in which values are measured and searched for; functions that give a value with forms are found
beside."""

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


def form_modules():
    return {place.rpartition(".")[0] for *_, place in declared()}


@cache
def makers():
    """Public functions outside of forms whose annotation says that they give a value with forms, and their modules."""
    formed, forms = {cls for _, cls, _, _ in declared()}, form_modules()
    found = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE.parent).with_suffix("").parts
        for node in ast.parse(path.read_text(encoding="utf-8")).body if ".".join(place) not in forms else ():
            if isinstance(node, ast.FunctionDef) and node.returns is not None and not node.name.startswith("_"):
                parts = list(ast.walk(node.returns))
                words = {part.id for part in parts if isinstance(part, ast.Name)}
                words |= {part.value for part in parts if isinstance(part, ast.Constant)}
                if words & formed:
                    found |= {".".join(place), ".".join((*place, node.name))}
    return found


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


def test_forms_make_no_values():
    wrong, functions = [], makers()
    for module in sorted(form_modules()):
        path = PACKAGE.parent / f"{module.replace('.', '/')}.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                imported = {f"{node.module}.{alias.name}" for alias in node.names}
                names = {node.module, *imported}
            elif isinstance(node, ast.Import):
                names = imported = {alias.name for alias in node.names}
            else:
                continue
            made = [m for name in names for m in MAKERS if name == m or name.startswith(f"{m}.")]
            made += sorted(imported & functions)
            wrong += [f"{path.relative_to(PACKAGE)} imports {m}" for m in made]
    assert not wrong


def test_the_makers_are_there():
    for name in MAKERS:
        assert importlib.util.find_spec(name) is not None, name
    assert makers() >= {
        "neuromap.bench.bench.bench", "neuromap.explorer.explore", "neuromap.hardware.program_file.load_program",
        "neuromap.mapping.map_rollout.map_rollout", "neuromap.simulation.run.simulate_batch.simulate_batch",
    }  # fmt: skip


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
