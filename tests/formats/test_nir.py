"""Files of NIR are data: what is malformed, truncated or hostile is refused in one line, before memory is spent."""

import json
import sys
import tracemalloc
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError, NeuromapError
from neuromap.exchange.nir import from_nir
from neuromap.files.confined import confined
from neuromap.formats import nir as nir_format
from neuromap.formats.nir import file_content, graph_of, read_nir

h5py = pytest.importorskip("h5py", reason="pip install 'neuromap-rollouts[nir]'")

FILES = Path(__file__).parents[2] / "examples" / "nir"


def input_node(size=2):
    return {"type": "Input", "shape": np.array([size])}


def lif(size=3, **changed):
    numbers = {"tau": 0.02, "r": 1.0, "v_leak": 0.0, "v_threshold": 0.1}
    return {"type": "LIF", **{key: np.full(size, value) for key, value in numbers.items()}, **changed}


def tree(nodes=None, edges=None):
    nodes = nodes or {"i": input_node(), "w": {"type": "Linear", "weight": np.ones((3, 2))}, "n": lif()}
    names = list(nodes)
    edges = list(pairwise(names)) if edges is None else edges
    return {"type": "NIRGraph", "nodes": nodes, "edges": edges}


def write(path, change=lambda group: None, nodes=None):
    """A file as nir.write lays it out, changed by hand."""
    with h5py.File(path, "w") as file:
        file["version"] = "1.0.8"
        group = file.create_group("node")
        found = tree(nodes)
        group["type"], group["edges"] = found["type"], found["edges"]
        for name, node in found["nodes"].items():
            for key, value in node.items():
                group.require_group(f"nodes/{name}")[key] = value
        change(group)
    return path


def changed_weight(**how):
    def change(group):
        del group["nodes/w/weight"]
        group["nodes/w"].create_dataset("weight", **how)

    return change


def other_file(group):
    del group["nodes/w/weight"]
    group["nodes/w/weight"] = h5py.ExternalLink("/etc/passwd", "node")


def soft(group):
    group["nodes/w/alias"] = h5py.SoftLink("/node")


def twice(group):
    group["nodes/again"] = group["nodes/w"]


def cyclic(group):
    group["nodes/w/inner"] = group


def stored_elsewhere(group):
    changed_weight(shape=(3, 2), dtype="f8", external=[("/etc/passwd", 0, 48)])(group)


def virtual(group):
    del group["nodes/w/weight"]
    layout = h5py.VirtualLayout((3, 2), "f8")
    layout[:] = h5py.VirtualSource("/etc/passwd", "x", (3, 2))
    group["nodes/w"].create_virtual_dataset("weight", layout)


def objects(group):
    del group["nodes/w/weight"]
    group["nodes/w"].create_dataset("weight", (3, 2), dtype=h5py.ref_dtype)


def deep(group):
    for _ in range(60):
        group = group.create_group("nodes/g") if "nodes" not in group else group["nodes"].create_group("g")
        group["type"], group["edges"] = "NIRGraph", [("a", "b")]


def long_name(group):
    group["nodes"].create_group("n" * 400)


