"""The bench: what it counts is exact, what it derives is the arithmetic that it names; no test looks at a time."""

import json
import math
from dataclasses import replace

import jsonschema
import numpy as np
import pytest

import neuromap as nm
from neuromap.bench.bench import Session, bench, require_equal_totals
from neuromap.bench.bench_report import (
    Activity,
    Bandwidth,
    BenchReport,
    BenchRun,
    Caches,
    InCache,
    Machine,
    Spread,
    Timing,
    _last_within,
    measure_caches,
)
from neuromap.bench.characterisation import characterisation_program
from neuromap.bench.forms import print_bench, scaling_table, with_prefix
from neuromap.errors import InputError, VerificationError
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.program.ports import BIAS, HostTable, NodePort

pytestmark = pytest.mark.usefixtures("short_streams")

SMALL = replace(load_chip("truenorth"), name="small", axons=64, neurons=64)
MACHINE = Machine("a CPU", 2, 2**34, 2**25, 0.0, "Linux", "3.11", "2.3", "0.68")


def network(n_cores=4, **arguments):
    return characterisation_program(n_cores, chip=SMALL, **{"synapses": 32, **arguments})


def timing(threads=1, milliseconds=0.5, **changes):
    tick = milliseconds / 1e3
    fields = {
        "threads": threads, "tick": Spread(0.9 * tick, tick, 1.2 * tick), "cpu": Spread(tick, tick, tick),
        "bandwidth": Bandwidth(20e9, 40e9), "load_seconds": 0.1, "compile_seconds": 0.0,
    }  # fmt: skip
    return Timing(**{**fields, **changes})


def run_of(*timings, **changes):
    fields = {
        "name": "by hand", "chip": "small", "settings": (("cores", 10),), "cores": 10, "neurons": 2560,
        "synapses": 327680, "tick_seconds": 1e-3, "ticks_per_round": 100,
        "activity": Activity(spikes=51.2, axon_events=51.2, synaptic_events=6553.6, visits=10.0),
        "program_bytes": 200_000, "hot_bytes": 120_000, "bytes_per_tick": 2e6,
        "in_cache": InCache(4, 48_000, Spread(19e-9, 20e-9, 22e-9)), "timings": timings,
    }  # fmt: skip
    return BenchRun(**{**fields, **changes})


def report_of(*runs, **changes):
    fields = {
        "version": "1", "date": "2026-11-21T12:00:00+00:00", "machine": MACHINE, "engine": "fast", "rounds": 7,
        "caches": Caches(2**19, 3 * 2**20),
        "scaling": None, "runs": runs,
    }  # fmt: skip
    return BenchReport(**{**fields, **changes})


def text_of(report, width=140):
    import io

    from rich.console import Console

    stream = io.StringIO()
    print_bench(report, Console(file=stream, width=width, highlight=False))
    return stream.getvalue()


def test_derived_figures():
    one, two = timing(), timing(threads=2, milliseconds=0.25, bandwidth=Bandwidth(50e9, 40e9))
    run = run_of(one, two)
    assert run.rate_hz == pytest.approx(20)
    assert run.real_time_factor(one) == pytest.approx(2)
    assert run.real_time_factor(two) == pytest.approx(4)
    assert run.speed_up(two) == pytest.approx(2)
    assert run.synaptic_events_per_second(one) == pytest.approx(6553.6 / 0.5e-3)
    assert run.limit_seconds(one) == pytest.approx(2e6 / 40e9), "the better of reading and updating"
    assert run.limit_seconds(two) == pytest.approx(2e6 / 50e9)
    assert run.distance(one) == pytest.approx(0.5e-3 / 50e-6)
    assert run.in_cache_seconds(one) == pytest.approx(10 * 20e-9), "visits, each as long as in cache"
    assert run.in_cache_seconds(two) == pytest.approx(10 * 20e-9 / 2)
    assert run.distance_to_cache(two) == pytest.approx(0.25e-3 / 100e-9)


