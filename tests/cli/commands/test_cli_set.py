"""``--set``: one value changes the chip, several make a table; every wrong one is one line."""

import json
import shlex

import pytest

TINY = ("--chip", "tiny.toml")
TABLE = """\
SR (streaming, windowed) on tiny with other core.axons, core.neurons: fits 2 of 4 chips

                        cores of any
 core.    core.          mapping, at    frame period  first response
 axons  neurons  cores         least  [ticks = time]  [ticks = time]  fits
 ──────────────────────────────────────────────────────────────────────────────────────────────────
     8        8      -             -               -               -  node O: one neuron needs 15
                                                                      axons, a tiny core has 8
     8       16      -             -               -               -  node O: one neuron needs 15
                                                                      axons, a tiny core has 8
    32        8     18             3        1 = 1 ms        2 = 2 ms  yes
    32       16      4             2        1 = 1 ms        2 = 2 ms  yes

times: of windowed execution, predicted from the schedule
first response: from stimulus onset, the least over all outputs
"""


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    text = (folder / "tiny.toml").read_text().replace("axons = 8", "axons = 32").replace("[2, 2]", "[20, 1]")
    (folder / "tiny.toml").write_text(text)


def lines(text):
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def test_several_values_are_one_table(neuromap):
    done = neuromap("map", "sr.toml", *TINY, "--set", "core.axons=8,32", "--set", "core.neurons=8,16", "--all")
    assert (done.code, done.err) == (0, "")
    assert lines(done.out) == TABLE


def test_one_value_is_another_chip(neuromap, folder):
    text = (folder / "tiny.toml").read_text()
    name = "tiny with core.neurons = 16"
    (folder / "other.toml").write_text(text.replace("neurons = 8", "neurons = 16").replace('"tiny"', f'"{name}"'))
    one = neuromap("map", "sr.toml", *TINY, "--set", "core.neurons=16")
    assert one.code == 0
    assert f"on {name}\n" in one.out
    assert one.out == neuromap("map", "sr.toml", "--chip", "other.toml").out
    own = neuromap("map", "sr.toml", *TINY, "--set", "core.axons=32")
    assert own == neuromap("map", "sr.toml", *TINY)
    many = neuromap("map", "sr.toml", *TINY, "--set", "core.neurons=16,8", "--json").json["rows"]
    assert f"\ncores                {many[0]['cores']} " in one.out


def test_the_row_of_an_exploration_names_the_figures_in_its_command(neuromap):
    done = neuromap("explore", "sr.toml", "--set", "time.tick_seconds=2e-3", "--frames", 5, "--best", "cores", "--json")
    _, *words = shlex.split(done.json["best"]["map_command"])
    assert words[-1] == "--set=time.tick_seconds=2e-3"
    assert neuromap(*words, "--json").json["chip"] == "truenorth with time.tick_seconds = 0.002"


@pytest.mark.parametrize("command", ["map", "report", "explore"])
def test_every_command_writes_its_table(command, neuromap, folder):
    few = () if command == "map" else ("--frames", "5")
    done = neuromap(command, "sr.toml", *few, "--set", "time.tick_seconds=1e-3,1e-4", "--html", "a.html", "--json")
    assert done.code == 0, done
    document = json.loads(done.out)
    assert {row["set"]["time.tick_seconds"] for row in document["rows"]} == {1e-3, 1e-4}
    assert all(row["fits"] for row in document["rows"])
    assert {row["first_response_seconds"] / row["set"]["time.tick_seconds"] for row in document["rows"]} >= {2}
    assert "<svg" in (folder / "a.html").read_text()


def test_where_no_chip_is_enough_the_exit_code_says_so(neuromap):
    done = neuromap("map", "sr.toml", *TINY, "--set", "core.axons=2,3")
    assert (done.code, done.err.count("\n")) == (3, 1)
    assert done.err.startswith("neuromap map: none of 2 chips is enough, first tiny with core.axons = 2: node ")
    assert "fits 0 of 2 chips" in done.out


@pytest.mark.parametrize(
    ("code", "words", "message"),
    [
        (2, "map --set core.axon=8", "did you mean 'core.axons'?"),
        (2, "map --set core.axons=0", "core.axons: found 0; allowed are integers from 1 to 65536"),
        (2, "map --set core.axons=8,0", "core.axons: found 0"),
        pytest.param(2, f"map --set core.axons=0x{'f' * 4000}", "core.axons: found '0xfff", id="no digits in Python"),
        (2, "map --set core.axons=[8", "core.axons: found '[8'"),
        (2, "map --set core.axons", "needs a figure and its values"),
        (2, "map --set core.axons=8,,9", "needs a figure and its values"),
        (2, "map --set core.axons=8 --set core.axons=9", "is set twice"),
        (2, f"map --set core.axons={','.join(map(str, range(1, 300)))}", "make 299 chips; at most 256"),
        (4, "map --set core.targets_per_neuron=2", "targets_per_neuron"),
        (2, "map --set core.axons=8,9 -o x.nmp", "--output: is of one chip"),
        (2, "map --set core.axons=8,9 --dry-run", "--dry-run: is of one chip"),
        (2, "map --html x.html", "--set core.axons=256,512"),
        (2, "report --set core.axons=8,9 --figures p", "--figures: is of one chip"),
        (2, "report --set core.axons=8 --program x.nmp", "a program holds its chip"),
        (2, "explore --set core.axons=8,9 --best cores", "--best: is of one chip"),
        (2, "explore --set core.axons=8,9 --chip ranc --chip truenorth", "give one --chip"),
    ],
)
def test_what_is_wrong_is_one_line(code, words, message, neuromap, folder):
    command, *options = words.split()
    before = set(folder.iterdir())
    neuromap(command, "sr.toml", *options).assert_refused(code, message)
    assert set(folder.iterdir()) == before


def test_values_are_those_of_chip_files(neuromap):
    done = neuromap(
        "map", "sr.toml", "--set", 'neuron.overflow="wrap",saturate', "--set", "time.delay=[1, 15],[1,7]", "--json"
    )
    found = [tuple(row["set"].values()) for row in done.json["rows"]]
    assert found == [(o, d) for o in ("wrap", "saturate") for d in ([1, 15], [1, 7])]
