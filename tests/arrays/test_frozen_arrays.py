"""Frozen dataclasses own their arrays: nobody can write to them, and nobody's array changes them."""

import dataclasses
import importlib
import inspect
import pickle
import types
import typing
from abc import ABC
from collections.abc import Mapping

import numpy as np
import pytest
from optional_rooms import entered
from scipy.sparse import csr_array

import neuromap
import neuromap as nm
from neuromap.arrays.frozen import adopted, freeze_arrays, frozen
from neuromap.errors import NeuromapError
from neuromap.hardware.program.ports import OutputTable
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.network import Dense, build_network
from neuromap.network.edge import Edge
from neuromap.simulation import run_events


def every_class():
    """All public frozen dataclasses of the package."""
    root = importlib.resources.files(neuromap)
    found = {}
    for path in sorted(root.rglob("*.py")):
        name = ".".join(("neuromap", *path.relative_to(root).with_suffix("").parts))
        if path.stem.startswith("__"):
            continue
        for cls in vars(entered(name) or object).values():
            made_here = inspect.isclass(cls) and cls.__module__ == name and not cls.__name__.startswith("_")
            is_base = made_here and ABC in cls.__bases__
            if made_here and not is_base and dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen:
                found[f"{name}.{cls.__qualname__}"] = cls
    return found


def dtype_of(hint):
    """Dtype of a field that holds an array, or a tuple of arrays; None where it holds something else."""
    if typing.get_origin(hint) is np.ndarray:
        (scalar,) = typing.get_args(typing.get_args(hint)[1])
        any_of = {np.integer: np.int64}  # integers of either width
        return np.dtype(np.float64 if isinstance(scalar, typing.TypeVar) else any_of.get(scalar, scalar))
    inner = [dtype_of(part) for part in typing.get_args(hint)] if is_union_or_tuple(hint) else []
    return next((dtype for dtype in inner if dtype is not None), None)


def is_union_or_tuple(hint):
    return typing.get_origin(hint) in (typing.Union, types.UnionType, tuple)


def array_fields(cls):
    homes = [importlib.import_module(base.__module__) for base in reversed(cls.__mro__)]
    names = {name: value for home in homes for name, value in vars(home).items()}
    names |= {"np": np, "NDArray": np.typing.NDArray}
    try:
        hints = typing.get_type_hints(cls, globalns=names)
    except NameError:  # other names that are imported for type checking only
        hints = {}
        written = [vars(base).get("__annotations__", {}) for base in reversed(cls.__mro__)]
        fields = {field.name for field in dataclasses.fields(cls)}
        for name, text in [pair for said in written for pair in said.items() if pair[0] in fields]:
            try:
                hints[name] = typing.get_type_hints(types.SimpleNamespace(__annotations__={name: text}), names)[name]
            except NameError:
                hints[name] = object
    return {
        field.name: (dtype, typing.get_origin(hints[field.name]) is tuple)
        for field in dataclasses.fields(cls)
        if field.init and (dtype := dtype_of(hints[field.name])) is not None
    }


CHECKED = {
    "neuromap.cores.synapse_list.recorded_work.RecordedWork": (
        {},
        lambda n: {name: csr_array((n, n)) for name in ("sent", "active")},
    ),
    "neuromap.datasets.tracks.ImageSet": (
        {"images": (6, 2, 1, 1, 1), "labels": (6,), "frame_labels": (6, 2)},
        lambda n: {"frame_ticks": 1, "name": "set", "part": "train", "classes": ("a", "b"), "white": 255},
    ),
    "neuromap.encoding.frames.InputEncoding": (
        {"weights": (6, 1, 1, 1), "thresholds": (1,)},
        lambda n: {
            "shape": (1, 1, 1),
            "noise": 0.0,
            "code": "layer",
            "levels": (1,),
            "kernel": (n, 1),
            "stride": (1, 1),
            "mean": (),
            "frames": "still",
            "seen": None,
            "scale": None,
        },
    ),
    "neuromap.faults.fault_study.FaultSetup": ({}, lambda n: {"stimuli": {}, "expected": {}, "first": {}}),
    "neuromap.formats.layers.Operator": ({}, lambda n: {"kind": "conv"}),
    "neuromap.network.node.Node": ({}, lambda n: {"neuron": None}),
    "neuromap.network.spiking_neuron.GradedNeuron": (
        {},
        lambda n: {"low": 0, "high": 9, "maximum": 0, "zero_point": 0, "scale": None},
    ),
    "neuromap.network.spiking_neuron.CurrentNeuron": (
        {},
        lambda n: (
            {"decay_bits": 12, "current_bits": 24, "voltage_bits": 24}
            | {"subtract": 0, "accumulator_bits": 32, "sum_wraps": 0}
        ),
    ),
    "neuromap.network.spiking_neuron.LeakNeuron": ({}, lambda n: {"subtract": 0}),
    "neuromap.quantise.float_network.FloatNeuron": ({}, lambda n: {"size": n}),
}
"""Classes that look into what they are given: shapes of their arrays, and other fields where the first has n rows."""
FILLED = {
    "neuromap.network.spiking_neuron.LeakNeuron": {"threshold": 2},
    "neuromap.quantise.float_network.FloatNeuron": {"threshold": 2},
}
"""What fills their arrays where ones do not do."""
CLASSES = {name: cls for name, cls in every_class().items() if array_fields(cls)}


