"""What the commands print and write: JSON contracts, tables, files."""

import csv
import json
import re
from dataclasses import replace
from importlib.util import find_spec
from itertools import pairwise

import jsonschema
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import neuromap as nm
from neuromap.simulation.choose_frames import DEFAULT_FRAMES


def test_json_goes_to_stdout_alone(sr, program, neuromap):
    for words in (
        ("rollouts", sr), ("chips",), ("chips", "truenorth"), ("map", sr), ("simulate", program), ("verify", sr),
        ("report", sr, "--patterns", "streaming", "--executions", "windowed"),
    ):  # fmt: skip
        done = neuromap(*words, "--json")
        assert (done.code, done.err) == (0, ""), words
        assert isinstance(done.json, dict)


# rollouts


def test_rollouts_contract(sr, neuromap):
    found = neuromap("rollouts", sr, "--json").json
    counts = found["counts"]
    wanted = {
        "edges": 5, "self_edges": 1, "valid": 16, "forward_bound": 16, "upper_bound": 16, "most_sequential": 1,
        "behaviour_classes": 4,
    }  # fmt: skip
    assert {key: counts[key] for key in wanted} == wanted
    assert counts["cycle_bound"] == 1
    assert counts["valid_log2"] == 4
    assert all(found["proven"].values())
    assert [p["name"] for p in found["patterns"]] == ["streaming", "sequential", "hybrid"]
    streaming, sequential, hybrid = found["patterns"]
    assert [p["inference_factor"] for p in found["patterns"]] == [1, 3, 2]
    assert [p["equally_model_parallel_to_streaming"] for p in found["patterns"]] == [True, False, False]
    assert all(p["valid"] and p["cycle"] == [] for p in found["patterns"])
    assert hybrid["streaming_edges"] == ["H2 -> O", "H1 -> O", "H1 -> H1"]
    assert sequential["streaming_edges"] == ["H1 -> H1"]
    assert [p["behaviour_class"] for p in found["patterns"]] == [1, 2, 2]
    windowed = streaming["executions"]["windowed"]
    assert windowed["frame_period"] == 1
    assert windowed["delays"] == {"I -> H1": 1, "H1 -> H2": 1, "H2 -> O": 1, "H1 -> O": 1, "H1 -> H1": 1}
    assert (windowed["first_response"], windowed["full_response"]) == ({"O": 2}, {"O": 3})
    assert hybrid["executions"]["windowed"]["first_response"] == {"O": 3}
    assert sequential["executions"]["pipelined"]["frame_period"] == 1


def test_rollouts_times_are_those_of_the_library(sr, neuromap):
    net = nm.load_network(sr)
    rows = neuromap("rollouts", sr, "--all", "--json").json["patterns"]
    assert len({row["behaviour_class"] for row in rows}) == 4
    for row in rows:
        edges = [tuple(e.split(" -> ")) for e in row["streaming_edges"]]
        pattern = nm.RolloutPattern.from_streaming_edges(net, edges)
        assert row["inference_factor"] == pattern.inference_factor
        shift = nm.rollout.equivalent(nm.RolloutPattern.streaming(net), pattern)
        assert row["shift_from_streaming"] == shift
        assert row["equivalent_to_streaming"] == (shift is not None)
        for execution, times in row["executions"].items():
            rollout = nm.Rollout(net, pattern, execution)
            assert times["frame_period"] == rollout.frame_period
            assert times["delays"] == {f"{u} -> {v}": d for (u, v), d in rollout.delays.items()}
            assert times["first_response"]["O"] == rollout.first_response("O")
            assert times["full_response"]["O"] == rollout.full_response("O")


def test_rollouts_of_an_invalid_pattern(sr, neuromap):
    done = neuromap("rollouts", sr, "--pattern", "H1 -> O", "--json")
    assert done.code == 0
    (row,) = done.json["patterns"]
    assert (row["valid"], row["cycle"], row["inference_factor"]) == (False, ["H1"], None)
    assert row["executions"] == {"windowed": None, "pipelined": None}
    text = neuromap("rollouts", sr, "--pattern", "H1 -> O").out
    assert "form the cycle H1 -> H1" in text


