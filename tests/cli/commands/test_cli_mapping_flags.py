"""The options of the mapper: what they do in map, verify and report, and one line for everything that is wrong."""

import json

import pytest

import neuromap as nm

PINS = """\
format = 1
splitters = ["H1 -> H2"]
[tiles]
H1 = [1, 2, 2]
[cores]
H2 = 2
[regions]
H2 = [3, 3, 5, 5]
"""


@pytest.mark.parametrize(
    "words",
    [
        ("--placer", "hilbert"), ("--placer", "spectral", "--mapping-seed", "3"), ("--splitters", "anywhere"),
        ("--splitters", "never", "--no-packing"), ("--packing", "--partitioner", "blocks"), ("--ticks-per-step", "3"),
        ("--seconds", "0.5"),
    ],
)  # fmt: skip
def test_every_choice_verifies(words, sr, neuromap):
    found = neuromap("verify", sr, *words, "--json")
    assert (found.code, found.json["verified"]) == (0, True)
    row = neuromap("report", sr, "--patterns", "hybrid", "--executions", "windowed", *words, "--json")
    assert row.code == 0
    words = ["--seed" if word == "--mapping-seed" else word for word in words]
    figures = neuromap("map", sr, "--pattern", "hybrid", *words, "--json").json
    assert figures["cores"] == row.json["rows"][0]["cores"]
    assert figures["frame_period_ticks"] == row.json["rows"][0]["frame_period_ticks"]
    if "--ticks-per-step" in words:
        assert figures["ticks_per_step"] == 3


def test_packing_shares_cores(sr, neuromap):
    packed, alone = (neuromap("map", sr, word, "--json").json for word in ("--packing", "--no-packing"))
    assert (alone["cores"], alone["shared_cores"]) == (3, 0)
    assert packed["cores"] < alone["cores"]
    assert packed["shared_cores"] > 0


def test_pins_are_kept(folder, sr, neuromap):
    (folder / "pins.toml").write_text(PINS)
    done = neuromap("map", sr, "--pins", folder / "pins.toml", "-o", folder / "pinned.nmp", "--json")
    assert done.code == 0, done
    assert done.json["split_edges"] == ["H1 -> H2"]
    assert done.json["schedule"] == "ticks"
    assert done.json["splitters"] > 0
    program = nm.load_program(folder / "pinned.nmp")
    names = [port.name for port in program.nodes]
    own = program.neuron_node == names.index("H2")
    if program.is_splitter is not None:
        own &= ~program.is_splitter
    cores = own.any(axis=1)
    assert cores.sum() >= 2
    assert ((program.coordinates[cores] >= 3) & (program.coordinates[cores] <= 5)).all()
    text = neuromap("map", sr, "--pins", folder / "pins.toml").out
    assert "splitters on H1 -> H2: without slack there, so the schedule is in ticks" in text


def test_the_same_seed_gives_the_same_program(folder, sr, neuromap):
    contents = []
    for name in ("one", "two"):
        path = folder / f"{name}.nmp"
        assert neuromap("map", sr, "--seed", "7", "--no-packing", "-o", path).code == 0
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]


def test_map_takes_its_only_seed_by_either_name(folder, sr, neuromap):
    contents = []
    for word in ("--seed", "--mapping-seed"):
        path = folder / f"{word}.nmp"
        assert neuromap("map", sr, word, "7", "--no-packing", "-o", path).code == 0
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]
    neuromap("map", sr, "--mapping-seed", "-1").assert_refused(2, "--seed -1")


def test_defects_are_avoided(folder, sr, neuromap):
    (folder / "defects.toml").write_text("format = 1\ncores = [[0, 0]]\nrouters = [[1, 1]]\n")
    path = folder / "around.nmp"
    words = ("--defects", folder / "defects.toml", "--no-packing")
    assert neuromap("map", sr, *words, "-o", path).code == 0
    places = nm.load_program(path).coordinates.tolist()
    assert [0, 0] not in places
    assert [1, 1] not in places
    assert neuromap("verify", sr, *words).code == 0
    assert neuromap("map", sr, *words, "--dry-run", "--json").json["usable_cores"] == 4094


BAD = [
    (("--placer", "magic"), 2, ["--placer magic", "hilbert"]),
    (("--splitters", "somewhere"), 2, ["splitters", "somewhere", "slack, anywhere, never"]),
    (("--partitioner", "kahypar"), 2, ["partitioner", "kahypar"]),
    (("--seed", "-1"), 2, ["seed -1"]),
    (("--seed", "9" * 30), 2, ["seed"]),
    (("--seed", "x"), 2, ["seed x: must be a whole number, 0 or more"]),
    (("--seconds", "0"), 2, ["--seconds 0"]),
    (("--seconds", "-1"), 2, ["--seconds -1"]),
    (("--seconds", "nan"), 2, ["--seconds nan"]),
    (("--seconds", "inf"), 2, ["--seconds inf"]),
    (("--seconds", "soon"), 2, ["--seconds soon: must be a number above 0"]),
    (("--ticks-per-step", "0"), 2, ["--ticks-per-step 0"]),
    (("--ticks-per-step", "1025"), 2, ["--ticks-per-step 1025"]),
    (("--ticks-per-step", "1.5"), 2, ["--ticks-per-step 1.5: must be a whole number from 1 to 1024"]),
    (("--ticks-per-step=x",), 2, ["--ticks-per-step x: must be a whole number from 1 to 1024"]),
    (("--keep", ""), 2, ["--keep: is empty; give names of nodes, such as H1,H2, or all"]),
    (("--keep", "H1,"), 2, ["--keep H1,: has an empty name"]),
    (("--pins", "nowhere.toml"), 2, ["nowhere.toml", "does not exist"]),
    (("--pins", "DIR"), 2, ["folder"]),
    (("--pins", "SR"), 2, ["unknown key"]),
    (("--defects", "nowhere.toml"), 2, ["nowhere.toml", "does not exist"]),
    (("--defects", "SR"), 2, ["sr.toml"]),
    (("--dry-run", "-o", "DIR/out.nmp"), 2, ["--output", "--dry-run"]),
]