def test_the_classes_are_found():
    assert len(CLASSES) >= 10
    assert {"neuromap.cores.crossbar.program.Program", "neuromap.network.node.Node"} <= set(CLASSES)
    assert len(array_fields(CLASSES["neuromap.cores.crossbar.program.NeuronTable"])) == 12
    assert array_fields(CLASSES["neuromap.formats.ranc.image.RancCase"])["expected"] == (np.int64, True)


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("as_view", [False, True])
def test_arrays_are_owned_and_read_only(name, as_view):
    cls = CLASSES[name]
    fields = array_fields(cls)
    shapes, others = CHECKED.get(name, ({}, lambda n: {}))
    fill = FILLED.get(name, {})
    owned = {field: np.full(shapes.get(field, 6), fill.get(field, 1), dtype) for field, (dtype, _) in fields.items()}
    given = {field: array[::2] if as_view else array for field, array in owned.items()}
    if as_view:  # a locked view of an array that can be written to is no better
        for array in given.values():
            array.flags.writeable = False
    values = {field.name: other_value(field) for field in dataclasses.fields(cls) if field.init}
    values |= others(len(next(iter(given.values()))))
    values |= {field: (given[field],) if many else given[field] for field, (_, many) in fields.items()}
    made = cls(**values)
    for array in owned.values():
        assert array.flags.writeable
        array[:] = 0
    for field, (_, many) in fields.items():
        value = getattr(made, field)
        (array,) = value if many else (value,)
        assert array.all()
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def other_value(field):
    """A value for fields that hold no array; but for those above, no class looks into them when it is made."""
    return {} if "Mapping" in str(field.type) or "dict" in str(field.type) else ()


def test_arrays_that_nobody_can_write_to_are_not_copied():
    made = np.arange(6, dtype=np.int32).reshape(2, 3)
    column = adopted(made[:, ::2])
    assert np.shares_memory(made, column)
    assert frozen(column) is column
    assert np.shares_memory(frozen(column[1:]), made)
    assert OutputTable(column, column, column, column).node is column
    bytes_of_a_file = np.frombuffer(b"\x00" * 8, np.int32)
    assert frozen(bytes_of_a_file) is bytes_of_a_file


@pytest.mark.parametrize("array", [np.ones(3), np.full((), 2), np.zeros((0, 4), bool), np.ones((2, 3)).T])
def test_who_locked_an_array_may_unlock_it_but_not_what_was_made_of_it(array):
    given = array.copy()
    given.flags.writeable = False
    owned = frozen(given)
    given.flags.writeable = True
    given[...] = 0
    assert owned.dtype == array.dtype
    assert np.array_equal(owned, array)
    for held in (owned, owned[...], pickle.loads(pickle.dumps(OutputTable(owned, owned, owned, owned))).node):
        with pytest.raises(ValueError, match="WRITEABLE"):
            held.flags.writeable = True


def test_a_locked_threshold_that_is_unlocked_again_changes_no_network():
    threshold = np.array([1, 2])
    threshold.flags.writeable = False
    net = build_network({"I": (2, None), "O": (2, threshold)}, {("I", "O"): np.eye(2, dtype=int)})
    threshold.flags.writeable = True
    threshold[:] = 9
    assert net.nodes["O"].threshold.tolist() == [1, 2]


def arrays_within(value, seen):
    """All arrays that a value holds, through dataclasses, tuples, mappings and sparse arrays."""
    if id(value) in seen:
        return
    seen[id(value)] = value
    if isinstance(value, np.ndarray):
        yield value
        return
    parts = ()
    if hasattr(value, "indptr"):
        parts = (value.data, value.indices, value.indptr)
    elif isinstance(value, Mapping):
        parts = value.values()
    elif isinstance(value, list | tuple):
        parts = value
    elif dataclasses.is_dataclass(value):
        parts = [*vars(value).values()]
    for part in parts:
        yield from arrays_within(part, seen)


