"""A timeline says what the trace says: read back as plain JSON, without any code that wrote it."""

import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import InputError
from neuromap.exchange.perfetto_trace import events_of, export_perfetto, shown_ticks
from neuromap.exchange.spike_traces import export_neo, export_sonata

SCHEMA = {
    "type": "object",
    "required": ["traceEvents"],
    "properties": {
        "displayTimeUnit": {"enum": ["ms", "ns"]},
        "traceEvents": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["ph", "name", "ts", "pid"],
                "properties": {
                    "ph": {"enum": ["X", "C", "i", "M"]},
                    "name": {"type": "string", "minLength": 1},
                    "ts": {"type": "number", "minimum": 0},
                    "dur": {"type": "number", "exclusiveMinimum": 0},
                    "pid": {"type": "integer", "minimum": 1},
                    "tid": {"type": "integer", "minimum": 0},
                    "s": {"enum": ["t", "p", "g"]},
                    "args": {"type": "object"},
                },
                "allOf": [
                    {"if": {"properties": {"ph": {"const": "X"}}}, "then": {"required": ["dur", "tid"]}},
                    {"if": {"properties": {"ph": {"const": "i"}}}, "then": {"required": ["s", "tid"]}},
                    {
                        "if": {"properties": {"ph": {"const": "C"}}},
                        "then": {"properties": {"args": {"additionalProperties": {"type": "number"}}}},
                    },
                ],
            },
        },
    },
}
"""The Trace Event Format, as far as its document describes what is written here."""


