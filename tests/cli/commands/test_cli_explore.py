"""``neuromap explore``: the answer in one command, its files, its limits, and every wrong value."""

import csv
import html
import io
import shlex
from dataclasses import replace
from xml.etree import ElementTree

import jsonschema
import pytest
import typer

import neuromap as nm
from neuromap.cli.commands.explore import leave
from neuromap.errors import DoesNotFitError
from neuromap.explorer.document import exploration_schema
from neuromap.explorer.explore import explore
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.sweep.run_store import load_runs

OBJECTIVES = ["first-response", "full-response", "worst-case-reaction", "sampling-frequency", "cores", "energy"]


@pytest.fixture
def quick(neuromap, sr):
    """Explore the small SR network, few frames."""

    def run(*words):
        return neuromap("explore", sr, "--frames", 6, *words)

    return run


def test_the_best_row_within_limits_is_one_command(quick, neuromap, folder, monkeypatch):
    monkeypatch.chdir(folder)
    limits = ("--max-cores", 200, "--max-full-response", "5ms")
    done = quick(*limits, "--best", "sampling-frequency")
    assert (done.code, done.err) == (0, "")
    command = done.out.strip().splitlines()[-1].strip()
    best = [line for line in done.out.splitlines() if line.startswith("best sampling frequency with")]
    assert len(best) == 1
    assert "full response <= 5 ms, cores <= 200" in best[0]
    found = quick(*limits, "--best", "sampling-frequency", "--json").json
    assert found["best"]["map_command"] == command
    row = found["rows"][found["best"]["row"]]
    within = [
        r for r in found["rows"] if r["status"] == "mapped" and r["cores"] <= 200 and r["full_response_ticks"] <= 5
    ]
    assert row["sampling_frequency_hz"] == max(r["sampling_frequency_hz"] for r in within)
    program, *words = shlex.split(command)
    assert program == "neuromap"
    mapped = neuromap(*words, "--json").json
    assert (mapped["cores"], mapped["frame_period_ticks"]) == (row["cores"], row["frame_period_ticks"])


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_row_can_be_made_by_its_command_and_has_its_times(objective, quick, sr):
    found = quick("--best", objective, "--json").json
    net = nm.load_network(sr)
    for row in found["rows"]:
        edges = [tuple(key) for key in row["streaming_edges"]]
        rollout = Rollout(net, nm.RolloutPattern.from_streaming_edges(net, edges), row["execution"])
        assert row["first_response_ticks"] == rollout.first_response("O")
        assert row["frame_period_ticks"] == rollout.frame_period
    assert found["best"]["objective"].split("_")[0] == objective.split("-")[0]


def test_json_follows_the_schema_and_stands_alone(quick, folder):
    path = folder / "found.json"
    done = quick("--json", "--json-file", path, "--best", "cores")
    assert (done.code, done.err) == (0, "")
    jsonschema.Draft202012Validator(exploration_schema()).validate(done.json)
    assert path.read_text() == done.out


def test_all_files_are_written(quick, folder):
    page, svg, table = folder / "x.html", folder / "x.svg", folder / "x.csv"
    done = quick("--html", page, "--svg", svg, "--csv", table, "--all")
    assert (done.code, done.err) == (0, "")
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")
    lines = list(csv.DictReader(io.StringIO(table.read_text())))
    assert len(lines) == len(quick("--json").json["rows"])
    assert all(f"written to {path}" in done.out for path in (page, svg, table))


def test_only_the_class_of_the_given_pattern(quick):
    found = quick("--given", "hybrid", "--within", "class", "--json").json
    assert found["given"]["pattern"] == "hybrid"
    assert {row["behaviour_class"] for row in found["rows"]} == {found["given"]["behaviour_class"]} == {2}
    text = quick("--given", "hybrid", "--within", "class").out
    assert "No retraining: behaviour class 2, that of hybrid" in text
    assert "Needs retraining" not in text


def test_groups_are_told_apart(quick):
    text = quick("--given", "sequential").out
    assert text.index("No retraining: behaviour class 2, that of sequential") < text.index("Needs retraining: other")


def test_several_chips_and_ways_to_map(quick, folder, tiny_text):
    own = folder / "my chip.toml"
    own.write_text(tiny_text.replace('"tiny"', '"mine"').replace("= 8", "= 64").replace("[2, 2]", "[8, 8]"))
    done = quick("--chip", own, "--chip", "truenorth", "--splitters", "slack,never", "--best", "cores", "--json")
    assert done.code == 0, done
    assert [chip["name"] for chip in done.json["chips"]] == ["mine", "truenorth"]
    alone = quick("--chip", own, "--best", "cores", "--json").json
    assert f"'{own}'" in alone["best"]["map_command"]
    page = folder / "x.html"
    assert quick("--chip", own, "--html", page).code == 0
    assert f"--chip '{own}'" in html.unescape(page.read_text())


