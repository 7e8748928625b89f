"""``neuromap bench``: figures as a table and as JSON, refusals, interrupts."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest

import neuromap as nm
from neuromap.simulation.engine.engine_choice import thread_count

pytestmark = pytest.mark.usefixtures("short_streams")

QUICK = ("--engine", "numpy", "--ticks", 2, "--rounds", 1)


def small(*words):
    return ("bench", "--cores", 2, *QUICK, *words)


def test_the_table_has_every_figure_with_its_unit(neuromap):
    done = neuromap(*small())
    assert (done.code, done.err) == (0, "")
    for words in ("time per tick, median", "ms, wall clock", "real-time factor", "tick of 1 ms / time",
                  "synaptic events", "per second, wall clock", "load time", "compile time", "memory bandwidth, read",
                  "GB/s", "limit by memory", "distance to the limit", "time in cache",
                  "2 cores, 512 neurons"):  # fmt: skip
        assert all(word in done.out for word in words.split()), words


def test_json_follows_the_schema_and_holds_the_settings(neuromap, folder):
    file = folder / "bench.json"
    words = ("--rate", 100, "--synapses", 7, "--delays", "2-5", "--at-rest", 0.5, "--heterogeneous", "--seed", 3)
    done = neuromap(*small(*words, "--json", "--json-file", file))
    assert (done.code, done.err) == (0, "")
    jsonschema.validate(done.json, nm.load_schema("bench"))
    assert json.loads(file.read_text()) == done.json
    (run,) = done.json["runs"]
    assert run["settings"] == {
        "cores": 2, "rate_hz": 100, "synapses": 7, "delay": [2, 5], "at_rest": 0.5, "heterogeneous": True, "seed": 3,
        "chip": "truenorth",
    }  # fmt: skip
    assert run["synapses"] == 2 * 256 * 7
    assert done.json["scaling"] is None


@pytest.mark.parametrize(
    ("scaling", "words", "key", "values"),
    [
        ("cores", ("--cores", 20), "cores", [16, 20]),
        ("cores", ("--cores", 64), "cores", [16, 64]),
        ("rate", ("--cores", 1), "rate_hz", [2, 20, 100]),
        ("threads", ("--cores", 1), "cores", [1]),
    ],
)
def test_scaling_has_one_run_for_every_value(scaling, words, key, values, neuromap):
    done = neuromap("bench", *words, *QUICK, "--scaling", scaling, "--json")
    assert done.code == 0
    assert done.json["scaling"] == scaling
    assert [run["settings"][key] for run in done.json["runs"]] == values


def test_threads_are_one_and_all_unless_named(neuromap):
    words = ("bench", "--cores", 1, "--ticks", 1, "--rounds", 1, "--json")
    most = thread_count()
    for given, expected in (((), sorted({1, most})), (("--threads", "3, 1"), [3, 1])):
        done = neuromap(*words, *given)
        assert done.code == 0
        assert [timing["threads"] for timing in done.json["runs"][0]["timings"]] == expected


def test_a_program_from_a_file(program, neuromap):
    done = neuromap("bench", "--program", program, *QUICK, "--json")
    assert done.code == 0
    (run,) = done.json["runs"]
    assert (run["program"], run["settings"]) == ("SR", None)
    assert run["per_tick"]["axon_events"] > 0, "random frames are fed"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("--cores", 0), "cores 0: must be 1 to"),
        (("--cores", 100000), "at most 65536 cores"),
        (("--synapses", 257), "synapses 257: chip truenorth allows 0 to 256"),
        (("--rate", 0), "rate 0 Hz"),
        (("--rate", "nan"), "rate nan Hz"),
        (("--delays", "16"), "delay 16 to 16: chip truenorth allows 1 to 15"),
        (("--delays", "1-"), "--delays 1-: must be a number of ticks"),
        (("--delays", "-3"), "--delays -3: must be a number of ticks"),
        (("--delays", "1-2-3"), "--delays 1-2-3: must be"),
        (("--at-rest", 2), "at rest 2.0: must be 0 to 1"),
        (("--seed", -1), "seed -1: must be 0 or more"),
        (("--threads", "1,,2"), "--threads 1,,2: must be numbers with commas between"),
        (("--threads", "two"), "--threads two"),
        (("--threads", "0"), "threads 0"),
        (("--threads", "1,1"), "is named twice"),
        (("--threads", "2"), "the engine numpy has 1"),
        (("--engine", "quick"), "engine quick: is not known; engines are fast, numpy"),
        (("--scaling", "size"), "--scaling size: is not known; give cores, rate, threads"),
        (("--seconds", 1), "--ticks 2 and --seconds 1: give one of them"),
        (("--ticks", 0), "ticks 0: must be 1 to 1000000000"),
        (("--rounds", 0), "rounds 0: must be 1 to 10000"),
        (("--rounds", 10**20), "must be 1 to 10000"),
        (("--ticks", 10**20), "must be 1 to 1000000000"),
        (("--chip", "truenorht"), "is not known"),
        (("--json-file", "nowhere/bench.json"), "--json-file nowhere"),
        (("--cores", "many"), "--cores"),
    ],
)
def test_bad_input_is_one_line(words, found, neuromap):
    done = neuromap(*small(*words))
    assert (done.code, done.out) == (2, "")
    assert found in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("--cores", 4), "--cores and --program"),
        (("--at-rest", 0.5), "--at-rest and --program"),
        (("--heterogeneous",), "--heterogeneous and --program"),
        (("--scaling", "rate"), "--scaling rate and --program"),
    ],
)
def test_a_program_is_what_it_is(words, found, program, neuromap):
    done = neuromap("bench", "--program", program, *QUICK, *words)
    assert (done.code, done.out) == (2, "")
    assert found in done.err


def test_the_program_is_not_overwritten(program, neuromap):
    before = program.read_bytes()
    done = neuromap("bench", "--program", program, *QUICK, "--json-file", program)
    assert done.code == 2
    assert "is the program file itself" in done.err
    assert program.read_bytes() == before


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc to know when the command runs")
@pytest.mark.parametrize("engine", [pytest.param("numpy", marks=pytest.mark.thorough), "fast"])
def test_interrupt_while_measuring(engine, folder, ended):
    file = folder / "bench.json"
    words = ["bench", "--cores", "4", "--seconds", "3000", "--engine", engine, "--json-file", str(file)]
    process = subprocess.Popen(
        [sys.executable, "-m", "neuromap", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    maps = Path(f"/proc/{process.pid}/maps")
    deadline = time.monotonic() + 60
    while "safetensors" not in maps.read_text() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    stdout, stderr = ended(process)
    assert (stdout, stderr) == ("", "neuromap: interrupted\n")
    assert process.returncode == 130
    assert not file.exists()
    assert not list(folder.glob(".neuromap-*"))