def written(trace, folder, **more):
    nm.to_perfetto(trace, folder / "run.json", **more)
    document = json.loads((folder / "run.json").read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    return document["traceEvents"], document["otherData"]


def names(events):
    return {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}


@given(data=st.data())
@settings(deadline=None, max_examples=120)
def test_frames_cores_and_counters_are_those_of_the_trace(data, traces, spiked, shown_at, tmp_path_factory):
    trace = data.draw(traces)
    events, about = written(trace, tmp_path_factory.mktemp("timeline"))
    threads, tick = names(events), trace.tick_seconds * 1e6
    assert len({tid for _, tid in threads}) == len(threads)
    assert not {tid for _, tid in threads} & {e["pid"] for e in events}
    slices = [e for e in events if e["ph"] == "X"]
    for e in slices:
        assert e["ts"] == pytest.approx(e["args"]["tick"] * tick, abs=1e-3)
        assert e["dur"] == pytest.approx(tick, abs=2e-3)
    by_thread = {
        key: sorted((e for e in slices if (e["pid"], e["tid"]) == key), key=lambda e: e["ts"]) for key in threads
    }
    for mine in by_thread.values():
        assert all(round(a["ts"] + a["dur"] - b["ts"], 6) <= 0 for a, b in pairwise(mine))  # never one within another
    said = {name: by_thread[key] for key, name in threads.items()}
    for node, port in enumerate(trace.nodes):
        spikes, frames = spiked(trace, node), shown_at(trace, port)
        mine = said.pop(f"node {port.name} ({port.kind})")
        assert {e["args"]["frame"]: e["args"]["tick"] for e in mine} == frames
        for e in mine:
            inside = [str(i) for t, i in spikes if t == e["args"]["tick"]]
            assert (e["args"]["spikes"], e["args"]["neurons"]) == (len(inside), ", ".join(inside))
        steps = {
            e["ts"]: e["args"]["spikes per tick"] for e in events if e["ph"] == "C" and e["name"] == f"node {port.name}"
        }
        value, of_tick = 0, Counter(t for t, _ in spikes)
        for t in range(trace.n_ticks):
            value = steps.get(round(t * tick, 3), value)
            assert value == of_tick[t]
    places = Counter(zip(trace.core.tolist(), trace.tick.tolist(), strict=True))
    found = {
        (int(name.split()[1]), e["args"]["tick"]): e["args"]["spikes"] for name, mine in said.items() for e in mine
    }
    assert found == dict(places)
    strays = Counter(e["tid"] for e in events if e["ph"] == "i")
    assert strays.total() == sum(len({t for t, _ in trace.strays(port.name).tolist()}) for port in trace.nodes)
    assert (about["ticks_shown"], about["events_left_out"]) == (trace.n_ticks, 0)


@given(data=st.data(), most=st.integers(0, 60))
@settings(deadline=None, max_examples=90)
def test_a_file_takes_as_many_whole_ticks_as_fit_and_counts_the_rest(data, traces, most):
    trace = data.draw(traces)

    def count(n_ticks):
        return sum(event["ph"] != "M" for event in events_of(trace, None, n_ticks))

    shown = shown_ticks(trace, most)
    every = count(trace.n_ticks)
    assert shown.left_out == every - count(shown.n_ticks)
    assert count(shown.n_ticks) <= most
    assert shown.n_ticks == trace.n_ticks or count(shown.n_ticks + 1) > most


def test_cores_stand_on_their_chips_where_the_program_is_given(tmp_path):
    rng = np.random.default_rng(3)
    net = nm.build_network({"I": (4, None), "O": (3, 1)}, {("I", "O"): rng.integers(0, 2, (3, 4))}, name="two")
    program = nm.map_rollout(nm.Rollout(net, "streaming"))
    trace = nm.simulate(program, {"I": np.ones((5, 4), bool)}, record=nm.Recording("all"))
    assert len(trace.tick)
    events, _ = written(trace, tmp_path, program=program)
    (x, y), chip = program.coordinates[0], program.chip.name
    assert f"core 0 at ({x}, {y})" in names(events).values()
    assert f"chip {chip}" in {e["args"]["name"] for e in events if e["name"] == "process_name"}
    notes = nm.to_perfetto(trace, tmp_path / "alone.json")
    assert [note.about for note in notes] == ["cores"]
    moved = {name: np.roll(getattr(program, name), 1, axis=1) for name in ("neuron_node", "neuron_index", "is_relay")}
    others = [
        nm.map_rollout(nm.Rollout(net, "sequential")),
        nm.map_rollout(nm.Rollout(net, "streaming"), nm.load_chip("truenorth", {"time.tick_seconds": 0.002})),
        replace(program, **moved, outputs=replace(program.outputs, neuron=program.outputs.neuron + 1)),
    ]
    for other in others:
        with pytest.raises(InputError, match="is not that of the trace"):
            nm.to_perfetto(trace, tmp_path / "other.json", program=other)
    assert not (tmp_path / "other.json").exists()


def test_ticks_without_a_duration_are_told_in_one_note(tmp_path):
    """On chips with a barrier a tick lasts as long as its work, which no trace records: exports give a unit."""
    graded = nm.network.GradedNeuron(0, 9)
    network = nm.network.build_network({"I": (2, graded), "O": (1, graded)}, {("I", "O"): [[1, 1]]})
    traces = {}
    for chip in ("loihi2", replace(nm.load_chip("loihi2"), is_timed=False, barrier_seconds=())):
        program = nm.map_rollout(nm.Rollout(network, "streaming"), chip)
        trace = nm.simulate(program, nm.random_frames(network, 4))
        traces[trace.is_timed] = trace
    assert set(traces) == {True, False}
    for is_timed, trace in traces.items():
        for suffix in ("safetensors", "h5"):
            trace.save(tmp_path / f"t.{suffix}")
            kept = nm.load_trace(tmp_path / f"t.{suffix}")
            assert kept.is_timed == is_timed
            for export in (export_perfetto, export_sonata, export_neo):
                told = [note for note in export(tmp_path / f"t.{suffix}").refused if note.about == "ticks"]
                assert len(told) == is_timed
                assert all("every tick is written as 1 ms" in note.text for note in told)