@pytest.mark.parametrize(("words", "code", "expected"), BAD, ids=[" ".join(words) for words, _, _ in BAD])
def test_bad_options(words, code, expected, folder, sr, neuromap):
    out = folder / "out.nmp"
    out.write_bytes(b"as it was")
    typed = [word.replace("DIR", str(folder)).replace("SR", str(sr)) for word in words]
    extra = [] if "-o" in typed else ["-o", out]
    neuromap("map", sr, *typed, *extra).assert_refused(code, *expected)
    assert out.read_bytes() == b"as it was"
    if "--dry-run" not in typed:
        renamed = ["--mapping-seed" if word == "--seed" else word for word in typed]
        neuromap("verify", sr, *renamed).assert_refused(code, *expected)
        neuromap("report", sr, *renamed, "--html", folder / "o.html").assert_refused(code, *expected)
    assert not (folder / "o.html").exists()


@pytest.mark.parametrize(
    ("pins", "words"),
    [
        ("[tiles]\nX = [1, 1, 1]", ["tiles.X", "H1, H2, O"]),
        ("[tiles]\nH1 = [3, 1, 1]", ["tiles.H1", "[2, 2, 2]"]),
        ("[cores]\nI = 1", ["cores.I", "input"]),
        ("[cores]\nH2 = 7", ["cores.H2", "1 to 6"]),
        ("[regions]\nH1 = [0, 0, 64, 0]", ["regions.H1", "63"]),
        ("[regions]\nH1 = [1, 0, 0, 0]", ["regions.H1"]),
        ('splitters = ["I -> H1"]', ["I -> H1", "input"]),
        ('splitters = ["H2 -> H1"]', ["H2 -> H1", "not an edge"]),
        ('splitters = ["H2"]', ["splitters[0]"]),
        ("tiles = 3", ["tiles"]),
        ("[cores]\nH2 = 1e9", ["cores.H2"]),
        ("[tiles", ["TOML"]),
    ],
)
def test_bad_pins(pins, words, folder, sr, neuromap):
    path = folder / "pins.toml"
    path.write_text(f"format = 1\n{pins}\n")
    before = sorted(folder.iterdir())
    neuromap("map", sr, "--pins", path, "-o", folder / "o.nmp").assert_refused(2, "pins.toml", *words)
    neuromap("map", sr, "--pins", path, "--dry-run").assert_refused(2, "pins.toml", *words)
    neuromap("verify", sr, "--pins", path).assert_refused(2, "pins.toml", *words)
    neuromap("report", sr, "--pins", path, "--csv", folder / "o.csv").assert_refused(2, "pins.toml", *words)
    assert sorted(folder.iterdir()) == before


def test_defects_beyond_the_board(folder, sr, neuromap):
    path = folder / "defects.toml"
    path.write_text("format = 1\ncores = [[64, 0]]\n")
    neuromap("map", sr, "--defects", path).assert_refused(2, "defects.toml", "64", "63")


def test_programs_are_mapped_already(folder, sr, program, neuromap):
    for words in (("--no-packing",), ("--placer", "hilbert"), ("--mapping-seed", "1"), ("--defects", "x.toml")):
        for command in ("verify", "report"):
            done = neuromap(command, sr, "--program", program, *words)
            done.assert_refused(2, words[0].replace("--no-packing", "--packing"), "--program")


def test_files_that_are_read_are_not_written(folder, sr, neuromap):
    path = folder / "pins.toml"
    path.write_text("format = 1\n")
    neuromap("map", sr, "--pins", path, "-o", path).assert_refused(2, "pins file")
    neuromap("report", sr, "--defects", path, "--csv", path).assert_refused(2, "defects file")
    assert path.read_text() == "format = 1\n"


def test_errors_of_flags_as_json(sr, neuromap):
    done = neuromap("map", sr, "--placer", "magic", "--json")
    assert done.code == 2
    assert json.loads(done.out)["error"]["kind"] == "InputError"


@pytest.mark.parametrize("words", ["--splitters slack", "--no-packing", "--partitioner auto", "--wide refuse"])
def test_options_of_crossbars_are_refused_on_other_cores(words, sr, neuromap):
    for command in ("map", "verify", "report"):
        done = neuromap(command, sr, "--chip", "loihi1", *words.split())
        done.assert_refused(2, f"{words}: is about crossbar cores, and chip loihi1 has synapse-list cores")