def test_rollouts_of_edges_that_bridge_frames(sr, neuromap):
    done = neuromap("rollouts", sr, "--pattern", "H1 -> H1, H1 -> O by 2", "--json")
    (row,) = done.json["patterns"]
    assert (row["streaming_edges"], row["bridging_edges"]) == (["H1 -> O", "H1 -> H1"], {"H1 -> O": 2})
    assert row["executions"]["windowed"]["delays"]["H1 -> O"] == 8
    for text in ("H1 -> O by x", "H1 -> O by 99999"):
        done = neuromap("rollouts", sr, "--pattern", text)
        assert (done.code, done.err.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("H1 -> H1, H1 -> O by 2, H1 -> O", "edge H1 -> O is given twice, by 2 and by 1 frames"),
        ("H1 -> O by 9999999999999999999", "'H1 -> O by 9999999999999999999': is by '9999999999999999999' frames"),
    ],
)
def test_edges_by_several_frames_are_refused(sr, neuromap, pattern, found):
    done = neuromap("rollouts", sr, "--pattern", pattern)
    assert (done.code, done.out) == (2, "")
    assert found in done.err


def test_rollouts_all_and_limit(sr, neuromap):
    everything = neuromap("rollouts", sr, "--all", "--json").json
    assert (everything["listed"], everything["complete"]) == (16, True)
    assert len({tuple(p["streaming_edges"]) for p in everything["patterns"]}) == 16
    part = neuromap("rollouts", sr, "--all", "--limit", "5", "--json").json
    assert (part["listed"], part["complete"]) == (5, False)
    assert "first 5 valid patterns" in neuromap("rollouts", sr, "--all", "--limit", "5").out


def big_network(folder, n):
    names = [f"N{k}" for k in range(n)]
    text = "format = 1\n" + "".join(f"[nodes.{name}]\n" for name in names)
    text += "".join(f'[edges."{u} -> {v}"]\n' for u, v in pairwise(names))
    path = folder / "big.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("n", [53, 54, 55, 201])
def test_large_counts_are_decimal_strings(n, folder, neuromap):
    counts = neuromap("rollouts", big_network(folder, n), "--pattern", "streaming", "--json").json["counts"]
    exact = 2 ** (n - 1)
    assert counts["valid"] == (exact if exact < 2**53 else str(exact))
    assert counts["valid_log2"] == n - 1
    if n > 60:
        assert "2^200.00" in neuromap("rollouts", folder / "big.toml", "--pattern", "streaming").out


def test_counts_of_more_than_4300_digits():
    from neuromap.cli.printing.documents import count_members
    from neuromap.render.document import record

    counted = record(count_members("valid", "n"))
    members = counted.write({"n": 2**20000})
    assert len(members["valid"]) == 6021
    assert members["valid"].startswith("398027684033")
    assert members["valid_log2"] == 20000
    assert counted.write({"n": None}) == {"valid": None, "valid_log2": None}


# chips


def test_chips(folder, neuromap):
    found = neuromap("chips", "--json").json["chips"]
    assert "truenorth" in [chip["name"] for chip in found]
    truenorth = neuromap("chips", "truenorth", "--json").json
    assert truenorth["grid"]["cores"] == [64, 64]
    assert truenorth["core"]["axons"] == truenorth["core"]["neurons"] == 256
    assert truenorth["derived"]["weight_range"] == [-255, 255]
    tiny = neuromap("chips", folder / "tiny.toml", "--json").json
    assert (tiny["name"], tiny["derived"]["n_cores"]) == ("tiny", 4)
    assert "no published figures" in neuromap("chips", folder / "tiny.toml").out
    assert "truenorth" in neuromap("chips").out
    timed = neuromap("chips", "loihi1", "--json").json
    jsonschema.validate(timed, nm.load_schema("chips"))
    assert timed["time"]["ticks"] == "timed"
    (line,) = (line for line in neuromap("chips").out.splitlines() if line.startswith("loihi1"))
    assert line.endswith("timed")