def test_what_is_not_known_stays_unknown():
    run = run_of(timing(compile_seconds=None), hot_bytes=None, bytes_per_tick=None, in_cache=None)
    (only,) = run.timings
    assert run.limit_seconds(only) is run.distance(only) is run.in_cache_seconds(only) is None
    assert run.distance_to_cache(only) is None
    text = text_of(report_of(run, caches=None))
    assert text.count("n/a") >= 5
    assert "None" not in text


def test_no_bytes_have_no_distance():
    nothing = Activity(spikes=0.0, axon_events=0.0, synaptic_events=0.0, visits=0.0)
    run = run_of(timing(), bytes_per_tick=0.0, activity=nothing)
    assert run.limit_seconds(run.timings[0]) == run.in_cache_seconds(run.timings[0]) == 0
    assert run.distance(run.timings[0]) is run.distance_to_cache(run.timings[0]) is None


def test_spread_is_median_and_quartiles():
    assert Spread.of([5.0, 1.0, 4.0, 2.0, 3.0]) == Spread(2.0, 3.0, 4.0)
    assert Spread.of([7.0]) == Spread(7.0, 7.0, 7.0)


@pytest.mark.parametrize("engine", ["numpy", "fast"])
def test_activity_is_counted_exactly(engine):
    """Without synapses every neuron fires every 50 ticks; rounds are longer where a busy machine makes blocks short."""
    found = bench([network(6, synapses=0)], engine=engine, ticks=350, rounds=7)
    (run,) = found.runs
    assert (found.rounds, run.ticks_per_round >= 50) == (7, True)
    ticks = 7 * run.ticks_per_round
    for count in (run.activity.spikes, run.activity.axon_events):
        assert count * ticks / (6 * 64) == pytest.approx(ticks / 50, abs=1)
    assert run.activity.synaptic_events == 0
    assert run.rate_hz == pytest.approx(20, rel=50 / ticks)
    assert (run.cores, run.neurons, run.synapses, run.tick_seconds) == (6, 384, 0, 1e-3)


def test_synapses_are_counted():
    (run,) = bench([network(3, synapses=17)], engine="numpy", ticks=1).runs
    assert run.synapses == 3 * 64 * 17
    assert run.activity.synaptic_events == 17 * run.activity.axon_events


def test_the_numpy_engine_tells_no_footprint():
    (run,) = bench([network()], engine="numpy", ticks=3).runs
    assert run.hot_bytes is run.bytes_per_tick is run.timings[0].compile_seconds is None


def test_the_fast_engine_tells_its_footprint_and_visits():
    program = network(40, at_rest=0.9)
    found = bench([program], engine="fast", threads=[1, 2], ticks=70)
    (run,) = found.runs
    assert [t.threads for t in run.timings] == [1, 2]
    assert run.activity.visits == 4, "resting cores are skipped"
    footprint = Session(program, "fast", 1).footprint
    assert run.hot_bytes == footprint.hot_bytes >= program.crossbar.nbytes
    assert run.bytes_per_tick == pytest.approx(
        4 * footprint.visit_bytes
        + run.activity.axon_events * footprint.event_bytes
        + run.activity.spikes * footprint.spike_bytes
    )
    assert all(t.tick.median > 0 and t.bandwidth.best > 0 for t in run.timings)


def test_time_in_cache_is_that_of_a_smaller_network_of_the_same_kind():
    made = []

    def same_kind(n_cores):
        made.append(n_cores)
        return network(n_cores, rate_hz=100)

    found = bench([network(300, rate_hz=100, at_rest=0.5)], threads=[1, 2], ticks=14, same_kind=[same_kind])
    (run,) = found.runs
    assert made == [run.in_cache.cores]
    assert run.in_cache.hot_bytes <= found.caches.near_bytes // 2 or run.in_cache.cores == 1
    assert run.in_cache_seconds(run.timings[1]) == pytest.approx(150 * run.in_cache.visit.median / 2)


