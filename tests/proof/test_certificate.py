"""Certificates: proofs as files, which a checker confirms that imports nothing of mapper, simulator and rollout."""

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load

import neuromap as nm
from neuromap.cli.main import main
from neuromap.errors import InputError
from neuromap.files.sealed import metadata_of, sealed_bytes
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron, LeakNeuron
from neuromap.network.transforms import Dense
from neuromap.network.weights import StoredWeights
from neuromap.proof import checker
from neuromap.proof.prove import check_certificate, confirm, load_certificate, prove, save_certificate


@pytest.fixture(scope="module", params=["truenorth", "loihi1"])
def proven(request, tmp_path_factory):
    """A rollout, its program, and the file of its certificate."""
    rng = np.random.default_rng(3)
    sizes = {"I": 6, "H": 5, "O": 3}
    nodes = {n: ((1, 1, k), None if n == "I" else rng.integers(-1, 4, k)) for n, k in sizes.items()}
    pairs = [("I", "H"), ("H", "H"), ("H", "O")]
    network = nm.build_network(nodes, {(u, v): rng.integers(-2, 3, (sizes[v], sizes[u])) for u, v in pairs})
    rollout = nm.Rollout(network, "streaming")
    program = nm.map_rollout(rollout, request.param)
    path = tmp_path_factory.mktemp("proof") / "net.proof"
    save_certificate(prove(rollout, program).certificate, program, path)
    return rollout, program, path


def test_it_is_confirmed_and_equal_ones_give_equal_bytes(proven, tmp_path):
    rollout, program, path = proven
    assert check_certificate(path, program).holds
    save_certificate(prove(rollout, program).certificate, program, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_it_is_of_one_program_only(proven):
    _, program, path = proven
    other = replace(program, coordinates=program.coordinates + 1)
    with pytest.raises(InputError, match="is of another program than that with digest"):
        check_certificate(path, other)


def test_damage_is_refused_in_one_line(proven, tmp_path):
    _, program, path = proven
    data = path.read_bytes()
    for position in range(8, len(data), max(1, len(data) // 60)):
        hurt = tmp_path / "hurt"
        hurt.write_bytes(data[:position] + bytes([data[position] ^ 4]) + data[position + 1 :])
        with pytest.raises(InputError, match="certificate") as refused:
            load_certificate(hurt, program)
        assert "\n" not in str(refused.value)
    hurt.write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match="not a complete certificate"):
        load_certificate(hurt, program)


def changed(proven, path, field, change):
    rollout, program, _ = proven
    mine = prove(rollout, program).certificate
    false = replace(mine, **{field: change(getattr(mine, field)).astype(getattr(mine, field).dtype)})
    save_certificate(false, program, path)
    return check_certificate(path, program)


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("weight", lambda a: a + (np.arange(len(a)) == 1)),
        ("threshold", lambda a: a + 1),
        ("begin", lambda a: a + 1),
        ("neuron", lambda a: np.where(a == a.max(), a.max() - 1, a)),
        ("lag", lambda a: a + (np.arange(len(a)) == 0).astype(a.dtype)),
        ("silent", lambda a: ~a),
        ("relay", lambda a: ~a),
    ],
)
def test_false_claims_are_not_confirmed(proven, tmp_path, field, change):
    assert not changed(proven, tmp_path / "false", field, change).holds


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("neuron", lambda a: a + 10**6),
        ("start", lambda a: a[::-1].copy()),
        ("source", lambda a: a - 1),
        ("begin", lambda a: a + 2**50),
    ],
)
def test_numbers_that_point_nowhere_are_refused(proven, tmp_path, field, change):
    with pytest.raises(InputError, match=f"array {field}"):
        changed(proven, tmp_path / "false", field, change)