HOSTILE = {
    "external link": (other_file, "node.nodes.w.weight: is an external link"),
    "soft link": (soft, "node.nodes.w.alias: is a soft link"),
    "hard link": (twice, "is reached by two names"),
    "cycle": (cyclic, "node.nodes.w.inner: is reached by two names"),
    "external storage": (stored_elsewhere, "lies in another file"),
    "virtual": (virtual, "lies in another file"),
    "objects": (objects, "holds objects"),
    "compound": (changed_weight(shape=(3, 2), dtype=[("a", "f8"), ("b", "i4")]), "holds dtype"),
    "huge": (changed_weight(shape=(2**40, 2**10), dtype="f8", chunks=(1, 1)), "holds 1125899906842624 numbers"),
    "huge chunk": (
        changed_weight(shape=(3, 2), dtype="f8", maxshape=(None, 2), chunks=(2**26, 2)),
        "134217728 numbers",
    ),
    "not stored": (changed_weight(shape=(2**12, 2**12), dtype="f8"), "states 134217728 bytes and stores 0"),
    "chunks not stored": (changed_weight(shape=(2**12, 2**12), dtype="f8", chunks=(64, 64)), "and stores 0"),
    "texts not stored": (
        changed_weight(shape=(2**19,), dtype=h5py.string_dtype(), chunks=(1024,)),
        "states 4194304 bytes and stores 0",
    ),
    "deep": (deep, "is nested 35 deep"),
    "long name": (long_name, "needs up to 300 printable characters"),
    "newline": (lambda group: group["nodes"].create_group("a\nb"), r"holds the name 'a\\nb'"),
    "no type": (lambda group: group["nodes"].create_group("x"), "node x: type: found None"),
    "empty weight": (changed_weight(data=h5py.Empty("f8")), "weight: is missing"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_in_one_line(tmp_path, name):
    change, says = HOSTILE[name]
    path = write(tmp_path / "hostile.nir", change)
    with pytest.raises(InputError, match=says) as caught:
        from_nir(path)
    assert str(caught.value).startswith(str(path))
    assert str(caught.value).isprintable()


def test_a_bomb_is_refused_before_it_takes_memory(tmp_path):
    """Half a gigabyte of zeros, eight times over, of which one portion is stored."""
    path = tmp_path / "bomb.nir"

    def change(group):
        for k in range(8):
            node = group.create_group(f"nodes/b{k}")
            node["type"] = "Linear"
            node.create_dataset("weight", (2**26, 1), "f8", chunks=(2**20, 1), compression="gzip", fillvalue=0)
            node["weight"][: 2**20] = 0.0

    write(path, change)
    tracemalloc.start()
    with pytest.raises(InputError, match="states 536870912 bytes and stores"):
        read_nir(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**25


@pytest.mark.parametrize(
    ("nodes", "edges", "says"),
    [
        ({"n": {"type": "Izhikevich"}}, [], "type: found 'Izhikevich'; NIR has Affine"),
        ({"n": {"type": 3}}, [], "type: found 3"),
        ({"n": {"type": np.array([1.0, 2.0])}}, [], r"node n: type: found array\(\[1., 2.\]\)"),
        ({"n": 3}, [], "node n: found 3"),
        ({"n": {"type": "LIF"}}, [], "tau: is missing; LIF needs tau, r, v_leak, v_threshold"),
        ({"n": lif(tau=np.array([0.0]))}, [], "tau: found 0; needs numbers above 0"),
        ({"n": lif(r=np.array([np.nan]))}, [], "r: found nan; needs finite numbers"),
        ({"n": lif(r="many")}, [], "r: found 'many'; needs numbers"),
        ({"n": lif(r=[[1], [1, 2]])}, [], "r: found .*needs numbers"),
        ({"i": {"type": "Input", "shape": np.array([1.5])}}, [], "shape: found 1.5; needs whole numbers above 0"),
        ({"i": input_node(10**12)}, [], "shape: found 1e[+]12; needs whole numbers above 0"),
        ({}, None, "nodes: found {}; needs one node or more"),
        ({"n": lif()}, [("n", "m")], "node 'm' does not exist"),
        ({"n": lif()}, ["nm"], "needs pairs of names"),
        ({"n": lif()}, [("n", 3)], "needs pairs of names"),
        ({"n": lif()}, None, "edges: found None"),
        ({"n": lif()}, np.array(5), "edges: found"),
        ({"n": lif()}, [np.array("ab")], "edges: found"),
        ({"i": input_node(), "n": lif()}, [("i", "n")] * 2, r"edge \('i', 'n'\): is listed twice"),
        ({"w": {"type": "Linear", "weight": np.eye(2), "bias": np.ones(2)}}, [], "'bias' is none of NIR's Linear"),
        ({"n": lif(tau_ref=np.ones(3))}, [], "'tau_ref' is none of NIR's LIF, which has tau, r"),
        ({"n": lif(v_resett=np.ones(3))}, [], "did you mean 'v_reset'"),
        ({"g": {"type": "NIRGraph", "nodes": {"n": lif()}, "edges": [], "dt": 1e-3}}, [], "'dt' is none of NIR's NIRG"),
        ({"": lif()}, [], "needs a name of 1 to 300"),
        ({"a\x00b": lif()}, [], "needs a name of 1 to 300"),
    ],
)
def test_graphs_that_are_none_are_refused(nodes, edges, says):
    with pytest.raises(InputError, match=says) as caught:
        graph_of({"type": "NIRGraph", "nodes": nodes, "edges": edges})
    assert str(caught.value).isprintable()


def test_what_is_no_file_of_nir_is_told(tmp_path):
    (tmp_path / "a.nir").write_text("hello")
    (tmp_path / "b.nir").write_text(json.dumps({}))
    with h5py.File(tmp_path / "c.nir", "w") as file:
        file["x"] = 1
    cases = {"a.nir": "is not an HDF5 file", "b.nir": "is a JSON file", "c.nir": "has no group 'node'"}
    for name, says in (cases | {"d.nir": "does not exist", ".": "is a folder"}).items():
        with pytest.raises(InputError, match=says):
            read_nir(tmp_path / name)


@pytest.fixture(scope="module")
def whole():
    return (FILES / "spikingjelly.nir").read_bytes()


def read_parts(path):
    """Read what is left of a file of which more and more is cut off; all of it in one process with limits."""
    whole, told = Path(path).read_bytes(), []
    for part in range(50):
        Path(path).write_bytes(whole[: len(whole) * part // 50])
        try:
            told.append(repr(file_content(path)))
        except InputError as error:
            told.append(str(error))
    return told, {}


def test_truncated_files_are_refused(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])
    path = tmp_path / "part.nir"
    path.write_bytes(whole)
    told, _ = confined("test_nir:read_parts", {"path": str(path)}, "NIR file")
    assert len(told) == 50
    assert all(line.startswith("is not a complete HDF5 file") and line.isprintable() for line in told)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"part.nir: is not a complete HDF5 file"):
        read_nir(path)


def test_a_text_that_keeps_hdf5_busy_or_states_any_length_is_refused(tmp_path, monkeypatch):
    """Lengths in the book of texts, and in what points there."""
    whole = write(tmp_path / "net.nir").read_bytes()
    entry = (5).to_bytes(8, "little") + b"1.0.8"
    assert entry in whole
    monkeypatch.setattr(nir_format, "_SECONDS", 1.0)
    for length in (258, 2**62, 0):
        path = tmp_path / "changed.nir"
        path.write_bytes(whole.replace(entry, length.to_bytes(8, "little") + b"1.0.8"))
        said = ""
        try:
            read_nir(path)
        except InputError as error:
            said = str(error)
        assert said.isprintable()
    place = whole.index(b"GCOL")
    reference = (5).to_bytes(4, "little") + place.to_bytes(8, "little")
    assert reference in whole
    path.write_bytes(whole.replace(reference, (2**31).to_bytes(4, "little") + reference[4:]))
    with pytest.raises(InputError) as caught:
        read_nir(path)
    assert str(caught.value).isprintable()


@given(places=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=8), run=st.booleans())
@settings(deadline=None, max_examples=120)
def test_damaged_files_are_read_or_refused_in_one_line(whole, tmp_path_factory, places, run):
    damaged = bytearray(whole)
    for where, value in places:
        at = int(where * (len(whole) - 1))
        damaged[at : at + (32 if run else 1)] = bytes([value]) * len(damaged[at : at + (32 if run else 1)])
    path = tmp_path_factory.mktemp("damaged") / "x.nir"
    path.write_bytes(damaged)
    said = ""
    try:
        from_nir(path, compare=0)
    except NeuromapError as error:
        said = str(error)
    assert not said or said.isprintable()
    assert len(said) < 700


def test_a_file_that_may_not_be_read_is_said_to_be_so(tmp_path, monkeypatch):
    """It was called no whole file, to be written anew."""
    path = write(tmp_path / "net.nir")

    def refused(self, mode):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refused)  # root may read all there is
    with pytest.raises(InputError, match=r"net.nir: cannot be read \(Permission denied\)$"):
        read_nir(path)
