"""What SANA-FE is given is the program: its cells, run by a little NumPy, fire like the chip; so do they in SANA-FE."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from mapped_runs import mapped_runs

import neuromap as nm
from neuromap.errors import NotSupportedError
from neuromap.exchange.to_sanafe import export_sanafe
from neuromap.files.whole_file import write_folder
from neuromap.formats.sanafe import sanafe_architecture, sanafe_cells
from neuromap.hardware.chip.chip_file import with_figures
from neuromap.hardware.program.chip_program import host_spikes
from neuromap.simulation.run.tick_run import FedFrames

ROOT = Path(__file__).resolve().parents[2]
SANAFE = os.environ.get("NEUROMAP_SANAFE_PYTHON", "")
needs_sanafe = pytest.mark.skipif(
    not SANAFE, reason="set NEUROMAP_SANAFE_PYTHON to a Python that has it (benchmarks/peers/install.sh sanafe)"
)


def run_cells(cells):
    """SANA-FE's order of things, in NumPy: leak and events, compare, reset; spikes as (tick, neuron)."""
    n_neurons, n_buffers = len(cells.core), len(cells.buffer_core)
    n_cells = n_neurons + n_buffers + len(cells.generator_core)
    potential = np.zeros(n_neurons, np.int64)
    spiking = np.zeros(n_cells, bool)
    found = []
    for tick in range(cells.n_ticks):
        spiking[n_neurons + n_buffers :] = False
        spiking[n_neurons + n_buffers + cells.fed_generator[cells.fed_tick == tick]] = True
        active = spiking[cells.pre]
        heard = np.bincount(cells.post[active], cells.weight[active], n_cells).astype(np.int64)
        potential += cells.leak + heard[:n_neurons]
        fires = potential >= cells.threshold
        low = ~fires & (potential <= cells.lower)
        after = np.choose(cells.reset, [cells.reset_to, potential - cells.threshold, potential])
        potential = np.where(fires, after, np.where(low & (cells.lower_reset == 0), cells.lower_reset_to, potential))
        spiking = np.concatenate([fires, heard[n_neurons : n_neurons + n_buffers] >= 1, np.zeros(n_cells, bool)])[
            :n_cells
        ]
        found += [(tick, neuron) for neuron in np.flatnonzero(fires).tolist()]
    return found


def expected(found):
    """Spikes of the file of expected ones, as (tick, neuron): tick 0 is SANA-FE's step 2."""
    rows = [line.split(",") for line in found.contents["expected_spikes.csv"].splitlines()[1:]]
    return [(int(step) - 2, int(neuron.removeprefix("neurons."))) for neuron, step in rows]


@given(run=mapped_runs())
@settings(deadline=None, max_examples=30)
def test_the_cells_fire_like_the_chip(run):
    program, frames = run
    found = export_sanafe(program, frames=frames)
    cells = sanafe_cells(program, host_spikes(program, frames, found.figures["steps to run"] - 1))
    assert expected(found) == run_cells(cells)
    trace = nm.simulate(program, frames, engine="numpy", record=nm.Recording(spikes="all"))
    assert len(expected(found)) == np.count_nonzero(trace.tick < cells.n_ticks)


@given(run=mapped_runs(lengths=(1, 4)))
@settings(deadline=None, max_examples=20)
def test_the_host_is_read_off_its_table_as_engines_are_fed(run):
    program, frames = run
    n_ticks = 30
    spikes = host_spikes(program, frames, n_ticks)
    fed = FedFrames(program, frames).events(0, n_ticks)
    theirs = zip(np.repeat(np.arange(n_ticks), np.diff(fed.start)).tolist(), fed.cores, fed.axons, strict=True)
    host = program.host
    ours = zip(spikes.tick.tolist(), host.core[spikes.row], host.axon[spikes.row], strict=True)
    assert sorted(ours) == sorted(theirs)


@needs_sanafe
@given(run=mapped_runs())
@settings(deadline=None, max_examples=12)
def test_sanafe_fires_as_expected(run, tmp_path_factory):
    program, frames = run
    assert_sanafe_agrees(export_sanafe(program, frames=frames), tmp_path_factory.mktemp("sanafe"))


@needs_sanafe
def test_sanafe_counts_the_energy_of_every_event(tmp_path):
    """Digits, every figure in another decade: SANA-FE's sums are those of counts, none lost, none twice."""
    figures = {
        "energy.included": [], "energy.synaptic_event_joules": 1e-3, "energy.hop_joules": 1e3,
        "energy.spike_joules": 1e-9,
    }  # fmt: skip
    chip = with_figures(nm.load_chip("truenorth"), figures)
    network = nm.load_network(ROOT / "examples" / "digits" / "sr.toml")
    program = nm.map_rollout(nm.Rollout(network, "sequential"), chip)
    found = export_sanafe(program)
    energy = assert_sanafe_agrees(found, tmp_path / "digits")["energy_joules"]
    assert energy["soma"] == pytest.approx(1e-9 * len(expected(found)))
    assert energy["synapse"] / 1e-3 == pytest.approx(round(energy["synapse"] / 1e-3))
    assert energy["network"] / 1e3 == pytest.approx(hops(program, found))


