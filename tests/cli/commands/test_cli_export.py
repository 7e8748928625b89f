"""Programs on their way to other tools: files that appear together, a summary, one line where something is refused."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

import neuromap as nm


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    net = nm.build_network({"I": (3, None), "O": (2, 2)}, {("I", "O"): np.ones((2, 3), int)}, name="two")
    nm.map_rollout(nm.Rollout(net, "streaming")).save(folder / "two.nmp")
    save_file({"I": np.ones((4, 3), np.uint8)}, folder / "frames.safetensors")
    return folder / "two.nmp"


FILES = {
    "ranc": {"config.json", "input.json", "expected.txt", "README.md"},
    "sanafe": {"arch.yaml", "network.yaml", "neurons.csv", "expected_spikes.csv", "run.py", "README.md"},
}


@pytest.mark.parametrize("to", FILES)
def test_files_appear_with_a_summary(to, neuromap, program, tmp_path):
    folder = tmp_path / to
    done = neuromap("export", program, "--to", to, "-o", folder, "--frames", "5", "--seed", "3", "--json")
    found = done.json
    assert {path.name for path in folder.iterdir()} == FILES[to] == {file["name"] for file in found["files"]}
    assert {file["name"]: file["bytes"] for file in found["files"]} == {
        path.name: path.stat().st_size for path in folder.iterdir()
    }
    assert found["format"] == "neuromap export 1"
    assert (found["to"], found["name"], found["written_to"]) == (to, "two", str(folder))
    assert found["figures"]["input frames"] == 5
    assert found["kept"]
    assert all(note["remedy"] for note in found["refused"])
    said = neuromap("export", program, "--to", to, "-o", tmp_path / "again", "--frames", "5", "--seed", "3")
    assert said.code == 0
    assert f"two for {to}: {len(FILES[to])} files\n" in said.out
    assert "kept: " in said.out
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()
    }


def test_a_stimulus_goes_with_the_program(neuromap, program, tmp_path):
    frames = program.with_name("frames.safetensors")
    assert neuromap("export", program, "--to", "ranc", "-o", tmp_path / "r", "--stimulus", frames).code == 0
    packets = json.loads((tmp_path / "r" / "input.json").read_text())["packets"]
    assert [len(group) for group in packets] == [0, 3, 3, 3]  # frame 0 is sampled in tick 0 and arrives in tick 1
    lines = (tmp_path / "r" / "expected.txt").read_text(encoding="utf-8-sig").splitlines()
    assert lines == ["0 0 ", "0 0 ", "1 1 ", "1 1 ", "1 1 "]  # a line before tick 0, then frame 0 of the output


def test_a_grid_of_rancs_memory_has_two_files_a_core(neuromap, program, tmp_path):
    found = neuromap("export", program, "--to", "ranc-vectors", "-o", tmp_path / "v", "--json").json
    assert found["figures"]["grid (columns x rows of cores)"] == "2 x 1"
    assert {path.name for path in (tmp_path / "v").glob("*.mem")} == {
        f"{kind}_00{i}.mem" for kind in ("csram", "tc") for i in range(2)
    }


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--to", "rank", "-o", "x"), 2, ("format rank", "known are", "did you mean 'ranc'?")),
        (("--to", "ranc", "-o", "two.nmp"), 2, ("two.nmp: is a file; several files are written",)),
        (("--to", "ranc", "-o", "no/x"), 2, ("does not exist; create it first",)),
        (("--to", "ranc", "-o", "-"), 2, ("is not a folder",)),
        (("--to", "ranc", "-o", "x", "--stimulus", "no.safetensors"), 2, ("no.safetensors",)),
        (("--to", "ranc", "-o", "x", "--stimulus", "frames.safetensors", "--frames", "3"), 2, ("give one of them",)),
        (("--to", "ranc", "-o", "x", "--frames", "0"), 2, ("frames",)),
        (("--to", "ranc", "-o", "x", "--frames", "99999999"), 2, ("at most 10000000 ticks",)),
    ],
)
def test_what_is_refused_gets_one_line_and_leaves_nothing(options, code, words, neuromap, program, monkeypatch):
    monkeypatch.chdir(program.parent)
    before = sorted(path.name for path in program.parent.iterdir())
    neuromap("export", "two.nmp", *options).assert_refused(code, *words)
    assert sorted(path.name for path in program.parent.iterdir()) == before


def test_a_program_of_lists_and_what_is_no_program_are_refused(neuromap, program, tmp_path):
    net = tmp_path / "net.toml"
    net.write_text("format = 1\n")
    neuromap("export", net, "--to", "ranc", "-o", tmp_path / "x").assert_refused(2, "net.toml")
    neuromap("export", tmp_path / "no.nmp", "--to", "sanafe", "-o", tmp_path / "x").assert_refused(2, "no.nmp")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.toml"]


def test_a_folder_with_files_of_a_larger_export_or_of_someone_else_is_left_alone(neuromap, program, tmp_path):
    """RANC's tools count the files: those of other cores would be read as part of the program."""
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "csram_007.mem").write_text("older")
    found = neuromap("export", program, "--to", "ranc-vectors", "-o", tmp_path / "v")
    found.assert_refused(2, "holds csram_007.mem of another export")
    (tmp_path / "README.md").write_text("# My project\n")
    found = neuromap("export", program, "--to", "ranc", "-o", tmp_path)
    found.assert_refused(2, "README.md: was not written by neuromap and would be lost")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.md", "v"]
    for _ in range(2):  # one's own are replaced
        assert neuromap("export", program, "--to", "ranc-vectors", "-o", tmp_path / "again").code == 0


@pytest.fixture(scope="module")
def trace(program):
    path = program.with_name("two.trace")
    nm.simulate(nm.load_program(program), {"I": np.ones((4, 3), bool)}, record=nm.Recording("all")).save(path)
    return path


@pytest.mark.parametrize("to", ["perfetto", "neo", "sonata"])
def test_a_trace_becomes_one_file_of_the_tool(to, neuromap, program, trace, tmp_path):
    pytest.importorskip({"neo": "neo", "sonata": "h5py"}.get(to, "json"))
    found = neuromap("export", trace, "--to", to, "-o", tmp_path / "x", "--json").json
    assert [file["bytes"] for file in found["files"]] == [(tmp_path / "x").stat().st_size]
    assert (found["to"], found["figures"]["ticks"], found["figures"]["length of a tick (s)"]) == (to, 4, "0.001")
    assert found["kept"]
    more = ("--program", program) if to == "perfetto" else ()
    said = neuromap("export", trace, "--to", to, "-o", tmp_path / "x", *more)
    assert said.code == 0
    assert "give the program too" not in said.out


def test_what_does_not_go_with_a_trace_is_refused(neuromap, program, trace, tmp_path):
    to = ("--to", "sonata", "-o", tmp_path / "x")
    neuromap("export", program, *to).assert_refused(2, "not a trace")
    neuromap("export", trace, *to, "--frames", "3").assert_refused(2, "takes no input frames")
    neuromap("export", trace, *to, "--program", program).assert_refused(2, "takes no program")
    other = program.with_name("other.nmp")
    net = nm.build_network({"I": (3, None), "O": (2, 2)}, {("I", "O"): np.ones((2, 3), int)}, name="other")
    nm.map_rollout(nm.Rollout(net, "streaming")).save(other)
    at = ("--to", "perfetto", "-o", tmp_path / "x")
    neuromap("export", trace, *at, "--program", other).assert_refused(2, "is not that of the trace")
    assert not list(tmp_path.iterdir())
