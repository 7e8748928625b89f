"""Files that a released version wrote are read as they were meant, by every later version of the same format.

``written_by_VERSION.tar.xz`` holds one file of each kind, never written again: a format that changes keeps its reader,
or refuses the old number in one line that says how to get the content back.
"""

import json
import tarfile
from pathlib import Path

import jsonschema
import pytest

import neuromap as nm
from neuromap.faults.fault_study import RESULTS
from neuromap.jobs.results_file import ResultsFile
from neuromap.simulation import Checkpoints, simulate
from neuromap.sweep.run_store import load_runs

HERE = Path(__file__).parent


@pytest.fixture(scope="module", params=sorted(HERE.glob("written_by_*.tar.xz")), ids=lambda path: path.name)
def kept(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    with tarfile.open(request.param) as archive:
        archive.extractall(folder, filter="data")
    return folder


def test_a_network_and_its_program_still_are_each_other(kept):
    network, program = nm.load_network(kept / "network.toml"), nm.load_program(kept / "program.nmp")
    found = nm.verify(nm.Rollout(network, "streaming"), program, n_frames=20)
    assert found.n_spikes
    assert found.verified


@pytest.mark.parametrize("name", ["trace.safetensors", "trace.h5"])
def test_a_trace_is_that_of_its_program(kept, name, assert_same_trace):
    if name.endswith("h5"):
        pytest.importorskip("h5py")
    program = nm.load_program(kept / "program.nmp")
    frames = nm.random_frames(program, 12, 0.4, seed=3)
    assert_same_trace(simulate(program, frames, record=nm.Recording(("all",), ("node:O",))), nm.load_trace(kept / name))


def test_a_run_goes_on_from_its_checkpoint(kept, assert_same_trace):
    program = nm.load_program(kept / "program.nmp")
    frames = nm.random_frames(program, 40, 0.4, seed=3)
    whole = simulate(program, frames, record=nm.Recording(("all",)))
    resumed = simulate(
        program, frames, record=nm.Recording(("all",)), checkpoints=Checkpoints(resume=kept / "run.checkpoint")
    )
    assert_same_trace(resumed, whole)


def test_stores_give_their_rows(kept):
    assert [row.outcome.figures["verified"] for row in load_runs(kept / "runs.sqlite").rows] == [True, True]
    assert {row.outcome.status for row in load_runs(kept / "explored.sqlite").rows} == {"mapped"}
    assert len(ResultsFile(kept / "faults.results", RESULTS)) == 4


def test_a_nir_graph_is_the_network(kept):
    pytest.importorskip("h5py")
    found, network = nm.from_nir(kept / "network.nir").network, nm.load_network(kept / "network.toml")
    assert found.edges.keys() == network.edges.keys()
    frames = nm.random_frames(network, 20, 0.4, seed=3)
    spikes = [nm.reference(nm.Rollout(one, "streaming"), frames)["O"] for one in (found, network)]
    assert spikes[0].any()
    assert (spikes[0] == spikes[1]).all()


def test_a_chip_file_is_read(kept):
    assert nm.load_chip(kept / "chip.toml").neurons > 0


@pytest.mark.parametrize("name", ["report", "explored", "faults"])
def test_documents_are_as_the_schema_of_their_number_says(kept, name):
    document = json.loads((kept / f"{name}.json").read_text())
    kinds = {"report": "report", "explored": "exploration", "faults": "faults"}
    jsonschema.validate(document, nm.load_schema(kinds[name]))
