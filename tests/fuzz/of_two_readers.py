"""Files that somebody else reads too: what both take means the same to both.

The other reader is the library of the format, or the definition of what the file stands for. What only one of the two
takes is no fault here: how ours refuses is what the rows of the other modules are about. But where the other one ends
in an error, ours must not have taken a meaning out of damaged text.
"""

import hashlib
import os
import sys
import tomllib
import typing
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import seals
from of_foreign_files import make_nir
from of_own_files import make_networks, make_programs
from one_reader import limit_memory, list_program, reader, recorded, saved

import neuromap as nm
from neuromap.files.confined import confined

sys.path.append(str(Path(__file__).resolve().parents[1] / "plugins"))


def by_another(read, path):
    """Read with a library that may crash or hang, in a process that is kept for it; None where it gives nothing."""
    kept = os.getpid(), read
    if kept not in _kept:
        _kept[kept] = _begin(read)
    process, pipe = _kept[kept]
    with suppress(EOFError, OSError):
        pipe.send(path)
        if pipe.poll(5.0):
            return pipe.recv()
    del _kept[kept]
    process.kill()
    process.join()
    return None


_kept = {}


def _begin(read):
    ours, its = _FORK.Pipe()
    process = _FORK.Process(target=_answer, args=(read, its), daemon=True)
    process.start()
    its.close()
    return process, ours


def _answer(read, pipe):
    # whoever waits for the end of a pipe that this process was born with would wait for it
    os.closerange(3, pipe.fileno())
    os.closerange(pipe.fileno() + 1, 1024)
    limit_memory()
    with suppress(EOFError):
        while path := pipe.recv():
            found = None
            with suppress(Exception):
                found = read(path)
            pipe.send(found)


_FORK = get_context("fork")  # forking for every file took longer than reading it


def digest(array):
    """Tell a numeric array by its shape and the numbers in it."""
    numbers = np.asarray(array, np.float64)
    return numbers.shape, hashlib.sha256(np.ascontiguousarray(numbers + 0.0).tobytes()).hexdigest()[:16]


# TOML: a network file, and the same text as tomllib reads it.


def read_network_twice(path, _):
    net = nm.load_network(path)
    told = tomllib.loads(path.read_text(encoding="utf-8"))
    assert list(net.nodes) == list(told["nodes"])
    assert list(net.outputs) == told.get("outputs", list(net.outputs))
    for name, table in told["nodes"].items():
        shape = table.get("shape", net.nodes[name].shape)
        assert net.nodes[name].shape == (None if shape is None else tuple(shape))
    assert {tuple(map(str.strip, key.split("->"))) for key in told["edges"]} == set(net.edges)
    for key, table in told["edges"].items():
        edge = net.edges[tuple(map(str.strip, key.split("->")))]
        for word in ("kernel", "stride", "groups"):
            if word in table:
                known = getattr(edge.transform, word)
                assert known == (tuple(table[word]) if isinstance(table[word], list) else table[word])
    for name, table in told.get("rollouts", {}).items():
        streams = {tuple(map(str.strip, key.split("->"))) for key in table["streaming"]}
        assert set(net.patterns[name]) == streams


reader("network-by-tomllib", "network.toml", make_networks, read_network_twice, form="toml")


# ONNX: the integers of a graded network, and those of the reference of ONNX at the same tensors.


def make_quantised(_):
    from quantised_graphs import FAMILIES, random_graph

    found = []
    for family in FAMILIES:
        for seed in range(4):
            graph, output = random_graph(family, seed)
            found.append(graph.model(output).SerializeToString())
    return found


def _is_beyond_the_reference(model):
    """Whether a scale is so large or small that the reference leaves 32 bits before it saturates."""
    import onnx

    stored = (onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer if tensor.data_type == 1)
    return any(((array != 0) & ~((abs(array) < 2**20) & (abs(array) > 2**-20))).any() for array in stored)