def test_caches_within_which_reads_are_fast():
    found = measure_caches()
    assert 2**14 <= found.near_bytes <= 2**20
    assert 2**14 <= found.last_bytes <= 2**20
    assert _last_within([1, 2, 4, 8], [1.0, 3.9, 4.1, 2.0], 4.0) == 2, "what is larger does not count, however fast"
    assert _last_within([1, 2, 4], [1.0, 1.0, 1.0], 4.0) == 4


def test_what_was_compiled_once_comes_from_the_cache():
    Session(network(), "fast", 1)
    assert Session(network(seed=1), "fast", 1).compile_seconds == 0


def test_rounds_are_no_more_than_ticks():
    found = bench([network()], engine="numpy", ticks=3, rounds=7)
    assert (found.rounds, found.runs[0].ticks_per_round) == (3, 1)


@pytest.mark.parametrize("ticks", [1, 6, 7, 8, 100, 1001])
def test_at_least_the_ticks_that_were_asked_for_are_measured(ticks):
    found = bench([network(1)], engine="numpy", ticks=ticks)
    per_round = found.runs[0].ticks_per_round
    assert found.rounds * per_round >= ticks
    assert (per_round - 1) * found.rounds < ticks or per_round <= 2 * math.ceil(ticks / found.rounds)


def with_host(program, period, rows):
    """Let the host feed axons of core 0: bias rows, and rows of an input node."""
    n = 2 * rows
    node = np.repeat([BIAS, 0], rows).astype(np.int32)
    index = np.where(node == BIAS, 0, np.arange(n) - rows).astype(np.int32)
    ports = (NodePort("I", rows, "input", 0), *program.nodes)
    return replace(
        program,
        nodes=ports,
        neuron_node=np.where(program.neuron_node >= 0, program.neuron_node + 1, -1).astype(np.int32),
        period=period,
        host=HostTable(
            node, index, np.zeros(n, np.int32), np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int64) + 5,
            np.ones(n, np.int8),
        ),
    )  # fmt: skip


@pytest.mark.parametrize("period", [1, 3])
def test_programs_with_host_rows_are_fed(period):
    program = with_host(network(2, at_rest=1.0, synapses=0), period, rows=12)
    (run,) = bench([program], engine="numpy", ticks=70 * period).runs
    assert run.ticks_per_round % period == 0
    bias = 12 / period
    assert bias < run.activity.axon_events < 2 * bias, "every bias row in every frame, and some input spikes"
    assert run.activity.spikes == 0


def test_every_program_and_thread_count_is_measured_and_progress_ends():
    told = []
    programs = [network(2), network(3)]
    settings = [[("cores", 2)], [("cores", 3)]]
    found = bench(
        programs, threads=[1, 2], ticks=14, scaling="cores", settings=settings, progress=lambda *n: told.append(n)
    )
    assert [run.cores for run in found.runs] == [2, 3]
    assert [dict(run.settings) for run in found.runs] == [{"cores": 2}, {"cores": 3}]
    done = [n for _, n, _ in told]
    assert done == sorted(done)
    assert told[-1][1] == told[-1][2] == 2 * 2 * (7 + 1)


def test_sessions_that_differ_are_refused():
    one, other = (Session(network(seed=seed), "numpy", 1) for seed in (0, 1))
    require_equal_totals([one, one])
    for session in (one, other):
        session.warm_up(40)
    with pytest.raises(VerificationError, match=r"40 ticks on 1 threads gave Totals.*please report it"):
        require_equal_totals([one, other])


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"programs": []}, "nothing to measure"),
        ({"threads": []}, "nothing to measure"),
        ({"threads": [1, 1]}, "threads 1, 1: a number is named twice"),
        ({"threads": [0]}, "threads 0"),
        ({"engine": "numpy", "threads": [2]}, "the engine numpy has 1"),
        ({"engine": "quick"}, "engine quick: is not known"),
        ({"ticks": 0}, "ticks 0: must be 1 to 1000000000"),
        ({"seconds": 0}, "seconds 0: must be above 0"),
        ({"seconds": float("nan")}, "seconds nan"),
        ({"seconds": 1e9}, "seconds 1e\\+09"),
        ({"rounds": 0}, "rounds 0: must be 1 to 10000"),
    ],
)
def test_refusals_are_one_line(change, found):
    arguments = {"programs": [network()], "engine": "fast", **change}
    with pytest.raises(InputError, match=found) as caught:
        bench(arguments.pop("programs"), **arguments)
    assert "\n" not in str(caught.value)