def test_every_listed_chip_can_be_shown(neuromap):
    for chip in neuromap("chips", "--json").json["chips"]:
        shown = neuromap("chips", chip["name"])
        assert shown.code == 0
        assert chip["name"] in shown.out


# map and simulate


def test_map_prints_and_writes(folder, sr, neuromap):
    out = folder / "out.nmp"
    found = neuromap("map", sr, "--pattern", "hybrid", "-o", out, "--json").json
    program = nm.load_program(out)
    assert nm.check_program(program) == []
    assert (found["pattern"], found["execution"], found["file"]) == ("hybrid", "windowed", str(out))
    assert found["cores"] == program.n_cores
    assert found["frame_period_ticks"] == program.period == 2
    assert found["neurons"] >= 8 + 6 + 3
    assert 0 < found["neuron_utilisation"] <= 1


def figures_of(text):
    """Name -> value and what stands beside it, of the table that ``map`` prints."""
    lines = (re.split(r" {2,}", line.strip(), maxsplit=2) for line in text.splitlines())
    return {words[0]: words[1:] for words in lines if len(words) == 3}


@pytest.mark.parametrize("words", [(), ("--ticks-per-step", "3"), ("--splitters", "anywhere")])
def test_map_prints_six_figures_and_the_times_of_the_report(words, sr, neuromap):
    chosen = ("--pattern", "hybrid", *words)
    six = figures_of(neuromap("map", sr, *chosen).out)
    assert list(six) == ["cores", "neurons", "mean hops", "frame period", "first response", "full response"]
    report = neuromap("report", sr, "--patterns", "hybrid", "--executions", "windowed", *words, "--json").json
    (row,) = report["rows"]
    shown = [int(six[name][0]) for name in ("cores", "neurons", "frame period", "first response", "full response")]
    predicted = row["predicted"]
    assert shown == [row["cores"], row["neurons"], row["frame_period_ticks"],
                     predicted["first_response_ticks"], predicted["full_response_ticks"]]  # fmt: skip
    assert (
        six["frame period"][1]
        == f"ticks = {row['frame_period_ticks']} ms, sampling at {row['sampling_frequency_hz']:.4g} Hz"
    )
    own = sum(int(n) for n in re.findall(r"(\d+) (?:copies|splitters|relays)", six["neurons"][1]))
    assert shown[1] - own == 8 + 6 + 3
    every = figures_of(neuromap("map", sr, *chosen, "--all").out)
    assert len(every) > 20
    assert every["cores"][0] == six["cores"][0]


def test_map_is_deterministic(folder, sr, neuromap):
    for name in ("a", "b"):
        assert neuromap("map", sr, "-o", folder / name).code == 0
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()


def test_pattern_by_edges_is_the_named_pattern(folder, sr, neuromap):
    edges = "H1->H1 ,  H1 -> O,H2 -> O"
    named = neuromap("map", sr, "--pattern", "hybrid", "--json").json
    typed = neuromap("map", sr, "--pattern", edges, "--json").json
    assert {**typed, "pattern": ""} == {**named, "pattern": ""}


def test_simulate_counts_spikes_of_the_reference(folder, sr, program, neuromap):
    frames = load_file(folder / "frames.safetensors")
    net = nm.load_network(sr)
    expected = nm.reference(nm.Rollout(net, nm.RolloutPattern.named(net, "hybrid"), "pipelined"), frames)["O"]
    out = folder / "out.trace"
    found = neuromap("simulate", program, "--stimulus", folder / "frames.safetensors", "-o", out, "--json").json
    output = found["outputs"]["O"]
    assert output["spikes_per_frame"] == expected.sum(axis=1).tolist()
    assert output["spiking_neurons_per_frame"] == [np.flatnonzero(row).tolist() for row in expected]
    assert (output["stray_spikes"], found["frames"], found["frame_period_ticks"]) == (0, 9, 1)
    from neuromap.simulation.trace.load_trace import load_trace

    assert (load_trace(out).frames("O") == expected).all()
    text = neuromap("simulate", program, "--stimulus", folder / "frames.safetensors").out
    assert f"O: {expected.sum()} spikes of 3 neurons in 8 frames, 0 outside frames" in text


