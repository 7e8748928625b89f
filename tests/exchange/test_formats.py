"""The table of formats says what is so, and the page of formats is that table."""

import importlib
import inspect
import runpy
from pathlib import Path

import pytest

from neuromap.errors import InputError, NotSupportedError
from neuromap.exchange import EXPORT_FORMATS, IMPORT_FORMATS, Format, export_file, import_file
from neuromap.render.value import form

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("row", [*IMPORT_FORMATS.values(), *EXPORT_FORMATS.values()], ids=lambda row: row.called)
def test_every_row_says_what_is_held_bounded_and_refused(row):
    module, _, name = row.function.rpartition(".")
    function = getattr(importlib.import_module(f"neuromap.{module}"), name)
    assert row.fed == {"frames", "random"}.issubset(inspect.signature(function).parameters)
    assert row.placed == ("program" in inspect.signature(function).parameters)
    assert row.holds
    assert row.bounds
    assert row.refuses
    assert bool(row.package) == bool(row.extra)


def test_the_page_is_made_of_the_table():
    page = ROOT / "docs" / "formats.md"
    if not page.exists():
        pytest.skip("docs/ is not here: it is not part of the wheel")
    made = runpy.run_path(str(ROOT / "docs" / "refresh_formats.py"))["page"]()
    assert page.read_text(encoding="utf-8") == made, "run python docs/refresh_formats.py"


def test_a_missing_package_is_a_hint_of_one_line():
    row = Format("Thing", (), "a thing", "exchange.to_file.export_file", "no_such_package", "thing")
    with pytest.raises(NotSupportedError) as caught:
        row.load()
    assert str(caught.value) == (
        "Thing: needs no_such_package, which is not installed; pip install 'neuromap-rollouts[thing]'"
    )


def test_an_unknown_format_and_no_path_are_refused(tmp_path):
    with pytest.raises(InputError, match="did you mean 'sanafe'"):
        export_file(tmp_path / "x", "sanaf", tmp_path / "y")
    for source, destination in ((3, tmp_path / "y"), (tmp_path / "x", b"y")):
        with pytest.raises(InputError, match="export_file: needs a path"):
            export_file(source, "ranc", destination)
    with pytest.raises(InputError, match="import_file: needs a path, got a bytes"):
        import_file(b"x.nir")


def test_an_export_says_what_it_is(tmp_path):
    import numpy as np

    import neuromap as nm

    net = nm.build_network({"I": (3, None), "O": (2, 2)}, {("I", "O"): np.ones((2, 3), int)}, name="two")
    nm.map_rollout(nm.Rollout(net, "streaming")).save(tmp_path / "two.nmp")
    found = export_file(tmp_path / "two.nmp", "ranc-vectors", tmp_path / "v", frames={"I": np.ones((3, 3), bool)})
    assert repr(found).startswith("<Exported: name two; format ranc-vectors; files csram_000.mem, ")
    assert form(found, "text") == str(found) + "\n"
    assert [file["name"] for file in form(found, "dict")["files"]] == list(found.contents)
    with pytest.raises(TypeError):
        found.contents["more"] = ""


def test_an_export_of_one_file_lists_the_file_that_it_wrote(tmp_path):
    import neuromap as nm

    net = nm.build_network({"I": (3, None), "O": (2, 2)}, {("I", "O"): [[1] * 3] * 2})
    program = nm.map_rollout(nm.Rollout(net, "streaming"))
    nm.simulate(program, nm.random_frames(net, 3), engine="numpy").save(tmp_path / "small.trace")
    found = export_file(tmp_path / "small.trace", "perfetto", tmp_path / "seen.json")
    (file,) = form(found, "dict")["files"]
    assert file == {"name": "seen.json", "bytes": (tmp_path / "seen.json").stat().st_size}
    assert "  seen.json (" in form(found, "text")