def read_onnx_twice(path, _):
    import onnx
    from onnx.reference import ReferenceEvaluator

    from neuromap.exchange.layers.find_structure import find_structure
    from neuromap.exchange.layers.take_graded import take_graded
    from neuromap.formats.layers import simplified
    from neuromap.formats.onnx import read_onnx

    graph = read_onnx(path)
    taken = take_graded(graph, find_structure(simplified(graph)), "net")
    net = taken.network
    if len(net.inputs) != 1 or sum(node.size for node in net.nodes.values()) > 20_000 or taken.differ or taken.off:
        return
    model = onnx.load_model_from_string(path.read_bytes())
    if _is_beyond_the_reference(model):
        return
    known = {info.name for info in model.graph.output}
    model.graph.output.extend(
        onnx.helper.make_empty_tensor_value_info(tensor) for tensor in taken.places if tensor not in known
    )
    # a network is of one image, however many a batch has
    shape = [1, *(d.dim_value or 1 for d in model.graph.input[0].type.tensor_type.shape.dim[1:])]
    first = next((tensor for tensor, place in taken.places.items() if place.node == net.inputs[0]), None)
    unknown = model.graph.input[0].type.tensor_type.elem_type not in onnx.TensorProto.DataType.values()[1:]
    if first is None or np.prod(shape) > 20_000 or unknown:
        return
    kind = onnx.helper.tensor_dtype_to_np_dtype(model.graph.input[0].type.tensor_type.elem_type)
    rng = np.random.default_rng(0)
    whole = np.issubdtype(kind, np.integer)
    x = rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, kind) if whole else rng.normal(0, 3, shape)
    name, names = model.graph.input[0].name, [info.name for info in model.graph.output]
    try:
        with np.errstate(all="ignore"):
            told = dict(zip(names, ReferenceEvaluator(model).run(None, {name: x.astype(kind)}), strict=True))
    except Exception:  # the reference does not take it
        return
    told[name] = x
    held, zero = taken.places[first], net.nodes[net.inputs[0]].graded.zero_point
    shown = np.zeros((2, net.nodes[net.inputs[0]].size), np.int32)
    shown[1, held.elements] = np.asarray(told[first]).ravel().astype(np.int64) - zero
    values = nm.reference(nm.Rollout(net, "sequential"), {net.inputs[0]: shown})
    for tensor, place in taken.places.items():
        mine = values[place.node][1][place.elements] + net.nodes[place.node].graded.zero_point
        assert np.array_equal(mine, np.asarray(told[tensor]).ravel().astype(np.int64)), tensor


reader("onnx-by-its-reference", "a.onnx", make_quantised, read_onnx_twice, form="protobuf", needs=("onnx",))


# PyTorch: what a network in frame code gives, and what PyTorch computes of the same program.