def test_ticks_per_step_are_explored(quick):
    found = quick("--ticks-per-step", "1,2", "--executions", "pipelined", "--all", "--json").json
    assert {row["execution"] for row in found["rows"]} == {"pipelined"}
    assert {row["ticks_per_step"] for row in found["rows"] if row["status"] == "mapped"} <= {1, 2}


def test_what_is_not_asked_for_stays_open(quick):
    assert {row["verified"] for row in quick("--no-verify", "--json").json["rows"]} == {None}
    found = quick("--most-mapped", 1, "--json").json
    assert found["counts"]["mapped"] == 1
    assert {row["cores"] for row in found["rows"] if row["status"] != "mapped"} <= {None}


def test_results_are_taken_up_again(quick, folder):
    path = folder / "kept"
    first = quick("--store", path, "--json")
    kept = load_runs(path).rows
    again = quick("--results", path, "--json")  # as it was called before
    assert again == first
    assert load_runs(path).rows == kept
    assert first.code == 0


def test_a_report_lists_the_rows_of_an_exploration(quick, neuromap, folder):
    path = folder / "kept"
    found = quick("--splitters", "slack,anywhere", "--store", path, "--all", "--json").json
    mapped = [row for row in found["rows"] if row["status"] == "mapped"]
    listed = neuromap("report", "--from", path, "--json").json
    assert listed["counts"] == {"mapped": len(mapped)} == {"mapped": found["counts"]["mapped"]}
    told = {(row["pattern"], row["execution"], row["cores"], row["first_response_ticks"]) for row in mapped}
    rows = listed["rows"]
    assert {(r["pattern"], r["execution"], r["cores"], r["predicted_first_response_ticks"]) for r in rows} == told
    assert {row["asked_by"] for row in rows} == {"explore"}
    assert {row["mapping"] for row in rows} == {"{}", '{"splitters": "anywhere"}'}
    text = " ".join(neuromap("report", "--from", path, "--all").out.split())
    assert "splitters anywhere" in text
    assert "its times are predicted" in text
    over = neuromap("report", "--from", path, "--over", "execution", "--figure", "cores")
    assert (over.code, over.err) == (0, "")


def test_the_number_of_processes_changes_nothing(quick):
    assert quick("--processes", 2, "--json").json["rows"] == quick("--json").json["rows"]


# Nothing within the limits.


@pytest.mark.parametrize("best", [(), ("--best", "cores")])
def test_where_nothing_keeps_the_limits_one_line_says_why(best, quick):
    done = quick("--max-full-response", "1us", "--max-cores", 200, *best)
    assert done.code == 3
    assert done.err.count("\n") == 1
    assert "tightest is full response <= 1 µs" in done.err
    assert "closest" in done.err
    assert "valid patterns" in done.out  # what was found is shown all the same
    found = quick("--max-full-response", "1us", "--max-cores", 200, *best, "--json")
    assert found.code == 3
    assert found.json["best"] is None


def test_a_network_that_fits_no_chip(quick, folder):
    for words in ((), ("--best", "cores"), ("--max-cores", 3000)):
        done = quick("--chip", folder / "tiny.toml", *words)
        assert done.code == 3
        assert done.err.count("\n") == 1
        assert "no row fits: " in done.err
        found = quick("--chip", folder / "tiny.toml", *words, "--json")
        assert {row["status"] for row in found.json["rows"]} == {"does not fit"}
        assert all(row["message"] for row in found.json["rows"])
        gap = found.json["gap"]
        assert (gap["is_exact"], gap["nothing_fits"]) == (False, True)
        assert gap["statement"].startswith("no row fits")
        assert found.json["rows"][0]["message"] in gap["statement"]
        assert "Exact" not in done.out


def test_a_chip_that_computes_something_else_is_a_failure(sr, capsys):
    found = explore(nm.load_network(sr), n_frames=4, most_mapped=1)
    leave(found, None)
    spoiled = replace(found, rows=tuple(replace(row, verified=False) for row in found.rows))
    for refusal in (None, DoesNotFitError("no row")):
        with pytest.raises(typer.Exit) as caught:
            leave(spoiled, refusal)
        assert caught.value.exit_code == 5
    assert "chip and reference differ" in capsys.readouterr().err


