"""Figures of spiking networks on synapse-list cores: responses between what the schedule bounds, work told by node."""

from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import DoesNotFitError
from neuromap.hardware.program.usage import count_usage
from neuromap.simulation.cost.activity import WorkCounter
from neuromap.simulation.run.tick_run import run_ticks
from neuromap.simulation.stimulus import random_frames
from neuromap.verification.wave import measure


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_responses_and_work_of_spiking_networks(spiking_networks, list_chips, data):
    rollout = nm.Rollout(data.draw(spiking_networks), "streaming")
    try:
        program = nm.map_rollout(rollout, data.draw(list_chips))
    except DoesNotFitError:
        return
    for name, found in measure(program).items():  # weights of zero close ways
        if found.first_response_ticks is not None:
            assert found.first_response_ticks >= rollout.first_response(name)
        if found.full_response_ticks is not None:
            assert found.full_response_ticks <= rollout.full_response(name)
    work = WorkCounter(program)
    for spikes in run_ticks(program, random_frames(program, 40, seed=1)):
        work.add(spikes)
    shares, usage = work.result().shares, count_usage(program)
    assert not shares.peak_events[shares.node < 0].any()  # joined currents are work of the node that they belong to
    assert work.result().neuron_updates == usage.compartments * work.result().n_ticks
    assert (usage.copies, usage.replicas, usage.splitters) == (0, 0, 0)
    assert usage.neurons <= program.n_cores * program.chip.neurons
