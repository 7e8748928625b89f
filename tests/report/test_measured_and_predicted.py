"""What the wave measures on mapped programs equals what the schedule predicts, and edits are told apart."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError, StimulusError
from neuromap.mapping.map_rollout import map_rollout, map_with_stages
from neuromap.mapping.options.options import PHASES, MappingOptions
from neuromap.network.build import build_network
from neuromap.report.latency import latency_report
from neuromap.report.measure_row import report_row
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.run.simulate import record_run
from neuromap.simulation.stimulus import random_frames
from neuromap.verification.law import extend_frames, first_difference, verify
from neuromap.verification.wave import measure

SIGNED = {"weights": st.integers(-2, 2), "thresholds": st.integers(-1, 3)}


@pytest.fixture(scope="module", params=["crossbar", "synapse-list"])
def chip_of_kind(request, chip, list_chip):
    return {"crossbar": chip, "synapse-list": list_chip}[request.param]


def draw_mapped(data, networks, patterns, chip, **options):
    network = data.draw(networks(**options))
    rollout = Rollout(network, data.draw(patterns(network)), data.draw(st.sampled_from(["windowed", "pipelined"])))
    delay = data.draw(st.sampled_from([(1, 15), (1, 3), (2, 4)]))
    options = MappingOptions(phases=data.draw(st.sampled_from(PHASES)))
    mapped = map_with_stages(rollout, chip(delay=delay), options)
    return mapped.rollout if options.phases == "fastest" else rollout, mapped.program


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_where_all_ways_are_open_measured_equals_predicted(networks, patterns, chip_of_kind, has_long_cycle, data):
    rollout, program = draw_mapped(data, networks, patterns, chip_of_kind)
    found = measure(program)
    assert set(found) == set(rollout.network.outputs)
    for name, response in found.items():
        assert response.first_response_ticks == rollout.first_response(name) * program.ticks_per_step
        if has_long_cycle(rollout.network, without=program.left_out):
            assert response.full_response_ticks is None
        else:
            assert rollout.full_response_is_exact(name)
            assert response.full_response_ticks == rollout.full_response(name) * program.ticks_per_step


@given(st.data())
@settings(deadline=None, max_examples=40)
def test_weights_may_close_ways_but_open_none(networks, patterns, chip, data):
    rollout, program = draw_mapped(data, networks, patterns, chip, self_edges_only=True, **SIGNED)
    for name, response in measure(program).items():
        if response.first_response_ticks is not None:
            assert response.first_response_ticks >= rollout.first_response(name) * program.ticks_per_step
        if response.full_response_ticks is not None:
            assert response.full_response_ticks <= rollout.full_response(name) * program.ticks_per_step


@given(st.data())
@settings(deadline=None, max_examples=40)
def test_no_difference_is_seen_before_the_measured_first_response(networks, patterns, chip_of_kind, data):
    rollout, program = draw_mapped(data, networks, patterns, chip_of_kind, **SIGNED)
    frames = random_frames(rollout.network, 12, seed=data.draw(st.integers(0, 99)))
    found = measure(program)
    for name, ticks in first_difference(program, frames, 4).items():
        if ticks is not None:
            assert found[name].first_response_ticks <= ticks


def seen_after_events(rollout, program, source, background):
    """Ticks from an event at an input that just missed a sample to the first difference of every output it reaches."""
    port = next(port for port in program.nodes if port.name == source)
    event = port.tick(program.period, 3) + 1
    frames = {name: rows.copy() for name, rows in background.items()}
    frames[source][4:] = ~frames[source][4:]
    runs = [record_run(program, shown, EngineChoice(threads=1)) for shown in (background, frames)]
    spikes = [
        {(int(t), run.nodes[n].name, int(k)) for t, n, k in zip(run.tick, run.node, run.index, strict=True)}
        for run in runs
    ]
    found = {}
    for tick, name, _ in sorted(spikes[0] ^ spikes[1]):
        found.setdefault(name, tick - event)
    return found


@given(st.data())
@settings(deadline=None, max_examples=40)
def test_an_event_that_missed_a_sample_is_answered_as_predicted(networks, patterns, chip_of_kind, data):
    """Input by input where all ways are open, and never sooner where weights close some."""
    is_open = data.draw(st.booleans())
    rollout, program = draw_mapped(data, networks, patterns, chip_of_kind, **({} if is_open else SIGNED))
    network, scale = rollout.network, program.ticks_per_step
    silent = {name: np.zeros((16, network.nodes[name].size), np.bool_) for name in network.inputs}
    background = silent if is_open else random_frames(network, 16, seed=data.draw(st.integers(0, 99)))
    seen = {source: seen_after_events(rollout, program, source, background) for source in network.inputs}
    for source, outputs in seen.items():
        for output, ticks in outputs.items():
            assert ticks >= rollout.worst_case_reaction(output, scale, source)
    if is_open:
        for output in network.outputs:
            worst = max(outputs[output] for outputs in seen.values() if output in outputs)
            assert worst == rollout.worst_case_reaction(output, scale)
        first = [min(outputs.values()) for outputs in seen.values() if outputs]
        assert max(first) == rollout.worst_case_reaction(None, scale)


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_weights_close_the_same_ways_on_every_kind_of_core(networks, patterns, chip, list_chip, data):
    rollout, program = draw_mapped(data, networks, patterns, chip, largest=4, **SIGNED)
    lists = map_rollout(rollout, list_chip(delay=program.chip.delay))
    assert lists.ticks_per_step == program.ticks_per_step
    on_lists, on_crossbars = measure(lists), measure(program)
    assert list(on_lists) == list(on_crossbars)
    for name, found in on_lists.items():
        assert found.first_response_ticks == on_crossbars[name].first_response_ticks
        # crossbars keep cycles whose weights lead to no output, and on those no full response is defined
        full = on_crossbars[name].full_response_ticks
        assert full is None or found.full_response_ticks == full


def chain(n=4):
    eye = np.eye(n, dtype=int)
    return build_network({"I": (n, None), "A": (n, 1), "O": (n, 1)}, {("I", "A"): eye, ("A", "O"): eye}, name="chain")


def delayed(program, node):
    """The program with every delay from one node lengthened by a tick, as a user would by hand."""
    position = [port.name for port in program.nodes].index(node)
    delay = program.delay.copy()
    delay[(program.neuron_node == position) & (program.target_core >= 0)] += 1
    return replace(program, delay=delay)


@pytest.mark.parametrize("pattern", ["streaming", "sequential"])
@pytest.mark.parametrize("execution", ["windowed", "pipelined"])
def test_an_edited_delay_is_caught(pattern, execution):
    network = chain()
    rollout = Rollout(network, pattern, execution)
    program = map_rollout(rollout, "truenorth")
    frames = random_frames(network, 12)
    good, bad = report_row(rollout, program, frames), report_row(rollout, delayed(program, "A"), frames)
    assert good.verified
    assert good.measured == good.predicted
    assert good.observed_first_difference_ticks == good.predicted.first_response_ticks

    assert bad.verified is False
    assert bad.exit_code == 5
    assert bad.predicted == good.predicted
    assert bad.measured.first_response_ticks == good.predicted.first_response_ticks + 1
    assert bad.measured.full_response_ticks == good.predicted.full_response_ticks + 1
    assert not verify(rollout, delayed(program, "A"), frames).verified


def test_one_edited_delay_of_many_is_caught():
    network = chain()
    rollout = Rollout(network, "streaming")
    program = map_rollout(rollout, "truenorth")
    delay = program.delay.copy()
    core, neuron = np.argwhere(program.target_core >= 0)[2]
    delay[core, neuron] += 1
    result = verify(rollout, replace(program, delay=delay))
    assert not result.verified
    assert result.first_mismatch.node == "O"
    assert result.first_mismatch.neuron == program.neuron_index[core, neuron]


def test_an_onset_that_is_no_frame_is_refused():
    network = chain()
    program = map_rollout(Rollout(network, "streaming"), "truenorth")
    frames = random_frames(network, 5)
    for onset in (0, 5):
        with pytest.raises(StimulusError, match=f"onset frame {onset}"):
            first_difference(program, frames, onset)


@pytest.mark.parametrize(
    ("how", "words"),
    [({"engine": "slow"}, "engine slow"), ({"threads": 0}, "threads 0"), ({"noise_seed": -1}, "noise seed -1")],
)
def test_engine_threads_and_noise_seed_are_handed_on(how, words):
    network = chain()
    rollout = Rollout(network, "streaming")
    program = map_rollout(rollout, "truenorth")
    frames = random_frames(network, 5)
    with pytest.raises(InputError, match=words):
        report_row(rollout, program, frames, **how)
    with pytest.raises(InputError, match=words):
        first_difference(program, frames, 2, **how)


def test_silent_stimulus_shows_no_difference():
    network = chain()
    program = map_rollout(Rollout(network, "streaming"), "truenorth")
    assert first_difference(program, {"I": np.zeros((6, 4), dtype=bool)}, 2) == {"O": None}


def test_frames_are_repeated_or_cut():
    rows = np.array([[1, 0], [0, 1], [1, 1]], dtype=bool)
    assert (extend_frames({"I": rows}, 7)["I"] == np.concatenate([rows, rows, rows[:1]])).all()
    assert (extend_frames({"I": rows}, 2)["I"] == rows[:2]).all()


def closing(direct, around):
    """I -> O, and I -> A -> O, with one weight each."""
    nodes = {"I": (1, None), "A": (1, 1), "O": (1, 1)}
    return build_network(nodes, {("I", "O"): [[direct]], ("I", "A"): [[1]], ("A", "O"): [[around]]})


@pytest.mark.parametrize(
    ("weights", "first", "full"), [((1, 1), (1, 1), (2, 2)), ((0, 1), (1, 2), (2, 2)), ((1, 0), (1, 1), (2, 1))]
)
def test_weights_that_close_a_path_are_named_where_figures_differ(weights, first, full):
    report = latency_report(closing(*weights), patterns=["streaming"], executions=["windowed"], n_frames=5)
    row = report.rows[0]
    assert row.verified
    assert (row.predicted.first_response_ticks, row.measured.first_response_ticks) == first
    assert (row.predicted.full_response_ticks, row.measured.full_response_ticks) == full
    for form in (report.to_text(400), report.to_html()):
        assert ("differs from predicted (streaming): a weight of zero is not a synapse" in form) == (0 in weights)


def test_from_the_first_frame_on_and_with_all_inputs_on_the_difference_is_seen():
    network = chain()
    rollout = Rollout(network, "streaming")
    program = map_rollout(rollout, "truenorth")
    found = first_difference(program, {"I": np.ones((6, 4), dtype=bool)}, 1)
    assert found == {"O": rollout.first_response("O") * program.ticks_per_step}
