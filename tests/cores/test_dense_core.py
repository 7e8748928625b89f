"""A third kind of core, from one folder and one line: mapped, checked, simulated, verified, reported, explored."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.cores.core_kind import CORE_KINDS, core_kind
from neuromap.errors import ChipError, DoesNotFitError
from neuromap.faults.edited_program import SilentCore, ThresholdEdit, WeightEdit, apply_edits
from neuromap.faults.fault_study import study_faults
from neuromap.mapping.diagnosis.dry_run import dry_run
from neuromap.network import build_network
from neuromap.proof.prove import prove
from neuromap.simulation.engine.engine_choice import EngineChoice

THETAS = st.one_of(st.integers(-3, 6), st.sampled_from([0, 1, 200, -200]))


@pytest.fixture
def rollout():
    """Two layers and a self-edge, wide enough for several cores."""
    rng = np.random.default_rng(4)
    sizes = {"I": 20, "H": 30, "O": 6}
    nodes = {name: ((1, 1, n), None if name == "I" else rng.integers(-1, 4, n)) for name, n in sizes.items()}
    pairs = [("I", "H"), ("H", "H"), ("H", "O"), ("I", "O")]
    edges = {
        (u, v): rng.integers(-2, 3, (sizes[v], sizes[u])) * (rng.random((sizes[v], sizes[u])) < 0.4) for u, v in pairs
    }
    return nm.Rollout(build_network(nodes, edges, outputs=["O"]), "streaming")


@pytest.mark.law
@given(st.data())
@settings(deadline=None, max_examples=200)
def test_networks_compute_their_rollout(networks, patterns, dense_file, data):
    network = data.draw(networks(weights=st.integers(-3, 3), thresholds=THETAS))
    rollout = nm.Rollout(network, data.draw(patterns(network)), data.draw(st.sampled_from(["windowed", "pipelined"])))
    figures = {"core.axons": data.draw(st.sampled_from([12, 60])), "core.neurons": data.draw(st.sampled_from([3, 40]))}
    chip = nm.load_chip(dense_file, figures)
    try:
        program = nm.map_rollout(rollout, chip, placer="row-major")
    except DoesNotFitError as error:
        event(f"does not fit: {error.infeasibility.limit}")
        return
    event(f"cores: {min(program.n_cores, 3)}")
    found = nm.verify(rollout, program, n_frames=8, seed=1, threads=1)
    assert found.verified, found.message
    assert prove(rollout, program).proven


def test_it_is_found_by_its_name(dense_chip):
    assert [*CORE_KINDS][:2] == ["crossbar", "synapse-list"]
    assert "dense" in CORE_KINDS
    assert dense_chip.core_model == "dense"
    assert dense_chip.kind is core_kind("dense")


def test_its_chip_file_keeps_the_rules_of_its_kind(dense_chip):
    with pytest.raises(ChipError, match=r"core\.weight_bits: found 7; weights of dense cores have 8 bits"):
        nm.load_chip(dense_chip, {"core.weight_bits": 7})
    with pytest.raises(ChipError, match="axon_types"):
        nm.load_chip(dense_chip, {"core.axon_types": 4})
    assert nm.load_chip(dense_chip, {"core.axons": 41}).axons == 41


def test_a_program_comes_back_from_its_file(rollout, dense_chip, tmp_path):
    program = nm.map_rollout(rollout, dense_chip)
    program.save(tmp_path / "program.nmap")
    again = nm.load_program(tmp_path / "program.nmap")
    assert type(again) is type(program)
    assert again.chip == dense_chip
    for name in ("weights", "threshold", "start", "target_core", "target_axon", "delay", "coordinates"):
        assert np.array_equal(getattr(again, name), getattr(program, name))


def test_ticks_are_the_equations(rollout, dense_chip):
    """Sums by hand, neuron by neuron: over the axons that the host and the spikes before reach."""
    program = nm.map_rollout(rollout, dense_chip)
    engine = core_kind("dense").engines.ENGINES["numpy"](program, EngineChoice("numpy", 1))
    rng, wires = np.random.default_rng(0), program.wires
    reached = {}
    for tick in range(12):
        host = rng.random((program.n_cores, dense_chip.axons)) < 0.2
        due = reached.pop(tick, set()) | set(zip(*np.nonzero(host), strict=True))
        cores, neurons = engine.step(*np.nonzero(host))
        fired = {
            (c, n)
            for c in range(program.n_cores)
            for n in range(dense_chip.neurons)
            if sum(int(program.weights[c, a, n]) for core, a in due if core == c) >= program.threshold[c, n]
        }
        assert set(zip(cores.tolist(), neurons.tolist(), strict=True)) == fired
        for c, n, core, axon, delay in zip(*wires, strict=True):
            if (c, n) in fired:
                reached.setdefault(tick + delay, set()).add((core, axon))
        again = engine.fork()
        again.restore(engine.state)
        assert np.array_equal(again.pending, engine.pending)


FAULTS = {
    "weight-range": lambda p: {"weights": _set(p.weights, (0, 0, 0), -128)},
    "threshold-range": lambda p: {"threshold": _set(p.threshold, (0, 0), 1 << 10)},
    "target-exists": lambda p: {"target_axon": _set(p.target_axon, 0, 40)},
    "delay-range": lambda p: {"delay": _set(p.delay, 0, 7)},
    "target-start": lambda p: {"start": _set(p.start, 1, -1)},
    "axon-source": lambda p: {"target_core": _set(p.target_core, slice(None), 0), "target_axon": p.target_axon * 0},
    "potential-width": lambda p: {"chip": replace(p.chip, potential_bits=2)},
    "coordinate-unique": lambda p: {"coordinates": p.coordinates * 0},
}


def _set(array, at, value):
    found = array.copy()
    found[at] = value
    return found


@pytest.mark.parametrize("rule", FAULTS)
def test_its_checker_finds_a_broken_rule(rollout, dense_chip, rule):
    program = nm.map_rollout(rollout, dense_chip)
    assert nm.check_program(program) == []
    broken = replace(program, **FAULTS[rule](program))
    assert rule in {violation.rule for violation in nm.check_program(broken)}


def test_it_is_reported(rollout, dense_chip):
    report = nm.latency_report(rollout.network, chip=dense_chip, n_frames=6)
    mapped = [row for row in report.rows if row.usage is not None]
    assert mapped
    assert all(row.verified for row in mapped)
    assert all(row.measured == row.predicted or row.measured for row in mapped)
    assert report.to_json()


def test_it_is_explored(rollout, dense_chip):
    found = nm.explore(rollout.network, dense_chip, n_frames=6)
    assert found.front
    assert all(row.verified for row in found.front)


def test_a_dry_run_says_what_it_takes(rollout, dense_chip):
    found = dry_run(rollout, dense_chip)
    assert found.cores == nm.map_rollout(rollout, dense_chip).n_cores


def test_faults_are_programs_of_its_kind(rollout, dense_chip):
    study = study_faults([rollout], dense_chip, rates=[0.0, 0.5], seeds=1, n_stimuli=1)
    assert all(run.lost == run.added == 0 for run in study.runs if run.rate == 0)
    assert {run.kind for run in study.runs if run.rate and run.lost + run.added} >= {"flipped-synapses", "dead-cores"}


def test_an_edit_is_the_network_with_that_value(rollout, dense_chip):
    program = nm.map_rollout(rollout, dense_chip)
    frames = {"I": np.random.default_rng(2).random((10, 20)) < 0.5}
    network = rollout.network

    def output(edits):
        edited = apply_edits(program, edits)
        assert nm.check_program(edited, mapped=False) == []
        return nm.simulate(edited, frames).frames("O")

    raised = replace(network.nodes["O"], threshold=network.nodes["O"].threshold + 2)
    other = replace(network, nodes={**network.nodes, "O": raised})
    wanted = nm.reference(nm.Rollout(other, "streaming"), frames)["O"]
    assert np.array_equal(output([ThresholdEdit("O", 2)]), wanted[: len(output([]))])
    assert not output([SilentCore(core) for core in range(program.n_cores)]).any()
    target, source = (int(k[0]) for k in network.edges["I", "O"].matrix().nonzero())
    heavy = output([WeightEdit("I", source, "O", target, 90)])
    sent = np.flatnonzero(frames["I"][:, source]) + 1  # over a streaming edge
    assert heavy[sent[sent < len(heavy)], target].all()


def test_a_chip_without_such_neurons_refuses_them(rollout, dense_chip):
    leak = nm.load_network("examples/spiking/leak.toml")
    with pytest.raises(DoesNotFitError, match="dense"):
        nm.map_rollout(nm.Rollout(leak, "streaming"), dense_chip)


def test_an_unknown_kind_is_refused_in_one_line(dense_file, tmp_path):
    path = tmp_path / "other.toml"
    path.write_text(dense_file.read_text().replace('model = "dense"', 'model = "dens"'))
    with pytest.raises(ChipError, match=r"core\.model: found 'dens'.*dense") as refused:
        nm.load_chip(path)
    assert "\n" not in str(refused.value)