def hops(program, found):
    """Links that the expected spikes cross."""
    lines = [line.split(",") for line in found.contents["neurons.csv"].splitlines()[1:]]
    place = {tuple(xy): core for core, xy in enumerate(program.coordinates.tolist())}
    links = []
    for *_, x, y, row in lines:
        target = program.target_core[place[int(x), int(y)], int(row)]
        xy = program.coordinates[target] if target >= 0 else (int(x), int(y))
        links.append(abs(xy[0] - int(x)) + abs(xy[1] - int(y)))
    return sum(links[neuron] for _, neuron in expected(found))


def assert_sanafe_agrees(found, folder):
    write_folder(folder, found.contents)
    done = subprocess.run([SANAFE, folder / "run.py", folder], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-500:]
    return json.loads((folder / "answer.json").read_text())


@pytest.fixture(scope="module")
def small():
    net = nm.build_network(
        {"I": (3, None), "H": (3, 1), "O": (2, 2)}, {("I", "H"): np.eye(3, dtype=int), ("H", "O"): np.ones((2, 3), int)}
    )
    program = nm.map_rollout(nm.Rollout(net, "streaming"))
    return program, host_spikes(program, {"I": np.ones((4, 3), bool)}, 4)


def changed(program, name):
    """Make one property of a program one that SANA-FE has not."""
    program = replace(program, execution="")  # by hand: rules of mapped programs are not asked
    neurons = program.neurons
    if name == "two sources":
        core, neuron = (index[:2] for index in np.nonzero(program.target_core >= 0))
        axon = program.target_axon.copy()
        axon[core[1], neuron[1]] = axon[core[0], neuron[0]]
        return replace(program, target_axon=axon)
    if name == "no synapse":
        return replace(program, crossbar=np.zeros_like(program.crossbar))
    changes = {
        "stochastic": {"noise_bits": np.ones_like(neurons.reset_mode)},
        "leak reversal": {"leak_reversal": np.ones_like(neurons.leak_reversal)},
        "before the first tick": {"potential": np.ones_like(neurons.potential)},
        "linear reset": {"reset_mode": np.ones_like(neurons.reset_mode)},
        "stay at 0": {"leak": np.ones_like(neurons.leak)},
    }
    return replace(program, neurons=replace(neurons, **changes[name]))


@pytest.mark.parametrize(
    "name",
    ["two sources", "no synapse", "stochastic", "leak reversal", "before the first tick", "linear reset", "stay at 0"],
)
def test_what_sanafe_has_not_is_refused_in_one_line(small, name):
    program, spikes = small
    with pytest.raises(NotSupportedError, match=name) as caught:
        sanafe_cells(changed(program, name), spikes)
    assert "SANA-FE has not that: " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_costs_are_the_chip_files_and_what_it_lacks_is_marked(small):
    program, spikes = small
    cells = sanafe_cells(program, spikes)
    figures = {"time.neuron_update_seconds": 5e-9, "router.hop_seconds": 7e-9, "energy.included": []}
    for chip, has in ((program.chip, False), (with_figures(program.chip, figures), True)):
        text = sanafe_architecture(cells, chip)
        assert "energy_process_spike: 2.3e-12" in text
        assert text.count("latency_north_hop: 7e-09") == has
        assert text.count("latency_access_neuron: 5e-09") == has
        assert ("energy.hop_joules: 0: other figures of the file include it" in text) == (not has)
        assert ("energy_east_hop: 2.3e-12" in text) == has
        assert "energy.spike_joules: 0: the chip file has no such figure" in text


def test_names_of_a_program_stay_out_of_the_yaml(small):
    """A name that would be YAML is in no file that SANA-FE reads."""
    program, _ = small
    evil = "]: {a: ['\"#`|"
    named = replace(program, name=evil, nodes=tuple(replace(port, name=evil + port.name) for port in program.nodes))
    found = export_sanafe(named, frames={evil + "I": np.ones((4, 3), bool)})
    plain = export_sanafe(program, frames={"I": np.ones((4, 3), bool)})
    for file in ("arch.yaml", "network.yaml", "expected_spikes.csv", "run.py"):
        assert found.contents[file] == plain.contents[file]
    assert "`|" not in found.contents["README.md"]