def make_torch(folder):
    """Networks in frame code, a convnet, one with constants that are computed, and one that PyTorch has quantised."""
    import torch
    import torch.ao.quantization.fx._decomposed
    from frame_layers import descriptions, images, torch_module
    from hypothesis import Phase, given, settings
    from torch import nn

    class Joined(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(6, 6, bias=False), nn.Linear(12, 3)

        def forward(self, x):
            hidden = (nn.functional.linear(x, self.one.weight.sign()) >= 1).float() + x * torch.arange(6)
            return torch.relu(self.two(torch.cat([hidden, x.clamp(0, 1)], 1)))

    class Moved(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two, self.three = (nn.Linear(n, m, bias=False) for n, m in ((3, 3), (16, 4), (4, 3)))
            for layer in (self.one, self.two, self.three):
                layer.weight.data = torch.randint(-3, 4, layer.weight.shape).float()

        def forward(self, x):
            f, hidden = nn.functional, (self.one(x) >= 1).float()
            padded = f.avg_pool2d(f.pad(hidden, (1, 0, 0, 1), value=1.0), 2, 2, 0, True)
            parts = padded, hidden[:, :, ::2, -1:].transpose(1, 2), f.max_pool2d(hidden, 2, 1).mean(3)
            return self.three((self.two(torch.cat([part.flatten(1) for part in parts], 1)) >= 1).float())

    class Quantised(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("weight", torch.arange(-12, 12, dtype=torch.int8).reshape(3, 2, 2, 2))
            self.register_buffer("scales", torch.tensor([0.01, 0.02, 0.03]))
            self.register_buffer("zeros", torch.zeros(3, dtype=torch.int64))

        def forward(self, x):
            ops, kind = torch.ops.quantized_decomposed, (-128, 127, torch.int8)
            x = ops.dequantize_per_tensor(ops.quantize_per_tensor(x, 0.05, 3, *kind), 0.05, 3, *kind)
            w = ops.dequantize_per_channel(self.weight, self.scales, self.zeros, 0, -127, 127, torch.int8)
            return ops.quantize_per_tensor(torch.relu(nn.functional.conv2d(x, w, None, 1, 1)), 0.07, -128, *kind)

    torch.manual_seed(0)
    stack = nn.Sequential(
        nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 3)
    )
    batch = {"dynamic_shapes": ({0: torch.export.Dim("n")},)}
    models = [
        (stack, torch.zeros(1, 1, 4, 4), {}),
        (Joined(), torch.zeros(2, 6), batch),
        (Moved(), torch.zeros(1, 2, 3, 3), {}),
        (Quantised(), torch.zeros(1, 2, 3, 3), {}),
    ]

    @settings(max_examples=4, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
    @given(descriptions())
    def keep(description):
        models.append((torch_module(description), torch.from_numpy(images(description, 1)), {}))

    keep()
    found = []
    for module, shown, more in models:
        torch.export.save(torch.export.export(module.eval(), (shown,), **more), folder / "seed.pt2")
        found.append((folder / "seed.pt2").read_bytes())
    return found


def read_torch_twice(path, _):
    from neuromap.exchange.layers.find_structure import find_structure
    from neuromap.exchange.layers.take_graph import take_graph
    from neuromap.exchange.layers.take_weights import take_weights
    from neuromap.formats.layers import simplified
    from neuromap.formats.pytorch.module_graph import read_exported

    graph = read_exported(path)
    if not any(note.about == "weights and thresholds" for note in take_graph(graph, "pytorch", str(path)).kept):
        return
    graph = simplified(graph)
    taken = take_weights(graph, find_structure(graph), "net")
    net = taken.network
    if len(net.inputs) != 1 or len(net.outputs) != 1 or len(taken.readout) != 1 or taken.unsure or taken.rounded:
        return
    (source,), (output,), (sums,) = net.inputs, net.outputs, taken.readout.values()
    if sums is None or sums.pending:
        return
    told = of_torch(path)
    if not told:
        return
    rows, columns, features = net.nodes[source].shape
    frames = np.zeros((2, net.nodes[source].size), bool)
    frames[1] = told["shown"][0].reshape(features, rows, columns).transpose(1, 2, 0).ravel()
    spikes = nm.reference(nm.Rollout(net, "sequential"), {source: frames})[output][1]
    mine = sums.offset + sums.weights[output] @ spikes.astype(float)
    assert np.array_equal(mine.astype(np.float32), told["given"][0].ravel().astype(np.float32))


def of_torch(path):
    """Compute in the child that reads files, which hurries from its first time on."""
    asked = {"path": str(path)}
    return confined(f"{__name__}:computed_by_torch", asked, "program", memory=2**32, library="torch.export")[1]


def computed_by_torch(path):
    """Give an input of 0 and 1, and what comes out; in the process that reads files for the package."""
    import torch

    from neuromap.formats.pytorch.exported_file import _loaded, _plain_copy

    _hurry_torch()
    with suppress(Exception), torch.no_grad():  # PyTorch does not take it
        program = _loaded(_plain_copy(Path(path).read_bytes()))
        (name,) = program.graph_signature.user_inputs
        (shape,) = (node.meta["val"].shape for node in program.graph.nodes if node.name == name)
        shown = torch.from_numpy((np.random.default_rng(0).random(tuple(shape)) < 0.5).astype(np.float32))
        found = program.module()(shown)
        given = found[0] if isinstance(found, tuple | list) else found
        return {}, {"shown": shown.numpy(), "given": given.numpy()}
    return {}, {}


@cache
def _hurry_torch():
    """Let PyTorch find once, not for every file, which operators it keeps and what they are while it decomposes others.

    Two thirds of the time of a small program went into that; what it finds is the same.
    """
    import torch
    from torch._export.serde import serialize
    from torch._subclasses.fake_impls import op_implementations_dict as rules
    from torch.export import exported_program

    find, states = exported_program._collect_all_valid_cia_ops, {}
    override = exported_program._override_composite_implicit_decomp
    found = cache(lambda _: frozenset(find()))
    hints = cache(lambda kind: typing.get_type_hints(kind, globalns=vars(serialize.schema)))

    @contextmanager
    def overridden(kept):
        key = frozenset(kept.items())
        if key not in states:
            before = {op: op.py_kernels.copy() for op in kept}
            with override(kept):
                states[key] = before, {op: op.py_kernels.copy() for op in kept}, {op: rules[op] for op in kept}
                yield
            return
        before, meanwhile, forced = states[key]
        rules.update(forced)
        try:
            _set_kernels(meanwhile)
            yield
        finally:
            _set_kernels(before)
            for op in forced:
                del rules[op]

    exported_program._collect_all_valid_cia_ops = lambda: set(found(len(torch.ops._dir)))
    exported_program._override_composite_implicit_decomp = overridden
    serialize.typing = SimpleNamespace(**vars(typing) | {"get_type_hints": lambda kind, **_: hints(kind)})


def _set_kernels(of_operators):
    for operator, kernels in of_operators.items():
        operator.py_kernels.clear()
        operator.py_kernels.update(kernels)
        operator._dispatch_cache.clear()


reader(
    "torch-program",
    "a.pt2",
    make_torch,
    read_torch_twice,
    form="torch",
    needs=("torch", "hypothesis"),
    context=of_torch,
)


# NIR: nodes, numbers and edges, and those that the library nir reads.


def of_nir(nodes, edges, numbers_of):
    """Tell a graph by kinds, numbers and edges, graphs within it too."""
    found = {}
    for name, node in nodes.items():
        kind, held = numbers_of(node)
        inner = of_nir(*held, numbers_of) if kind == "NIRGraph" else {key: digest(a) for key, a in held.items()}
        found[name] = kind, inner
    return found, {tuple(edge) for edge in edges}


def ours_of_nir(node):
    if type(node).__name__ == "NirGraph":
        return "NIRGraph", (node.nodes, node.edges)
    held = dict(node.parameters)
    if "w_in" in held:  # the library writes one number out for all neurons
        held["w_in"] = np.ones_like(held["v_threshold"]) * held["w_in"]
    return node.kind, held


def theirs_of_nir(node):
    kind = type(node).__name__
    if kind == "NIRGraph":
        return kind, (node.nodes, node.edges)
    held = {k: v for k, v in node.to_dict().items() if isinstance(v, (int, float, tuple, list, np.ndarray))}
    return kind, {k: np.asarray(v) for k, v in held.items() if np.asarray(v).dtype.kind in "iuf"}


def read_nir_twice(path, _):
    from neuromap.formats.nir import read_nir

    mine = read_nir(path)
    if (other := by_another(_nir_of_its_library, path)) is not None:
        _same_nir(of_nir(mine.nodes, mine.edges, ours_of_nir), other)


def _nir_of_its_library(path):
    import nir

    graph = nir.read(path, type_check=False)  # shapes that do not fit are refused later, by what is built of it
    return of_nir(graph.nodes, graph.edges, theirs_of_nir)


def _same_nir(mine, other):
    assert mine[0].keys() == other[0].keys(), (list(mine[0]), list(other[0]))
    assert mine[1] == other[1], "edges"
    for name, (kind, held) in mine[0].items():
        assert kind == other[0][name][0], name
        if kind == "NIRGraph":
            _same_nir(held, other[0][name][1])
        else:
            for key, numbers in held.items():
                assert other[0][name][1].get(key, numbers) == numbers, (name, key)


reader("nir-by-nir", "a.nir", make_nir, read_nir_twice, needs=("h5py", "nir"))


# HDF5: events, counts and potentials of a trace, and what h5py reads at their places.


def read_trace_twice(path, _):
    from neuromap.simulation.trace.load_trace import load_trace

    mine = load_trace(path)
    if (other := by_another(_trace_by_h5py, path)) is not None:
        table = mine.potential_table
        held = {key: getattr(mine, key) for key in ("tick", "node", "index", "core", "neuron", "counts")}
        held["potentials"] = None if table is None else table.values
        for key, array in held.items():
            assert array is None or digest(array) == other[key], key


def _trace_by_h5py(path):
    import h5py

    with h5py.File(path) as file:
        row = file["spikes/neurons/node_ids"][:].astype(np.int64)
        found = {"tick": file["spikes/neurons/ticks"][:]}
        found |= {key: file[f"neurons/{key}"][:][row] for key in ("node", "index", "core", "neuron")}
        found["counts"] = file["counts"][:]
        found["potentials"] = file["report/potentials/data"][:]
    return {key: digest(array) for key, array in found.items()}


reader(
    "trace-by-h5py",
    "a.h5",
    lambda folder: [saved(recorded(), folder, "a.h5")],
    read_trace_twice,
    seal=seals.seal_hdf5_trace,
    needs=("h5py",),
)


# Programs: the spikes of the chip, and those of the network that the program is when it is lifted.


def read_program_lifted(path, _):
    from neuromap.hardware.program.chip_program import host_spikes
    from neuromap.simulation.run.simulate import run_events

    found = nm.load_program(path)
    if found.shape[0] * found.shape[1] > 4096 or found.period > 100 or sum(p.size for p in found.nodes) > 2**18:
        return  # a program of few cores may state a node of 2**24 neurons, and a network holds all of them
    lifted = nm.lift(found)
    n_ticks, rng = int(3 * found.period), np.random.default_rng(1)
    frames = {port.name: rng.random((5, port.size)) < 0.4 for port in found.nodes if port.kind == "input"}
    spikes, host = host_spikes(found, frames, n_ticks), found.host
    events = spikes.tick, host.core[spikes.row], host.axon[spikes.row]
    tick, core, neuron = run_events(found, *events, n_ticks, engine="numpy")
    fired = np.zeros((n_ticks, *found.shape), np.bool_)
    fired[tick, core, neuron] = True
    shown = lifted.frames(frames, n_ticks)
    values = nm.reference(nm.Rollout(lifted.network, "streaming"), shown)
    for row, (node, index) in enumerate(lifted.outputs):
        on_chip = fired[:, found.outputs.core[row], found.outputs.neuron[row]]
        assert np.array_equal(values[node][1:, index], on_chip), (row, node, index)


reader("program-by-its-network", "a.nmp", make_programs, read_program_lifted, seal=seals.seal_safetensors)
reader(
    "program-lists-by-its-network",
    "a.nmp",
    lambda folder: [saved(list_program(), folder, "a.nmp")],
    read_program_lifted,
    seal=seals.seal_safetensors,
)