# Wrong values: one line, exit code 2.


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--max-cores", "many"), "--max-cores many"),
        (("--max-cores", "0"), "--max-cores 0"),
        (("--max-cores", "2.5"), "--max-cores 2.5"),
        (("--max-first-response", "fast"), "--max-first-response fast"),
        (("--max-full-response", "5 Hz"), "--max-full-response 5 Hz"),
        (("--max-reaction", "-1ms"), "--max-reaction"),
        (("--min-sampling-frequency", "3 s"), "--min-sampling-frequency"),
        (("--min-sampling-frequency", "inf"), "--min-sampling-frequency"),
        (("--max-energy", "1e999J"), "--max-energy"),
        (("--best", "speed"), "--best speed"),
        (("--best", "accuracy-at-deadline"), "--best accuracy-at-deadline: takes a deadline"),
        (("--min-accuracy", "90%"), "--min-accuracy: is of accuracy at a deadline"),
        (("--min-accuracy", "90 ms"), "--min-accuracy 90 ms"),
        (("--deadline", "3ms"), "--deadline 3ms: takes trained weights"),
        (("--deadline", "soon", "--trained", "streaming=a.toml"), "--deadline soon"),
        (("--deadline", "3ms", "--trained", "streaming"), "--trained streaming: is not a PATTERN=FILE"),
        (("--trained", "streaming=a.toml"), "--trained streaming=a.toml: goes with a deadline"),
        (("--data", "digits"), "--data digits: goes with a deadline"),
        (("--limit", "0"), "--limit 0: goes with a deadline"),
        (("--within", "half"), "--within half"),
        (
            ("--executions", "sometimes"),
            "--executions: execution 'sometimes': unknown; choose 'windowed', 'pipelined', 'pipelined:best' or, "
            "with a frame period in update steps from 1 to 1000,",
        ),
        (("--executions", "pipelined:1001"), "from 1 to 1000,"),
        (("--executions", ","), "--executions"),
        (("--splitters", "here"), "--splitters here"),
        (("--ticks-per-step", "0"), "--ticks-per-step 0"),
        (("--ticks-per-step", "1,x"), "--ticks-per-step x"),
        (("--ticks-per-step", ","), "--ticks-per-step"),
        (("--seconds", "0"), "--seconds 0"),
        (("--seconds", "nan"), "--seconds nan"),
        (("--most-mapped", "-1"), "--most-mapped -1"),
        (("--processes", "0"), "--processes 0: must be 1 to 1024"),
        (("--processes", "100000"), "processes"),
        (("--given", "nobody"), "nobody"),
        (("--given", "H1 -> O, H9 -> O"), "H9"),
        (("--chip", "nochip"), "nochip"),
        (("--density", "2"), "density"),
        (("--stimuli", "0"), "--stimuli 0"),
        (("--energy-tolerance", "1"), "--energy-tolerance 1"),
        (("--stimulus", "missing.safetensors"), "missing.safetensors"),
        (("--html", "no/such/folder.html"), "--html no/such/folder.html"),
        (("--svg", "."), "--svg"),
        (("--csv", "a", "--json-file", "a"), "named twice"),
        (("--store", "a", "--json-file", "a"), "named twice"),
        (("--store", "no/such/folder"), "--store"),
        (("--processes", 2, "--scheduler", "tcp://a:1"), "give one of them, a cluster has workers"),
    ],
)
def test_every_wrong_value_is_one_line(words, named, neuromap, sr, folder, monkeypatch):
    monkeypatch.chdir(folder)
    before = sorted(path.name for path in folder.iterdir())
    done = neuromap("explore", sr, *words)
    assert done.code == 2, done
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert named in done.err
    assert sorted(path.name for path in folder.iterdir()) == before  # nothing was begun


def test_a_given_pattern_that_is_invalid_names_its_cycle(neuromap, sr):
    done = neuromap("explore", sr, "--given", "H1 -> O", "--json")
    assert done.code == 2
    assert done.json["error"]["cycle"] == ["H1"]


def test_a_file_that_holds_something_else_is_kept(quick, folder):
    (folder / "notes").write_text("my notes\n")
    done = quick("--results", folder / "notes")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert (folder / "notes").read_text() == "my notes\n"


def test_inputs_are_never_written_over(quick, sr, folder):
    before = sr.read_bytes()
    assert quick("--csv", sr).code == 2
    assert quick("--results", sr).code == 2
    assert quick("--chip", folder / "tiny.toml", "--svg", folder / "tiny.toml").code == 2
    assert sr.read_bytes() == before


def test_trained_networks_compete_at_a_deadline_and_are_mapped_from_their_files(neuromap):
    sr = "examples/digits/sr.toml"
    words = ("--deadline", "3ms", "--data", "digits", "--part", "validation", "--limit", 5)
    trained = ("--trained", f"streaming={sr}", "--trained", f"hybrid={sr}", "--executions", "pipelined")
    quick = ("--frames", 4, "--stimuli", 1, "--best", "accuracy-at-deadline", "--json")
    done = neuromap("explore", sr, *words, *trained, *quick)
    assert (done.code, done.err) == (0, "")
    jsonschema.validate(done.json, exploration_schema())
    assert [one["file"] for one in done.json["deadline"]["trained"]] == [sr] * 2
    known = [row["accuracy_at_deadline"] for row in done.json["rows"] if row["status"] == "mapped"]
    best = done.json["rows"][done.json["best"]["row"]]
    assert best["accuracy_at_deadline"] == max(known)
    assert done.json["best"]["map_command"].startswith(f"neuromap map {sr} ")