def test_simulate_random_frames_follow_seed_and_density(program, neuromap):
    def run(*words):
        return neuromap("simulate", program, "--json", *words).json["outputs"]["O"]["spikes_per_frame"]

    assert run("--frames", "30", "--seed", "1") == run("--random", "30", "--seed", "1")
    assert run("--frames", "30", "--seed", "1") != run("--frames", "30", "--seed", "2")
    assert len(run()) == DEFAULT_FRAMES


# verify


@pytest.mark.parametrize("pattern", ["streaming", "sequential", "hybrid", "I -> H1, H1 -> H1"])
@pytest.mark.parametrize("execution", ["windowed", "pipelined"])
def test_verify(pattern, execution, sr, neuromap):
    done = neuromap("verify", sr, "--pattern", pattern, "--execution", execution, "--json")
    assert (done.code, done.err) == (0, "")
    assert done.json["verified"] is True
    assert (done.json["n_mismatches"], done.json["n_strays"]) == (0, 0)
    assert done.json["n_compared"] == (DEFAULT_FRAMES - 1) * 3


def test_verify_takes_pattern_and_execution_from_the_program(sr, program, neuromap):
    found = neuromap("verify", sr, "--program", program, "--json").json
    assert (found["pattern"], found["execution"], found["verified"]) == ("hybrid", "pipelined", True)
    assert "verified" in neuromap("verify", sr, "--program", program).out


@pytest.fixture
def edited(folder, program):
    """The program with one delay changed by hand."""
    loaded = nm.load_program(program)
    delay = loaded.delay.copy()
    core, neuron = np.argwhere((loaded.target_core >= 0) & (loaded.delay == 1))[0]
    delay[core, neuron] = 2
    path = folder / "edited.nmp"
    replace(loaded, delay=delay).save(path)
    return path


def test_edited_program_is_caught(folder, sr, edited, neuromap):
    done = neuromap("verify", sr, "--program", edited, "--frames", "40", "--json")
    assert done.code == 5
    assert done.json["verified"] is False
    assert done.err.startswith("neuromap verify: not verified: ")
    assert done.err.count("\n") == 1
    first = done.json["first_mismatch"] or done.json["first_stray"]
    assert first["node"] == "O"
    assert "first node O" in done.err
    assert neuromap("verify", sr, "--program", edited, "--frames", "40").out == ""


def test_report_on_an_edited_program(sr, edited, neuromap):
    done = neuromap("report", sr, "--program", edited, "--frames", "40", "--json")
    assert done.code == 5
    (row,) = done.json["rows"]
    assert row["verified"] is False
    assert (row["pattern"], row["execution"]) == ("hybrid", "pipelined")
    assert done.err.startswith("neuromap report: 1 of 1 row failed")


def test_report_on_a_program_counts_most_sequential_patterns(folder, sr, neuromap):
    path = folder / "sequential.nmp"
    assert neuromap("map", sr, "--pattern", "sequential", "-o", path).code == 0
    whole = neuromap("report", sr, "--patterns", "sequential", "--executions", "windowed", "--json").json
    assert whole["most_sequential_patterns"] == 1
    assert neuromap("report", sr, "--program", path, "--json").json == whole


def test_stimulus_is_described_alike(folder, sr, program, neuromap):
    words = ("--patterns", "hybrid", "--executions", "pipelined")
    for chosen, said in (
        ((), {"kind": "random", "seed": 0, "density": None, "n_frames": DEFAULT_FRAMES, "n_stimuli": 5}),
        (
            ("--frames", "7", "--seed", "2", "--density", "0.25", "--stimuli", "3"),
            {"kind": "random", "seed": 2, "density": 0.25, "n_frames": 7, "n_stimuli": 3},
        ),
        (
            ("--stimulus", folder / "frames.safetensors"),
            {"kind": "given", "file": str(folder / "frames.safetensors"), "n_frames": 9, "n_stimuli": 1},
        ),
    ):
        assert neuromap("report", sr, *words, *chosen, "--json").json["stimulus"] == said
        assert neuromap("report", sr, "--program", program, *chosen, "--json").json["stimulus"] == said


