"""The law on graded cores: programs compute what their rollout defines, value for value, and engines agree."""

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.cores.graded import fast_engine
from neuromap.cores.graded.engines import GradedNumpyEngine
from neuromap.cores.graded.fast_engine import GradedFastEngine
from neuromap.errors import DoesNotFitError, StimulusError
from neuromap.hardware.checker import check_program
from neuromap.simulation import random_frames, reference
from neuromap.simulation.engine.engine import HostEvents

N_FRAMES = 5


@pytest.fixture(scope="module", autouse=True)
def threads_at_once():
    """Small programs run on all threads, too."""
    patch = pytest.MonkeyPatch()
    patch.setattr(fast_engine, "_ALONE_SECONDS", 0.0)
    yield
    patch.undo()


def map_or_none(rollout, chip):
    try:
        return nm.map_rollout(rollout, chip, placer="row-major")
    except DoesNotFitError as error:
        event(f"does not fit: {error.infeasibility.limit}")
        return None


def same(one, other):
    assert all((a == b).all() for a, b in zip(one, other, strict=True))


def ticks_of(program, n_frames=N_FRAMES):
    return int(max(port.sample_tick for port in program.nodes) + n_frames * program.period) + 1


@pytest.mark.law
@given(st.data())
@settings(deadline=None, max_examples=40)
def test_programs_compute_their_rollout_on_every_engine(graded_networks, graded_chips, patterns, fed, frames_of, data):
    network = data.draw(graded_networks(widest=data.draw(st.sampled_from([7, 127, 1000]))))
    rollout = nm.Rollout(
        network, data.draw(patterns(network)), data.draw(st.sampled_from(["windowed", "pipelined", "pipelined:9"]))
    )
    program = map_or_none(rollout, data.draw(graded_chips))
    if program is None:
        return
    assert check_program(program) == []
    frames = random_frames(network, N_FRAMES, seed=data.draw(st.integers(0, 99)))
    n_ticks = ticks_of(program)
    events = fed(program, frames, n_ticks)
    readable, *others = (
        GradedNumpyEngine(program),
        GradedFastEngine(program),
        GradedFastEngine(program, threads=3),
    )
    sent = readable.run(events)
    defined = reference(rollout, frames)
    for name, found in frames_of(program, sent, N_FRAMES).items():
        np.testing.assert_array_equal(found, defined[name])
    event(f"cores: {min(program.n_cores, 3)}, compartments: {program.joined is not None}")
    half = n_ticks // 2
    first, rest = (
        HostEvents(start, events.cores, events.axons, events.values)
        for start in (events.start[: half + 1], events.start[half:])
    )
    before = GradedNumpyEngine(program)
    began = before.run(first)
    for engine in others:
        same(sent, engine.run(events))
        assert engine.totals == readable.totals
        same(engine.potentials, readable.potentials)
        engine.reset()
        same(began, engine.run(first))
        require_same_state(engine, before)
        # any engine goes on from the state of another
        for state, other in ((engine.state, GradedNumpyEngine(program)), (before.state, engine.fork())):
            other.restore(state)
            require_same_state(other, before)
            assert len(began.ticks) + len(other.run(rest).ticks) == len(sent.ticks)
            same(other.potentials, readable.potentials)
            assert other.totals == readable.totals


def require_same_state(one, other):
    a, b = one.state, other.state
    assert (a.tick, a.totals) == (b.tick, b.totals)
    for x, y in ((a.spikes, b.spikes), (a.values, b.values), (a.potentials, b.potentials)):
        np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(a.currents.due, b.currents.due)
    np.testing.assert_array_equal(a.currents.amounts, b.currents.amounts)
    np.testing.assert_array_equal(one.pending, other.pending)


def test_step_and_watched_neurons(graded_chip, fed):
    rng = np.random.default_rng(0)
    network = nm.network.build_network(
        {"I": (4, nm.network.GradedNeuron(-8, 7)), "O": (30, nm.network.GradedNeuron(-100, 100, 1, 3))},
        {("I", "O"): rng.integers(-9, 9, (30, 4))},
    )
    program = nm.map_rollout(nm.Rollout(network, "sequential"), graded_chip())
    watched = rng.random(program.shape) < 0.5
    for engine in (GradedNumpyEngine(program), GradedFastEngine(program)):
        core, axon = program.host.core[0], program.host.axon[0]
        assert [column.tolist() for column in engine.run(HostEvents.none(0))] == [[], [], [], []]
        cores, neurons = engine.step([core], [axon], [-8])
        synapses = program.synapses_of(np.array([core]), np.array([axon]))
        rounded = np.round(synapses.weight * -8 / 8).astype(int)
        assert neurons.tolist() == synapses.neuron[rounded != 0].tolist()
        fed_twice = HostEvents(np.array([0, 2]), *(np.array([k, k], np.int32) for k in (core, axon)))
        with pytest.raises(StimulusError, match="an axon is fed twice in tick 1"):
            engine.run(fed_twice)
        engine.reset()
        with pytest.raises(StimulusError, match="event 0 carries 8; its axon takes -8 to 7"):
            engine.step([core], [axon], [8])
        sent = engine.run(HostEvents(np.array([0, 1]), *(np.array([k], np.int32) for k in (core, axon, -8))), watched)
        assert sent.neurons.tolist() == [n for n in neurons.tolist() if watched[cores[0], n]]