def test_json_follows_the_schema():
    schema = nm.load_schema("bench")
    jsonschema.Draft202012Validator.check_schema(schema)
    unknown = run_of(timing(compile_seconds=None), hot_bytes=None, bytes_per_tick=None, settings=(), in_cache=None)
    bare = replace(MACHINE, memory_bytes=None, cache_bytes=None, load_average=None, numba="")
    measured = bench([network()], engine="numpy", ticks=7)
    for report in (
        report_of(run_of(timing(), timing(2))),
        report_of(unknown, unknown, machine=bare, caches=None),
        measured,
    ):
        document = json.loads(report.to_json())
        jsonschema.validate(document, schema)
        assert document == json.loads(json.dumps(report.to_dict()))


@pytest.mark.parametrize(
    "part",
    [(), ("machine",), ("caches",), ("runs", 0), ("runs", 0, "per_tick"), ("runs", 0, "in_cache"),
     ("runs", 0, "timings", 0)],
)  # fmt: skip
def test_the_schema_is_strict(part):
    def spoilt():
        document = json.loads(report_of(run_of(timing())).to_json())
        place = document
        for key in part:
            place = place[key]
        return document, place

    document, place = spoilt()
    place["more"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, nm.load_schema("bench"))
    for key in list(place):
        if key != "more":
            document, place = spoilt()
            del place[key]
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate(document, nm.load_schema("bench"))


def test_the_table_says_units_and_ratios():
    text = text_of(report_of(run_of(timing(load_seconds=0.5), timing(2, 0.25, compile_seconds=2.0))))
    for words in (
        "a CPU, 2 CPUs; 16 GiB; last-level cache 32 MiB",
        "7 rounds of 100 ticks",
        "1 tick = 1 ms of network time",
        "51.2 spikes (20 Hz of network time)",
        "10 of 10 cores visited",
        "120 kB hot, 12000 bytes per core",
        "bytes moved per tick: 2 MB",
        "real-time factor",
        "0.5 = 1 k ticks",
        "2 = 8 k ticks",
        "from cache",
        "13.1 M",
        "caches, measured on 1 thread: 0.5 MiB near, 3 MiB in all",
        "in cache: 4 cores of this kind, 48 kB hot, take 20 ns of wall clock per core and tick on 1 thread",
        "time / time in cache",
        "Hot memory below the size of the caches",
    ):
        assert words in text, words
    assert "Load average" not in text
    assert "Load average 3 " in text_of(report_of(run_of(timing()), machine=replace(MACHINE, load_average=3.0)))


@pytest.mark.parametrize("width", [50, 80, 160])
def test_scaling_tables_keep_every_figure_in_any_width(width):
    runs = [run_of(timing(), timing(2, 0.25), cores=n) for n in (10, 160)]
    report = report_of(*runs, scaling="cores")
    rows = scaling_table(report).cells()
    assert [row[0] for row in rows] == ["10", "10", "160", "160"]
    lines = text_of(report, width).splitlines()
    assert max(map(len, lines)) <= width
    words = " ".join(lines).split()
    for row in rows:
        assert all(word in words for cell in row for word in cell.split())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 "),
        (12, "12 "),
        (999.4, "999 "),
        (999.9, "1 k"),
        (2.684e6, "2.68 M"),
        (3e9, "3 G"),
        (5e12, "5 T"),
        (None, "n/a"),
    ],
)
def test_prefixes(value, text):
    assert with_prefix(value) == text