def test_the_checker_is_small_and_imports_numpy_and_readers_of_programs_only():
    source = Path(checker.__file__)
    assert len(source.read_text().splitlines()) <= 400
    allowed = ("numpy", "neuromap.hardware.program", "neuromap.proof", "neuromap.cores", "neuromap.arrays")
    for part in (source, source.parent / "codes.py", *source.parents[1].glob("cores/*/proof.py")):
        for node in ast.walk(ast.parse(part.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                standard = name.split(".")[0] in ("__future__", "collections", "dataclasses", "typing")
                assert standard or name.startswith(allowed), f"{part.name} imports {name}"
                assert not name.endswith((".mapper", ".prove")), f"{part.name} imports {name}"


def test_the_command_writes_and_confirms_it(proven, tmp_path, capsys):
    rollout, program, _ = proven
    files = {name: str(tmp_path / name) for name in ("net.toml", "other.toml", "net.nmp", "net.proof")}
    rollout.network.save(files["net.toml"])
    program.save(files["net.nmp"])
    nodes = {n: (node.shape, node.threshold) for n, node in rollout.network.nodes.items()}
    edges = {key: edge.matrix().toarray() * 2 for key, edge in rollout.network.edges.items()}
    nm.build_network(nodes, edges).save(files["other.toml"])
    asked = ["--program", files["net.nmp"]]
    assert main(["prove", files["net.toml"], *asked, "--certificate", files["net.proof"]]) == 0
    assert f"written to {files['net.proof']}" in capsys.readouterr().out
    assert main(["prove", files["net.toml"], *asked, "--check", files["net.proof"]]) == 0
    assert "proven for every input" in capsys.readouterr().out
    assert main(["prove", files["other.toml"], *asked, "--check", files["net.proof"]]) == 2
    assert "is of another network than" in capsys.readouterr().err


def own(neuron, weights, current=0):
    """One neuron with state, fed by inputs."""
    shape = (1, 1, len(weights[0]))
    dense = Dense(shape, (1, 1, 1), weights=StoredWeights(np.array(weights)))
    nodes = {"I": Node("I", shape), "O": Node("O", (1, 1, 1), neuron=neuron)}
    return nm.Rollout(Network("own", nodes, {("I", "O"): Edge("I", "O", dense, current=current)}), "streaming")


def test_neurons_with_state_are_not_said_to_be_silent(tmp_path):
    rollout = own(LeakNeuron(threshold=2, leak=1), [[-1]])
    program = nm.map_rollout(rollout, "truenorth")
    mute = replace(program, outputs=type(program.outputs)(*(np.zeros(0, np.int32) for _ in range(4))))
    false = replace(prove(rollout, mute).certificate, silent=np.array([False, True]))
    save_certificate(false, mute, tmp_path / "false")
    assert not confirm(rollout, mute, tmp_path / "false").proven


@pytest.mark.parametrize("width", [{"voltage_bits": 10}, {"current_bits": 7}, {"accumulator_bits": 7}])
def test_a_neuron_that_meets_rails_which_the_chip_does_not_have_is_another(width):
    """Of 10 bits the voltage ends at 511, of 7 bits the current at 63: it never spikes."""
    neuron = {"threshold": 640, "current_decay": 4096, "voltage_decay": 0}
    rollout, narrow = (own(CurrentNeuron(**neuron, **bits), [[64]]) for bits in ({}, width))
    program = nm.map_rollout(rollout, "loihi1")
    assert prove(rollout, program).proven
    frames = {"I": np.ones((30, 1), np.bool_)}
    assert nm.reference(rollout, frames)["O"].any()
    assert not nm.reference(narrow, frames)["O"].any()
    assert not prove(narrow, program).proven


def test_a_soma_holds_the_first_current(tmp_path):
    neuron = {"threshold": 192, "current_decay": 4096}
    program = nm.map_rollout(own(CurrentNeuron(**neuron), [[64]]), "loihi1")
    rollout = own(CurrentNeuron(**neuron, more_current_decays=(0,)), [[64]], 1)
    false = prove(rollout, program).certificate
    save_certificate(replace(false, part=false.part + 1), program, tmp_path / "false")
    assert not confirm(rollout, program, tmp_path / "false").proven


def resealed(path, changes):
    """The file of a certificate with other arrays and texts, sealed anew."""
    data = path.read_bytes()
    texts = {key: value for key, value in metadata_of(data).items() if key not in ("neuromap", "digest")}
    arrays = load(data)
    for name, value in changes.items():
        texts, arrays = (texts | {name: value}, arrays) if isinstance(value, str) else (texts, arrays | {name: value})
    return sealed_bytes("certificate", arrays, texts)


@pytest.mark.parametrize(
    "changes",
    [
        *({"nodes": text} for text in ("{", "3", "[[1,2,3],[3,4,5]]", "[" * 100_000, '[["I","input"]]')),
        {"program": "other"},
        {"source": np.array(1, np.int32)},
        {"first": np.array([0, 2**63 - 1, -2, 14])},
        {"threshold": np.full(14, 2**62)},
        {"state.current_decay": np.zeros(3, np.int64)},
    ],
)
def test_strange_files_that_bear_their_digest_are_one_line(proven, tmp_path, changes):
    _, program, path = proven
    (tmp_path / "odd").write_bytes(resealed(path, changes))
    with pytest.raises(InputError) as refused:
        check_certificate(tmp_path / "odd", program)
    assert "\n" not in str(refused.value)


def test_half_of_the_parameters_of_neurons_are_no_proof(proven, tmp_path):
    _, program, path = proven
    (tmp_path / "odd").write_bytes(resealed(path, {"state.current_decay": np.zeros(14, np.int64)}))
    assert not check_certificate(tmp_path / "odd", program).holds