def test_no_array_of_a_mapped_rollout_or_of_its_trace_can_be_unlocked():
    ones = np.ones((2, 2), int)
    net = build_network(
        {"I": (2, None), "H": (2, 1), "O": (2, 1)}, {("I", "H"): ones, ("H", "O"): ones, ("O", "O"): ones}
    )
    mapped = map_with_stages(nm.Rollout(net, "sequential"), "truenorth")
    record = nm.Recording("all", potentials="outputs", counts=True)
    trace = nm.simulate(mapped.program, nm.random_frames(net, 3), record=record)
    arrays = [array for value in (mapped, trace) for array in arrays_within(value, {})]
    assert len(arrays) > 50
    for array in [*arrays, trace.potential_table.neurons.is_output]:
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True


def test_what_is_no_array_stays():
    @dataclasses.dataclass(frozen=True)
    class Some:
        name: str
        pair: tuple[int, int]
        nothing: None = None

    made = Some("a", (1, 2))
    freeze_arrays(made)
    assert made == Some("a", (1, 2))


def test_mappings_of_arrays_in_ranc_files():
    from neuromap.formats.ranc.image import RancCores

    column = np.ones((1, 2), np.int64)
    cores = RancCores(column, column, column != 0, column, {"leak": column}, column != 0)
    column[:] = 0
    assert cores.parameters["leak"].all()
    with pytest.raises(ValueError, match="read-only"):
        cores.parameters["leak"][:] = 0
    with pytest.raises(TypeError):
        cores.parameters["leak"] = column


def test_a_file_that_is_mapped_into_memory_is_copied(tmp_path):
    path = tmp_path / "column.bin"
    np.arange(3, dtype=np.int32).tofile(path)
    column = np.memmap(path, np.int32, "r")
    owned = [frozen(column), frozen(column[:2]), frozen(np.asarray(column))]
    owned.append(OutputTable(column, column, column, column).node)
    np.memmap(path, np.int32, "r+")[:] = 7
    assert [array.tolist() for array in owned] == [[0, 1, 2], [0, 1], [0, 1, 2], [0, 1, 2]]
    assert {type(array) for array in owned} == {np.ndarray}


def test_masked_arrays_are_refused_in_one_line_wherever_arrays_are_taken():
    ones = np.ma.array([[1, 1]], mask=[[0, 1]])
    net = build_network({"I": (2, None), "O": (1, 1)}, {("I", "O"): [[1, 1]]})
    rollout = nm.Rollout(net, "streaming")
    program = nm.map_rollout(rollout)
    frames = {"I": np.ma.array(np.ones((3, 2), bool))}
    takers = {  # what the line names, and what else tells the case
        "weights": lambda: build_network({"I": (2, None), "O": (1, 1)}, {("I", "O"): ones}),
        "weights in rows": lambda: build_network({"I": (2, None), "O": (1, 1)}, {("I", "O"): [ones[0]]}),
        "weights of a transform": lambda: Dense((1, 1, 2), (1, 1, 1), weights=ones),
        "threshold": lambda: build_network({"I": (2, None), "O": (2, ones[0])}, {("I", "O"): [[1, 1], [1, 1]]}),
        "frames": lambda: nm.simulate(program, frames),
        "frames for the reference": lambda: nm.reference(rollout, frames),
        "stimuli": lambda: nm.simulate_batch(program, {"I": frames["I"][None]}),
        "events": lambda: run_events(program, ones[0], [0, 0], [0, 0], 3),
        "Program.delay": lambda: dataclasses.replace(program, delay=np.ma.array(program.delay)),
        "NeuronTable.leak": lambda: dataclasses.replace(program.neurons, leak=np.ma.array(program.neurons.leak)),
    }
    for name, take in takers.items():
        with pytest.raises(NeuromapError, match=f"{name.split()[0]}.*: found a masked array") as caught:
            take()
        assert "\n" not in str(caught.value)


def test_a_matrix_that_is_handed_out_cannot_change_the_network():
    edge = build_network({"I": (3, None), "O": (1, 1)}, {("I", "O"): [[1, 0, 2]]}).edges["I", "O"]
    dense = Dense((1, 1, 3), (1, 1, 1), weights=np.array([[1, 0, 2]]))
    for make in (edge.matrix, lambda: edge.transform.weights, edge.transform.matrix, Edge("I", "O", dense).matrix):
        matrix = make()
        for array in (matrix.data, matrix.indices, matrix.indptr):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
            with pytest.raises(ValueError, match="WRITEABLE"):
                array.flags.writeable = True
        matrix.data, matrix.indices = np.array([7, 7]), np.array([0, 1], np.int32)
        assert edge.matrix().toarray().tolist() == [[1, 0, 2]]
