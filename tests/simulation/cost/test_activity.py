"""Traffic and work in one run, and the power that they give: the chip's characterisation network."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.bench.characterisation import characterisation_program
from neuromap.errors import InputError
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.simulation.cost.activity import WorkCounter, measure_activity
from neuromap.simulation.cost.energy import energy_of
from neuromap.simulation.engine.engine import make_engine
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.noc.measure_traffic import measure_traffic
from neuromap.simulation.run.tick_run import run_ticks


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), period=st.integers(1, 3), engine=st.sampled_from(["fast", "numpy"]))
def test_one_run_counts_what_two_runs_count(mixer, seed, period, engine):
    program = mixer(seed, period)
    rng = np.random.default_rng(seed)
    frames = {"I": rng.integers(0, 2, (6, 3)), "J": rng.integers(0, 2, (6, 2))}
    activity = measure_activity(program, frames, engine=engine)
    traffic = measure_traffic(program, frames, choice=EngineChoice(engine))
    assert np.array_equal(activity.traffic.loads, traffic.loads)
    work, other = WorkCounter(program), make_engine(program, EngineChoice("numpy"))
    readouts = fed = sent = 0
    read_out = set(zip(program.outputs.core.tolist(), program.outputs.neuron.tolist(), strict=True))
    for spikes in run_ticks(program, frames, choice=EngineChoice(engine)):
        work.add(spikes)
        other.step(spikes.host_cores, spikes.host_axons)
        fired = list(zip(spikes.cores.tolist(), spikes.neurons.tolist(), strict=True))
        readouts += sum(pair in read_out for pair in fired)
        sent += sum(program.target_core[pair] >= 0 for pair in fired)
        fed += len(spikes.host_cores)
    assert np.array_equal(activity.work.core_events, work.result().core_events)
    counts = activity.counts
    assert (counts.ticks, counts.chips) == (other.tick, 1)
    assert counts.neuron_updates == other.tick * 2 * program.chip.neurons
    assert counts.synaptic_events == other.totals.synaptic_events
    assert counts.spikes == sent + readouts
    assert counts.host_spikes == fed + readouts
    assert (counts.hops, counts.crossings) == (traffic.hops, traffic.crossings)


def test_the_board_counts_with_all_its_chips():
    program = characterisation_program(3, chip="truenorth_ns16e", rate_hz=200)
    counts = measure_activity(program, n_ticks=4).counts
    assert (counts.chips, counts.ticks, counts.neuron_updates) == (16, 4, 4 * 3 * 256)
    assert energy_of(program.chip, counts).watts() > 16 * 64.4e-3


def test_neither_frames_nor_ticks(mixer):
    with pytest.raises(InputError, match="neither frames nor n_ticks"):
        measure_activity(mixer(0, 1))


def characterised(n_cores, n_ticks):
    """Power of a TrueNorth chip with some cores at 20 Hz and 128 synapses, and its synaptic events per second."""
    chip = load_chip("truenorth")
    counts = measure_activity(characterisation_program(n_cores, chip=chip), n_ticks=n_ticks).counts
    energy = energy_of(chip, counts)
    return energy.watts(), counts.synaptic_events / energy.seconds, energy


def test_part_of_a_chip_takes_the_static_power_of_all_of_it_and_its_own_events():
    watts, events, _ = characterised(64, 200)
    # each of 64 x 256 neurons fires up to 20 times a second into 128 synapses
    assert events == pytest.approx(64 * 256 * 20 * 128, rel=0.02)
    assert watts == pytest.approx(64.4e-3 + 2.30e-12 * events)


@pytest.mark.slow
@pytest.mark.thorough
def test_the_power_of_the_whole_chip_lies_in_the_published_envelope():
    watts, events, energy = characterised(4096, 50)
    assert 42e-3 < watts < 323e-3
    assert watts == pytest.approx(70.6e-3, abs=0.3e-3)
    assert events == pytest.approx(4096 * 256 * 20 * 128, rel=0.03)
    # at its own operating point (0.775 V, 72 mW) the average stands for all of the power, not for a part of it
    assert energy.average_joules / energy.seconds == pytest.approx(watts, rel=0.05)
