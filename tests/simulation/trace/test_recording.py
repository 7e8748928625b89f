"""What is recorded: chosen nodes and cores, potentials, counts; against the engine itself, tick by tick."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError
from neuromap.simulation.engine.numpy_engine import NumpyEngine
from neuromap.simulation.run.simulate import simulate
from neuromap.simulation.run.tick_run import HostFeed
from neuromap.simulation.trace.recording import Recording, readout_of

WORDS = ["outputs", "all", "node:H", "node:O", "node:P", "core:0", "core:1", "core:0-1"]


def stimulus_of(rng, n_frames):
    return {"I": rng.random((n_frames, 3)) < 0.4, "J": rng.random((n_frames, 2)) < 0.4}


def run_by_hand(program, frames, n_ticks):
    """Every spike as (tick, core, neuron), and all potentials after every tick."""
    engine, feed = NumpyEngine(program), HostFeed(program)
    spikes, potentials = [], []
    for tick in range(n_ticks):
        events = feed.events({k: rows[None] for k, rows in frames.items()}, len(frames["I"]), tick, 1)
        cores, neurons = engine.step(events.cores, events.axons)
        spikes += [(tick, c, n) for c, n in zip(cores.tolist(), neurons.tolist(), strict=True)]
        potentials.append(engine.potentials)
    return spikes, np.array(potentials).reshape(n_ticks, *program.target_core.shape)


@given(
    seed=st.integers(0, 2**32 - 1),
    period=st.integers(1, 3),
    n_frames=st.integers(2, 12),
    spikes=st.lists(st.sampled_from(WORDS), max_size=3),
    potentials=st.lists(st.sampled_from(WORDS), max_size=2),
    counts=st.booleans(),
)
@settings(deadline=None, max_examples=80)
def test_a_trace_holds_what_was_asked_for(mixer, seed, period, n_frames, spikes, potentials, counts):
    program, rng = mixer(seed, period), np.random.default_rng(seed)
    frames = stimulus_of(rng, n_frames)
    trace = simulate(program, frames, record=Recording(spikes, potentials, counts), engine="numpy")
    fired, voltages = run_by_hand(program, frames, trace.n_ticks)

    def meant(words):
        """Core and neuron -> label (node, index) or None."""
        outputs = {(0, 0): ("O", 0), (1, 1): ("O", 2), (1, 0): ("P", 0), (0, 1): ("P", 1)}
        hidden = {(0, 3): ("H", 0), (0, 4): ("H", 1), (0, 5): ("H", 1)}
        named = {w.removeprefix("node:") for w in words}
        named |= {"O", "P"} if {"outputs", "all"} & named else set()
        named |= {"H"} if "all" in named else set()
        cores = {c for c in (0, 1) if {f"core:{c}", "core:0-1", "all"} & set(words)}
        labels = {**outputs, **hidden}
        return {
            (c, n): labels.get((c, n)) if labels.get((c, n), [""])[0] in named else None
            for c in (0, 1) for n in range(8)
            if c in cores or labels.get((c, n), [""])[0] in named
        }  # fmt: skip

    wanted = meant(spikes)
    names = [port.name for port in trace.nodes]
    events = zip(*(column.tolist() for column in (trace.tick, trace.core, trace.neuron, trace.node, trace.index)),
                 strict=True)  # fmt: skip
    found = [(t, c, n, (names[node], index) if node >= 0 else None) for t, c, n, node, index in events]
    assert sorted(found, key=str) == sorted(((t, c, n, wanted[c, n]) for t, c, n in fired if (c, n) in wanted), key=str)
    order = list(zip(trace.tick, trace.node, trace.index, trace.core, trace.neuron, strict=True))
    assert order == sorted(order)
    for name in names:
        said = {(t, wanted[c, n][1]) for t, c, n in fired if wanted.get((c, n), None) and wanted[c, n][0] == name}
        assert trace.spikes(name).tolist() == sorted(map(list, said))

    assert (trace.counts is not None) == counts
    if counts:
        expected = np.zeros((2, 8), int)
        for _, c, n in fired:
            expected[c, n] += 1
        assert (trace.counts == expected).all()

    assert (trace.potential_table is not None) == bool(potentials)
    if potentials:
        table = trace.potential_table
        places = list(zip(table.neurons.core.tolist(), table.neurons.neuron.tolist(), strict=True))
        assert set(places) == set(meant(potentials))
        assert len(places) == len(set(places))
        assert (table.values == voltages[:, table.neurons.core, table.neurons.neuron]).all()


def test_potentials_of_a_node_are_those_of_its_first_copies(mixer):
    program = mixer(3, 1)
    frames = stimulus_of(np.random.default_rng(3), 20)
    trace = simulate(program, frames, record=Recording(potentials=["node:H", "outputs"]))
    _, voltages = run_by_hand(program, frames, trace.n_ticks)
    assert (trace.potentials("H") == voltages[:, 0, [3, 4]]).all()
    assert (trace.potentials("O")[:, [0, 2]] == voltages[:, [0, 1], [0, 1]]).all()
    assert not trace.potentials("O")[:, 1].any()  # the program holds no such neuron
    with pytest.raises(InputError, match="potentials of node I were not recorded; recorded are O, P, H"):
        trace.potentials("I")


def test_relays_are_no_part_of_their_node(mixer):
    program = mixer(1, 1)
    relays = np.zeros_like(program.is_relay)
    relays[0, 5] = True
    found = readout_of(replace(program, is_relay=relays), ["node:H"])
    assert found.neuron.tolist() == [3, 4]


def test_outputs_do_not_depend_on_what_else_is_recorded(mixer):
    program, frames = mixer(8, 2), stimulus_of(np.random.default_rng(8), 30)
    alone, among = simulate(program, frames), simulate(program, frames, record=Recording("all"))
    for name in ("O", "P"):
        assert (alone.spikes(name) == among.spikes(name)).all()
        assert (alone.strays(name) == among.strays(name)).all()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (
            "H",
            "recording 'H': is not a choice of neurons; give outputs, all, node:NAME, core:NUMBER or core:FIRST-LAST",
        ),
        ("node:", "recording 'node:': is not a choice"),
        ("core:x", "recording 'core:x': is not a choice"),
        ("core:-1", "recording 'core:-1': is not a choice"),
        ("core:²", "recording 'core:²': is not a choice"),
        ("", "recording '': is not a choice"),
        ("node:K", "recording node:K: program by hand has no such node; nodes are H, O, P"),
        ("node:I", "recording node:I: is an input, its spikes are the stimulus; nodes inside are H, O, P"),
        ("core:2", "recording core:2: program by hand has cores 0 to 1"),
        ("core:1-0", "recording core:1-0: program by hand has cores 0 to 1"),
    ],
)
def test_words_that_mean_nothing_are_refused(mixer, words, found):
    with pytest.raises(InputError, match=found.replace("(", r"\(")):
        readout_of(mixer(1, 1), Recording(words).spikes)


def test_more_potentials_than_memory_is_meant_to_hold_are_refused(make_chip, make_program):
    program = make_program(
        make_chip(), np.eye(128)[None], nodes=[("I", 1, "input", 0), ("O", 1, "output", 2**24)], outputs=[(1, 0, 0, 0)]
    )
    with pytest.raises(InputError, match="128 potentials in 16777218 ticks take 8 GiB; at most 4"):
        simulate(program, {"I": np.zeros((2, 1), bool)}, record=Recording(potentials="all"))
