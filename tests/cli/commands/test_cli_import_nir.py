"""NIR files on the command line: network files that map and verify, with a summary; or one line and an exit code."""

import json

import pytest
from html_pages import Page

import neuromap as nm

pytest.importorskip("h5py", reason="pip install 'neuromap-rollouts[nir]'")


@pytest.fixture
def file(root_of_examples):
    return lambda tool: root_of_examples / "examples" / "nir" / f"{tool}.nir"


def test_a_file_becomes_a_network_that_maps_and_verifies(neuromap, tmp_path, file):
    net = tmp_path / "net.toml"
    found = neuromap("import", "nir", file("snntorch"), "--tool", "snntorch", "-o", net, "--json").json
    assert found["from"] == "nir"
    assert found["producer"] == "nir 1.0.8"
    assert [node["name"] for node in found["nodes"]] == ["input", "1", "3.lif", "5"]
    assert found["quantisation"]["nodes"][1]["node"] == "3.lif"
    assert found["outputs"] == ["5"]
    assert not found["refused"]
    assert nm.load_network(net).nodes["3.lif"].size == 10
    assert neuromap("verify", net, "--chip", "loihi1").code == 0


def test_the_summary_says_what_was_kept_and_what_another_scheme_would_change(neuromap, file):
    text = " ".join(neuromap("import", "nir", file("norse"), "--dt", "2e-6", "--all").out.split())
    assert "a tick is 2 µs of the source's time constants, solved by the scheme exponential" in text
    assert "approximated: 1: the scheme euler" in text


@pytest.mark.parametrize(
    ("tool", "options", "code", "words"),
    [
        ("norse", ["--chip", "truenorth", "--dt", "1e-6"], 4, ("node 1: dv/dt = (rest - v) / tau", "loihi1")),
        ("norse", ["--tool", "nors"], 2, ("tool 'nors': is not known", "did you mean 'norse'")),
        ("norse", ["--dt", "0"], 2, ("dt = 0 s: must be above 0",)),
        ("norse", ["--dt", "nan"], 2, ("dt = nan s: must be above 0",)),
        ("norse", ["--dt", "1e-4", "--tool", "norse"], 4, ("forward Euler overshoots",)),
        ("none", [], 2, ("none.nir", "does not exist")),
        ("norse", ["--data", "digits"], 2, ("--data digits: format nir takes none; it takes --chip, --dt, --tool\n",)),
    ],
)
def test_what_cannot_be_taken_over_gets_one_line(tool, options, code, words, neuromap, tmp_path, file):
    net = tmp_path / "net.toml"
    neuromap("import", "nir", file(tool), "-o", net, *options).assert_refused(code, *words)
    assert not net.exists()


def test_scripts_take_no_step(neuromap, root_of_examples):
    script = root_of_examples / "examples" / "brian2" / "leak.py"
    neuromap("import", "brian2", script, "--dt", "1").assert_refused(2, "format brian2: is a script, which takes no dt")


def test_a_network_goes_out_and_comes_back(neuromap, tmp_path, root_of_examples):
    pytest.importorskip("nir", reason="pip install 'neuromap-rollouts[nir]'")
    source, out, back = root_of_examples / "examples" / "digits" / "sr.toml", tmp_path / "sr.nir", tmp_path / "sr.toml"
    found = neuromap("export", source, "--to", "nir", "-o", out, "--json").json
    assert [file["bytes"] for file in found["files"]] == [out.stat().st_size]
    assert [note["about"] for note in found["approximated"]] == ["rollout"]
    assert neuromap("import", "nir", out, "-o", back).code == 0
    first, second = nm.load_network(source), nm.load_network(back)
    assert list(first.edges) == list(second.edges)
    assert first.patterns == second.patterns
    for key, edge in first.edges.items():
        assert (second.edges[key].matrix() != edge.matrix()).nnz == 0
    neuromap("export", source, "--to", "nir", "-o", out, "--frames", "3").assert_refused(2, "takes no input frames")


def test_the_summary_becomes_a_page_with_the_same_data(neuromap, file, tmp_path):
    written = tmp_path / "net.html"
    source = file("snntorch")
    said = neuromap("import", "nir", source, "--tool", "snntorch", "--html", written, "--json").json
    page = Page(written.read_text(encoding="utf-8"))
    page.require_closed()
    del said["file"]
    assert json.loads(page.data_blocks()[0]) == said
    neuromap("import", "nir", source, "--html", tmp_path / "none" / "x.html").assert_refused(2, "--html", "none")
    both = ("-o", tmp_path / "a.toml", "--html", tmp_path / "a.safetensors")
    neuromap("import", "nir", source, *both).assert_refused(2, "--html", "is named twice, by --output, its weights too")
    assert not (tmp_path / "a.toml").exists()
