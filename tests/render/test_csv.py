"""What a spreadsheet makes of our CSV: names stay texts and are never run, numbers stay numbers."""

import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_networks import network_of_any_names

import neuromap as nm
from neuromap.exchange import Imported, Note
from neuromap.exchange.page import nodes_csv, notes_csv
from neuromap.exchange.to_sanafe import export_sanafe
from neuromap.faults import study_faults
from neuromap.render.table import csv_text
from neuromap.simulation.choose_frames import RandomFrames
from neuromap.sweep.chip_sweep import sweep_mappings

FORMULA = "=cmd|' /C calc'!A0"
STARTS = "=+-@\t\r\n"
PACKAGE = Path(nm.__file__).parent


def is_number(cell):
    return re.fullmatch(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?", cell) is not None


def cells(text):
    return [cell for line in csv.reader(io.StringIO(text, newline="")) for cell in line]


def plain(cell):
    """What a reader does, as docs/report.md says."""
    return cell[1:] if re.match(rf"'+[{re.escape(STARTS)}＝＋－＠]", cell) else cell


TEXTS = st.text() | st.builds("".join, st.tuples(st.sampled_from([*STARTS, "'", "''", "＝", " "]), st.text()))


@settings(suppress_health_check=[HealthCheck.too_slow])  # of a starved machine
@given(
    st.lists(
        st.fixed_dictionaries({"name": TEXTS, "=x": st.integers() | st.floats(allow_nan=False, allow_infinity=False)})
    )
)
def test_no_text_begins_like_a_formula_and_all_can_be_had_back(lines):
    head, *rows = csv.reader(io.StringIO(csv_text(lines, ["name", "=x"]), newline=""))
    assert head == ["name", "'=x"]
    for line, (name, number) in zip(lines, rows, strict=True):
        assert not name.startswith(tuple(STARTS)) or is_number(name)
        assert plain(name) == line["name"]
        assert type(line["=x"])(number) == line["=x"]


@pytest.fixture(scope="module")
def network():
    """Every name of it would be run."""
    weights = np.array([[1, 1], [1, 0]])
    names = ("-I", "@SUM(A1)", "+x")
    edges = {("-I", "@SUM(A1)"): weights, ("@SUM(A1)", "+x"): weights}
    streaming = {"=both": tuple(edges)}
    sizes = {names[0]: (2, None), names[1]: (2, 1), names[2]: (2, 1)}
    return network_of_any_names(sizes, edges, patterns=streaming, name=FORMULA)


def test_names_of_networks_nodes_and_patterns_are_harmless_in_every_table(network):
    rollout = nm.Rollout(network, "=both")
    note = Note("-node", "=text", "+by", 0.25, "@remedy")
    imported = Imported(network=network, format="nir", source="x", kept=(note,))
    report = nm.latency_report(network, patterns=["=both"], executions=["windowed"])
    study = study_faults([rollout], rates=(0.0,), seeds=1, stimuli=RandomFrames(5, 3, 0.4), n_stimuli=1)
    tables = {
        "report": report.to_csv(),
        "exploration": nm.explore(network, n_frames=3).to_csv(),
        "faults": study.to_csv(),
        "sweep": sweep_mappings(rollout, "truenorth", {"time.tick_seconds": [1e-3]}).to_csv(),
        "nodes": nodes_csv(imported),
        "notes": notes_csv(imported),
        "sanafe": export_sanafe(nm.map_rollout(rollout), random=RandomFrames(3, 1, 0.5)).contents["neurons.csv"],
    }
    found = {name: cells(text) for name, text in tables.items()}
    for name, every in found.items():
        bad = [cell for cell in every if cell.startswith(tuple(STARTS)) and not is_number(cell)]
        assert not bad, (name, bad)
    assert {f"'{FORMULA}", "'=both"} <= set(found["report"])
    assert f"'{FORMULA}" in found["exploration"]
    assert "'=both" in found["faults"]
    assert "'-I" in found["nodes"]
    assert {"'-node", "'@remedy"} <= set(found["notes"])
    assert {"'@SUM(A1)", "'+x"} <= set(found["sanafe"])


def test_every_table_of_the_package_goes_through_these_cells():
    writers = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search(r"csv\.(Dict)?[wW]riter", path.read_text(encoding="utf-8"))
    ]
    assert sorted(writers) == ["exchange/to_sanafe.py", "render/table.py"]
