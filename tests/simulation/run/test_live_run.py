"""Live runs: the spikes of a run that nobody watches, tick by tick, also after the program or the input has changed."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError, StimulusError
from neuromap.faults.edited_program import strike
from neuromap.faults.options import Faults
from neuromap.mapping.map_rollout import map_rollout
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.engine.engine import HostEvents, make_engine
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.run.live_run import GivenFrames, HeldFrame, LiveRun, RandomSource
from neuromap.simulation.run.simulate import simulate
from neuromap.simulation.run.tick_run import SpikeLabels, run_ticks, spikes_by_core
from neuromap.simulation.stimulus import input_sizes, random_frames
from neuromap.simulation.trace.recording import Recording

NUMPY = EngineChoice("numpy")


def rows(sent):
    """Everything that is sent in a tick, what the host feeds in an order of its own."""
    return (
        sent.tick,
        sent.cores.tolist(),
        sent.neurons.tolist(),
        sorted(zip(sent.host_cores.tolist(), sent.host_axons.tolist(), strict=True)),
    )


def same(found, expected):
    assert [rows(sent) for sent in found] == [rows(sent) for sent in expected]


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 3, Fraction(3, 2), Fraction(7, 3)]),
    st.sampled_from(["numpy", "fast"]),
)
@settings(deadline=None, max_examples=40)
def test_ticks_are_those_of_a_run_of_the_same_frames(mixer, seed, period, engine):
    """Programs with memory, late and early inputs and bias, through changes of speed."""
    program, rng = mixer(seed, int(period)), np.random.default_rng(seed)
    if period != int(period):
        part = rng.integers(0, period.denominator, len(program.host))
        program = replace(program, period=period, host=replace(program.host, part=part))
    frames = random_frames(program, 30, density=0.5, seed=seed)
    live = LiveRun(program, GivenFrames(program, frames), EngineChoice(engine, 1), history=7)
    found = []
    while live.now < 20:
        found += [live.frame, lambda: [live.tick()], lambda: live.ticks(3)][rng.integers(3)]()
    same(found, run_ticks(program, frames, n_ticks=live.now, choice=NUMPY))
    same(live.history, found[-7:])


@given(data=st.data())
@settings(deadline=None, max_examples=30)
def test_outputs_are_the_frames_of_the_trace(data, networks, patterns, chip):
    network = data.draw(networks(weights=st.integers(-2, 3), thresholds=st.integers(0, 3)))
    execution = data.draw(st.sampled_from(["windowed", "pipelined"]))
    program = map_rollout(Rollout(network, data.draw(patterns(network)), execution), chip(neurons=12, delay=(1, 4)))
    frames = random_frames(program, 8, density=0.5, seed=data.draw(st.integers(0, 99)))
    trace = simulate(program, frames, engine="numpy", record=Recording("all"))
    live = LiveRun(program, GivenFrames(program, frames), NUMPY)
    while live.now < trace.n_ticks:
        shown = {port.name: sum(out.node == port.name for out in live.outputs) for port in trace.nodes}
        live.frame()
        outputs = [port.name for port in program.nodes if port.kind == "output"]
        assert all(sum(out.node == name for out in live.outputs) > shown[name] for name in outputs)
    ports = {port.name: port for port in program.nodes}
    for out in live.outputs:
        if out.frame < 8:
            assert np.array_equal(out.spikes, trace.frames(out.node)[out.frame])
            assert out.tick == ports[out.node].tick(program.period, out.frame)
    assert live.n_strays == 0
    named = SpikeLabels(program).of([sent for sent in live.history if sent.tick < trace.n_ticks])
    for port in trace.nodes:
        mine = named.node == [p.name for p in program.nodes].index(port.name)
        expected = trace.spikes(port.name)
        assert np.array_equal(np.stack([named.tick[mine], named.index[mine]], axis=1)[: len(expected)], expected)


@given(st.integers(0, 2**32 - 1), st.integers(0, 9), st.sampled_from(["numpy", "fast"]))
@settings(deadline=None, max_examples=30)
def test_an_edited_program_goes_on_from_the_state(mixer, seed, before, engine):
    program = mixer(seed, 2)
    edited = strike(program, Faults({"silent-neurons": 0.2, "flipped-synapses": 0.2}, seed)).program
    live = LiveRun(program, RandomSource(program, 0.5, seed), EngineChoice(engine, 1))
    oracle = make_engine(program, NUMPY)
    fed = live.ticks(before)
    for sent in fed:
        oracle.step(sent.host_cores, sent.host_axons)
    other = make_engine(edited, NUMPY)
    other.restore(oracle.state)
    live.put(edited)
    for sent in live.ticks(10):
        spikes = other.run(HostEvents.of_tick(sent.host_cores, sent.host_axons))
        assert np.array_equal(spikes.cores, sent.cores)
        assert np.array_equal(spikes.neurons, sent.neurons)
    assert live.program is edited


def test_spikes_on_a_way_that_is_cut_still_arrive(by_hand):
    """Neuron 0 of core 0 fires at tick 0 towards core 1, five ticks away; its way is cut after that."""
    program = by_hand(
        [("I", 1, "input", 0), ("H", 1, "hidden", 0), ("O", 1, "output", 5)],
        {(0, 0): (1, 0, False, (1, 0, 5)), (1, 0): (2, 0, False, None)},
        1, [(0, 0, 0, 1), (1, 0, 0, 1)], [(0, 0, 0, 0, 0, 0)], n_cores=2,
    )  # fmt: skip
    cut = strike(program, Faults({"dead-links": 1})).program
    for at in range(9):
        live = LiveRun(program, HeldFrame(program, {"I": [1]}))
        live.ticks(at)
        live.put(cut)
        halfway = live.state
        live.tick()
        live.put(cut)
        live.ticks(19 - at)
        assert [sent.tick for sent in live.history if (sent.cores == 1).any()] == list(range(5, at + 5))
        assert len(halfway.spikes) == min(at, 5)


def test_every_frame_is_asked_once_and_shown_until_replaced(mixer):
    program = mixer(4, 3)
    asked, held = [], HeldFrame(program)

    def source(frame):
        asked.append(frame)
        return held(frame)

    live = LiveRun(program, source)
    live.ticks(30)
    assert asked == list(range(len(asked)))
    assert 10 <= len(asked) <= 11  # frame 10 is fed to J before it is sampled, if its rows come early
    held.hold({"I": np.ones(3, int)})
    live.ticks(3)
    assert live.input_frame["I"].all()
    assert not live.input_frame["J"].any()


def test_frames_that_nothing_is_fed_are_shown(by_hand):
    """Two frames of no consequence lie before tick 0; the last one sampled is shown all the same."""
    program = by_hand(
        [("I", 1, "input", 4), ("O", 1, "output", 5)], {(0, 0): (1, 0, False, None)}, 1, [(0, 0, 0, 1)], [], period=2
    )
    live = LiveRun(program, HeldFrame(program, {"I": [1]}))
    live.ticks(9)
    assert live.input_frame["I"].all()
    assert len(live._feed.frames) <= 2


def test_counts_by_core_are_those_of_the_spikes(mixer):
    program = mixer(7, 2)
    live = LiveRun(program, RandomSource(program, 0.6), history=100)
    sent = live.ticks(60)
    trace = simulate(program, random_frames_of(program, 21), engine="numpy", record=Recording("outputs", counts=True))
    n = trace.n_ticks
    assert np.array_equal(spikes_by_core(program, sent[:n]), trace.counts.sum(axis=1))


def random_frames_of(program, n_frames):
    source = RandomSource(program, 0.6)
    drawn = [source(i) for i in range(n_frames)]
    return {name: np.stack([frame[name] for frame in drawn]) for name in input_sizes(program)}


def test_what_does_not_fit_is_refused(mixer):
    program = mixer(1, 2)
    with pytest.raises(InputError, match="no source for I, J"):
        LiveRun(program)
    with pytest.raises(InputError, match="1 tick or more"):
        LiveRun(program, RandomSource(program), history=0)
    for wrong in ({"I": [1, 0, 1]}, {"I": [1, 0], "J": [0, 0]}, {"I": [1, 0, 2], "J": [0, 0]}, None):
        with pytest.raises(StimulusError, match=r"^source: "):
            LiveRun(program, lambda frame, wrong=wrong: wrong).ticks(5)
    live = LiveRun(program, RandomSource(program))
    with pytest.raises(InputError, match="begin a run of its own"):
        live.put(mixer(1, 3))
    early = live.state
    live.tick()
    with pytest.raises(InputError, match="state is of tick 0; the run is at tick 1"):
        live.put(program, early)
