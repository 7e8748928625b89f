"""Brian2 scripts on the command line: run on the chip, written as network files that map and verify, or refused."""

import json

import pytest
from html_pages import Page

import neuromap as nm

pytest.importorskip("brian2", reason="its scripts are run (the extra brian2)")

REFUSED = """\
from brian2 import NeuronGroup, ms, run
group = NeuronGroup(2, "dv/dt = -v*v/(10*ms) : 1", threshold="v > 1", reset="v = 0", method="euler", name="A")
run(1 * ms)
"""


@pytest.fixture
def script(tmp_path):
    def script(text):
        (tmp_path / "net.py").write_text(text)
        return tmp_path / "net.py"

    return script


@pytest.mark.parametrize(("name", "chip", "group"), [("current", "loihi1", "E"), ("leak", "truenorth", "A")])
def test_a_script_becomes_a_network_that_maps_and_verifies(name, chip, group, neuromap, tmp_path, root_of_examples):
    file = tmp_path / "net.toml"
    source = root_of_examples / "examples" / "brian2" / f"{name}.py"
    page = tmp_path / "net.html"
    found = neuromap("import", "brian2", source, "--chip", chip, "-o", file, "--html", page, "--json").json
    assert found["groups"] == {group: 10}
    assert found["sources"] == {"source": 20}
    assert found["report"]["is_exact"]
    assert found["report"]["spikes"] > 0
    (node,) = found["report"]["quantisation"]["nodes"]
    assert node["scale"] > 0
    assert found["file"] == str(file)
    shown = Page(page.read_text(encoding="utf-8"))
    shown.require_closed()
    assert json.loads(shown.data_blocks()[0])["quantisation"] == found["report"]["quantisation"]
    assert nm.load_network(file).nodes[group].size == 10
    assert neuromap("map", file, "--chip", chip, "--json").json["synapses"] == found["synapses"]
    assert neuromap("verify", file, "--chip", chip).code == 0


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (REFUSED, 4, ("net.py: A: dv/dt = -v*v/(10*ms): it is not linear in v",)),
        ("print('before')\n1 / 0\n", 2, ("net.py: line 2: ZeroDivisionError: division by zero",)),
        pytest.param(
            "import brian2\nbrian2.set_device('cpp_standalone')\n",
            2,
            ("set_device('cpp_standalone')", "take the line"),
            marks=pytest.mark.thorough,
        ),
        pytest.param("import brian2\n", 2, ("no network was run", "call run"), marks=pytest.mark.thorough),
    ],
)
def test_a_script_that_leaves_no_network_gets_one_line(text, code, words, neuromap, script, tmp_path):
    file = tmp_path / "net.toml"
    neuromap("import", "brian2", script(text), "-o", file).assert_refused(code, *words)
    assert not file.exists()


def test_what_is_no_script_is_refused_before_anything_runs(neuromap, tmp_path):
    missing = tmp_path / "none.py"
    neuromap("import", "brian2", missing).assert_refused(2, "none.py: does not exist")
    neuromap("import", "brain2", missing).assert_refused(2, "format brain2", "did you mean 'brian2'")