@pytest.fixture
def illegal(folder, program):
    """The program with an axon that two neurons of different nodes or indices feed: legal on the chip, not mapped."""
    loaded = nm.load_program(program)
    core, axon = loaded.target_core.copy(), loaded.target_axon.copy()
    first, second = np.argwhere(core >= 0)[:2]
    core[tuple(second)], axon[tuple(second)] = core[tuple(first)], axon[tuple(first)]
    path = folder / "illegal.nmp"
    replace(loaded, target_core=core, target_axon=axon).save(path)
    return path


def test_a_program_that_breaks_a_rule_fails(sr, illegal, neuromap):
    found = neuromap("verify", sr, "--program", illegal, "--json")
    assert found.code == 5
    assert found.json["verified"] is False
    assert found.json["n_violations"] >= 1
    assert found.json["first_violation"] in found.json["message"]
    text = neuromap("verify", sr, "--program", illegal)
    assert (text.code, text.out) == (5, "")
    assert text.err.startswith("neuromap verify: not verified: ")
    assert "of the chip" in text.err
    assert neuromap("report", sr, "--program", illegal).code == 5


@pytest.mark.parametrize("columns", ["60", "80", "100", "160"])
def test_narrow_rollouts_keep_names_whole(columns, sr, neuromap, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    lines = neuromap("rollouts", sr, "--pattern", "streaming", "--pattern", "H1 -> H1, H1 -> O").out.splitlines()
    assert max(map(len, lines)) <= int(columns)
    for word in ("H1 -> H1, H1 -> O", "streaming", "pipelined", "response", "full"):
        assert any(word in line for line in lines), word


# report

ROW_KEYS = {
    "pattern", "execution", "predicted", "measured", "worst_case_reaction_ticks", "frame_period_ticks",
    "sampling_frequency_hz", "cores", "neurons", "copies", "relays", "axons", "verified",
}  # fmt: skip


def test_report_contract(sr, neuromap):
    found = neuromap("report", sr, "--json").json
    labels = [(row["pattern"], row["execution"]) for row in found["rows"]]
    assert labels == [(p, e) for p in ("streaming", "sequential", "hybrid") for e in ("windowed", "pipelined")]
    for row in found["rows"]:
        assert set(row) >= ROW_KEYS
        assert row["verified"] is True
        for part in ("predicted", "measured"):
            assert {"first_response_ticks", "full_response_ticks"} <= set(row[part])
    streaming = found["rows"][0]
    assert streaming["predicted"]["first_response_ticks"] == 2
    assert (streaming["frame_period_ticks"], streaming["sampling_frequency_hz"]) == (1, 1000.0)


def test_report_patterns_are_repeatable_and_separated_by_commas(sr, neuromap):
    words = ("--patterns", "streaming,hybrid", "--patterns", "H1 -> H1, H1 -> O", "--executions", "pipelined", "--json")
    rows = neuromap("report", sr, *words).json["rows"]
    assert [row["pattern"] for row in rows] == ["streaming", "hybrid", "H1 -> H1, H1 -> O"]
    assert {row["execution"] for row in rows} == {"pipelined"}


def test_report_writes_its_files(folder, sr, neuromap):
    html, table, data = (folder / f"out.{suffix}" for suffix in ("html", "csv", "json"))
    words = ("--patterns", "streaming,hybrid", "--html", html, "--csv", table, "--json-file", data)
    done = neuromap("report", sr, *words)
    assert (done.code, done.err) == (0, "")
    for path in (html, table, data):
        assert f"written to {path}\n" in done.out
    assert html.read_text().lstrip().lower().startswith("<!doctype html>")
    with table.open(newline="") as stream:
        assert len(list(csv.DictReader(stream))) == 4
    assert len(json.loads(data.read_text())["rows"]) == 4


def test_report_shows_links_and_energy(sr, neuromap):
    words = ("report", sr, "--patterns", "streaming", "--executions", "windowed")
    row = neuromap(*words, "--json").json["rows"][0]
    assert row["energy"]["joules_per_frame"] > row["energy"]["terms"]["static_watts"]["joules_per_frame"] > 0
    assert row["network_on_chip"]["shortest_tick_cycles"] <= row["network_on_chip"]["safe_tick_any_stimulus_cycles"]
    text = " ".join(neuromap(*words, "--all").out.split())
    for part in ("busiest link", "[cycles]", "[mW]", "hop_joules held by these", "missing: tick_joules"):
        assert part in text


def test_report_writes_figures(folder, sr, neuromap):
    place = folder / "pictures"
    words = ("report", sr, "--patterns", "streaming", "--figures")
    done = neuromap(*words, place)
    assert (done.code, done.err) == (0, "")
    kinds = ("chip", "neurons", "copies", "spikes", "links", "raster", "timeline")
    names = {f"streaming-{e}-{kind}" for e in ("windowed", "pipelined") for kind in kinds}
    names |= {"overview", "streaming-network", "streaming-window"}
    suffixes = {".svg", ".pdf"} if find_spec("vl_convert") else {".svg"}
    assert {path.name for path in place.iterdir()} == {name + suffix for name in names for suffix in suffixes}
    assert f"{len(names) * len(suffixes)} files of figures written to {place}" in done.out
    assert ("extra pages" in done.out) == (len(suffixes) == 1)
    assert neuromap(*words, place).code == 0  # again, over the old ones
    for wrong, word in (
        (folder / "missing" / "pictures", "create it first"),
        (sr, "is a file"),
        ("", "is not a folder"),
    ):
        refused = neuromap(*words, wrong)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert word in refused.err


def test_report_with_a_frame_period_of_ones_own(folder, sr, neuromap):
    rows = neuromap("report", sr, "--patterns", "streaming", "--executions", "pipelined:2,windowed", "--json").json[
        "rows"
    ]
    assert [(row["execution"], row["frame_period_ticks"]) for row in rows] == [("pipelined:2", 2), ("windowed", 1)]
    path = folder / "slow.nmp"
    assert neuromap("map", sr, "--execution", "pipelined:2", "--pattern", "streaming", "-o", path).code == 0
    assert neuromap("report", sr, "--program", path, "--json").json["rows"] == rows[:1]


def test_report_with_a_stimulus_file(folder, sr, neuromap):
    save_file({"I": np.eye(16, dtype=np.uint8)}, folder / "eye.safetensors")
    words = ("--patterns", "streaming", "--stimulus", folder / "eye.safetensors", "--json")
    for stimuli, named in (("0", "--stimuli 0"), ("101", "--stimuli 101"), ("2", "--stimulus and --stimuli")):
        done = neuromap("report", sr, *words, "--stimuli", stimuli)
        assert (done.code, done.json["error"]["message"].count("\n")) == (2, 0)
        assert named in done.json["error"]["message"]
    assert [row["verified"] for row in neuromap("report", sr, *words).json["rows"]] == [True, True]


def test_report_shows_all_rows_though_one_fails(folder, sr, neuromap):
    done = neuromap("report", sr, "--patterns", "streaming", "--patterns", "H1 -> O", "--json")
    assert done.code == 2
    rows = done.json["rows"]
    assert len(rows) == 4
    assert [row["verified"] for row in rows[:2]] == [True, True]
    assert not any(row["verified"] for row in rows[2:])
    assert "2 of 4 rows failed" in done.err
    assert "H1 -> H1" in done.err
    assert done.err.count("\n") == 1
    small = neuromap("report", sr, "--chip", folder / "tiny.toml", "--patterns", "streaming", "--json")
    assert small.code == 3
    assert len(small.json["rows"]) == 2
