"""All that reads files and messages: a row each, with seeds that the package makes and the way in that users have.

A new reader gets a row here. ``tests/fuzz/test_fuzz.py`` does the rest.
"""

import io
import json
import lzma
import pickle
import struct
import tarfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from gzip import compress
from pathlib import Path
from typing import Any

import numpy as np
import seals

import neuromap as nm

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
CHIPS = ROOT / "hardware_models"


@dataclass(frozen=True)
class Reader:
    """One way in.

    ``make`` gives the seeds, and leaves what lies beside them in its folder; ``file`` is the mutant's name there.
    ``context`` makes once what every reading needs. ``form`` and ``seal`` are those of ``mutate.mutant``.
    """

    make: Callable[[Path], Any]
    read: Callable[[Path, Any], object]
    file: str
    context: Callable[[Path], Any] | None = None
    form: str | None = None
    seal: Callable[[bytes], bytes] | None = None
    needs: tuple[str, ...] = ()


READERS: dict[str, Reader] = {}


def reader(name, file, make, read, **more):
    READERS[name] = Reader(make, read, file, **more)


# ------------------------------------------------------------------------------------------- what seeds are made of


@cache
def network():
    draw = np.random.default_rng(0)
    edges = {(u, v): draw.integers(-1, 2, (6, 6)) for u, v in ("IH", "HH", "HO")}
    return nm.build_network({"I": ((2, 3, 1), None), "H": (6, 1), "O": (6, 1)}, edges, name="small", outputs=["O"])


def small(chip="truenorth", **figures):
    from neuromap.hardware.chip.chip_figures import with_figures

    return with_figures(nm.load_chip(chip), {"grid.cores": [4, 4], "core.axons": 32, "core.neurons": 32, **figures})


@cache
def program(execution="windowed"):
    chip = small(**{"time.delay": [1, 7]})
    return nm.map_rollout(nm.Rollout(network(), "streaming", execution=execution), chip=chip)


@cache
def list_program():
    from dataclasses import replace

    chip = replace(nm.load_chip("loihi1"), cores=(4, 4), neurons=16, name="small")
    return nm.map_rollout(nm.Rollout(network(), "streaming"), chip=chip)


@cache
def frames():
    return nm.random_frames(network(), n_frames=4, seed=1)


def recorded(**more):
    from neuromap.simulation import Recording, simulate

    return simulate(program(), frames(), engine="numpy", record=Recording("all", "outputs", counts=True), **more)


def saved(value, folder, name):
    value.save(folder / name)
    return (folder / name).read_bytes()


def text_of(path):
    """As a word of the command line: bytes that are no UTF-8 are kept in half characters."""
    return path.read_bytes().replace(b"\x00", b"").decode("utf-8", "surrogateescape")


PRELOADED = (
    "h5py", "numba", "onnx", "neuromap.cli.arguments.typed_lists", "neuromap.datasets", "neuromap.exchange.layers.take.onnx_file",
    "neuromap.exchange.nir", "neuromap.exchange.to_ranc", "neuromap.explorer.measuring.results", "neuromap.faults.fault_run",
    "neuromap.formats.ranc", "neuromap.formats.truenorth", "neuromap.hardware.load.load_program", "neuromap.mapping.map_rollout",
    "neuromap.simulation.trace.reading.load_trace", "neuromap.simulation.run.simulate", "neuromap.studio.serve.uploads",
    "neuromap.studio.stage.session", "neuromap.sweep.spec.spec_file", "neuromap.sweep.store.run_store", "neuromap.sweep.store.run_table",
    "neuromap.simulation.trace.forms.hdf5_file", "neuromap.experiments.experiment_file",
)  # fmt: skip
"""Modules that many readers use: imported once, before workers are forked off. Importing starts no thread."""


# ----------------------------------------------------------------------------------------------------- networks, chips


def make_networks(folder):
    network().save(folder / "network.toml")
    seeds = [(folder / "network.toml").read_bytes()]
    for place in (
        "structures/sr.toml",
        "structures/dsr4.toml",
        "spiking/leak.toml",
        "spiking/current.toml",
        "wide/mlp.toml",
        "imports/vit_b_16.toml",
    ):
        seeds.append((EXAMPLES / place).read_bytes())
    return seeds


def make_weights(folder):
    network().save(folder / "network.toml")
    return [(folder / "network.safetensors").read_bytes()]


def read_network(path, _):
    found = nm.load_network(path.with_name("network.toml"))
    for edge in found.edges.values():
        repr(edge)


reader("network", "network.toml", make_networks, read_network, form="toml")
reader("weights", "network.safetensors", make_weights, read_network, seal=seals.seal_safetensors)
reader("chip", "chip.toml", lambda _: [path.read_bytes() for path in sorted(CHIPS.glob("*.toml"))],
       lambda path, _: nm.load_chip(path), form="toml")  # fmt: skip


def read_defects(path, chip):
    from neuromap.hardware.chip.defects_file import load_defects

    chip.with_defects(load_defects(path))


DEFECTS = b"format = 1\ncores = [[0, 1], [2, 2]]\nrouters = [[3, 3]]\nlinks = [[0, 0, 1, 0], [1, 2, 1, 1]]\n"
reader("defects", "defects.toml", lambda _: [DEFECTS], read_defects, form="toml", context=lambda _: small())


def read_pins(path, net):
    from neuromap.mapping.asked.pins_file import check_pins, load_pins

    check_pins(load_pins(path), net, small())


PINS = (
    b'format = 1\nsplitters = ["H -> H", "H->O"]\n[tiles]\nH = [1, 1, 3]\n[cores]\nO = 1\n[regions]\nH = [0, 0, 3, 3]\n'
)
reader("pins", "pins.toml", lambda _: [PINS], read_pins, form="toml", context=lambda _: network())


def make_sweeps(folder):
    network().save(folder / "small.toml")
    return [
        b'format = 1\ntitle = "t"\nnetworks = ["small.toml"]\npatterns = ["streaming", "H -> H, H -> O"]\n'
        b'executions = ["windowed", "pipelined"]\nseeds = {first = 5, count = 2}\nchips = ["truenorth", "loihi1"]\n[set]\n'
        b'core.axons = [4, 256]\n[stimulus]\nframes = 3\ndensity = 0.5\n[mapping]\nplacer = "row-major"\n'
        b'[simulation]\nengine = "numpy"\n',
        b'format = 1\nnetworks = ["small.toml"]\n',
    ]


def read_sweep(path, _):
    from neuromap.sweep.spec.spec_file import load_sweep

    repr(load_sweep(path))


reader("sweep", "spec.toml", make_sweeps, read_sweep, form="toml")


def make_experiments(folder):
    real = EXAMPLES / "digits" / "real"
    for path in real.glob("*.toml"):
        (folder / path.name).write_bytes(path.read_bytes())
    return [(real / "experiment.toml").read_bytes()]


def read_experiment(path, _):
    from neuromap.experiments.experiment_file import load_experiment

    repr(load_experiment(path))


reader("experiment", "own.toml", make_experiments, read_experiment, form="toml")


# ---------------------------------------------------------------------------------------- programs, traces, checkpoints


def make_programs(folder):
    return [saved(program(), folder, "a.nmp"), saved(program("pipelined"), folder, "b.nmp")]


def read_program(path, _):
    found = nm.load_program(path)
    repr(found)


def read_mapped_program(path, _):
    from neuromap.hardware.load.load_program import map_program

    map_program(path, check=True)


reader("program", "a.nmp", make_programs, read_program, seal=seals.seal_safetensors)
reader(
    "program-lists",
    "a.nmp",
    lambda folder: [saved(list_program(), folder, "a.nmp")],
    read_program,
    seal=seals.seal_safetensors,
)
reader("program-mapped", "a.nmp", make_programs, read_mapped_program, seal=seals.seal_safetensors)


def run_program(path, _):
    """A program that was read runs: without a crash of the compiled kernel, too."""
    from neuromap.simulation import simulate

    found = nm.load_program(path)
    if found.shape[0] * found.shape[1] <= 4096 and found.period < 10_000:
        shown = {port.name: np.ones((2, port.size), bool) for port in found.nodes if port.kind == "input"}
        if sum(rows.size for rows in shown.values()) < 10_000:
            simulate(found, shown, engine="fast", threads=1)


reader("program-run", "a.nmp", make_programs, run_program, seal=seals.seal_safetensors)


def make_traces(folder):
    return [saved(recorded(), folder, "a.safetensors")]


def read_trace(path, _):
    from neuromap.simulation.trace.reading.load_trace import load_trace

    found = load_trace(path)
    repr(found)


reader("trace", "a.safetensors", make_traces, read_trace, seal=seals.seal_safetensors)
reader(
    "trace-hdf5",
    "a.h5",
    lambda folder: [saved(recorded(), folder, "a.h5")],
    read_trace,
    seal=seals.seal_hdf5_trace,
    needs=("h5py",),
)


def make_checkpoints(folder):
    from neuromap.simulation import Checkpoints

    recorded(checkpoints=Checkpoints(folder / "state", 3))
    return [(folder / "state").read_bytes()]


def make_parts(folder):
    make_checkpoints(folder)
    return [path.read_bytes() for path in sorted(folder.glob("state.part*"))[:1]]


def go_on(path, _):
    from neuromap.simulation import Checkpoints

    recorded(checkpoints=Checkpoints(resume=path.with_name("state")))


def go_on_fast(path, _):
    from neuromap.simulation import Checkpoints, Recording, simulate

    record = Recording("all", "outputs", counts=True)
    simulate(program(), frames(), engine="fast", threads=1, record=record, checkpoints=Checkpoints(resume=path))


reader("checkpoint", "state", make_checkpoints, go_on, seal=seals.seal_safetensors)
reader("checkpoint-fast", "state", make_checkpoints, go_on_fast, seal=seals.seal_safetensors)
reader("checkpoint-part", "state.part000001", make_parts, go_on, seal=seals.seal_safetensors)


def training(_):
    import torch

    from neuromap.network.edge import Edge
    from neuromap.network.network import Network
    from neuromap.network.node import Node
    from neuromap.network.transforms.kinds import Dense
    from neuromap.training.asked.training_options import TrainingOptions
    from neuromap.training.loop.optimisers import make_optimiser
    from neuromap.training.model.rollout_model import RolloutModel

    torch.set_num_threads(1)
    nodes = {"I": Node("I", (2, 2, 1)), "O": Node("O", (1, 1, 3))}
    edges = {("I", "O"): Edge("I", "O", Dense(source_shape=(2, 2, 1), target_shape=(1, 1, 3)))}
    net = Network("real", nodes, edges, ("O",), tables={"training": {"nodes": {"O": {"activation": "linear"}}}})
    options = TrainingOptions(epochs=3, batch=2, frames=2, optimiser="adam", threads=1)
    model = RolloutModel(net, 0)
    return model, make_optimiser((p for _, p in model.tensors()), options), options


def make_trainings(folder):
    import torch

    from neuromap.training.loop.checkpoint import Progress, save_checkpoint

    model, optimiser, options = training(folder)
    sum((p**2).sum() for _, p in model.tensors()).backward()
    optimiser.step()
    del torch
    done = Progress(1, [{"epoch": 1, "loss": 0.5, "seconds": 1.5, "accuracy": [0.25, 0.5]}])
    path = folder / "a.safetensors"
    save_checkpoint(path, model, optimiser, done, options, {"data": "x"})
    return [path.read_bytes()]


def read_training(path, context):
    from neuromap.training.loop.checkpoint import load_checkpoint
    from neuromap.training.loop.checkpoint_header import epochs_done

    epochs_done(path)
    model, optimiser, options = context
    load_checkpoint(path, model, optimiser, options, {"data": "x"})


reader(
    "training-checkpoint",
    "a.safetensors",
    make_trainings,
    read_training,
    context=training,
    seal=seals.seal_safetensors,
    needs=("torch",),
)


# ---------------------------------------------------------------------------------------------------------------- input


def make_frames(folder):
    from neuromap.simulation.stimulus.stimulus import save_frames

    save_frames(folder / "a.safetensors", frames())
    return [(folder / "a.safetensors").read_bytes()]


def make_npz(folder):
    seeds = []
    for save in (np.savez, np.savez_compressed):
        stream = io.BytesIO()
        save(stream, **frames())
        seeds.append(stream.getvalue())
    return seeds


def read_frames(path, net):
    from neuromap.simulation.stimulus.stimulus import load_frames

    load_frames(path)
    load_frames(path, net)


reader("frames", "a.safetensors", make_frames, read_frames, context=lambda _: network())
reader("frames-npz", "a.npz", make_npz, read_frames, context=lambda _: network())


# -------------------------------------------------------------------------------------------------------------- results


def make_stores(folder):
    from neuromap.sweep.spec.sweep_run import RunOutcome, SweepRun
    from neuromap.sweep.store.run_store import RunStore

    path = folder / "a.sqlite"
    runs = [SweepRun(f"key {k}", "net", "d", "streaming", "windowed", "chip", "{}", k, 3, None, "{}") for k in range(3)]
    with RunStore(path) as store:
        store.plan(runs)
        store.add([(runs[0].key, RunOutcome("mapped", figures={"cores": 2, "mean_hops": 0.5, "verified": True}))])
        store.keep(runs[1], RunOutcome("does not fit", "map", 3, "node O: too wide"), "{}")
    return [path.read_bytes()]


def read_store(path, _):
    from neuromap.sweep.store.run_store import RunStore
    from neuromap.sweep.store.run_table import load_runs

    for beside in path.parent.glob("a.sqlite-*"):
        beside.unlink()
    table = load_runs(path)
    for tell in (table.to_json, table.to_csv, table.to_text):
        tell()
    with RunStore(path) as store:
        store.done()
        store.record("key 1")


reader("store", "a.sqlite", make_stores, read_store)


def make_fault_results(folder):
    from neuromap.faults.fault_run import RESULTS, FaultRun
    from neuromap.jobs.results_file import ResultsFile

    kept = ResultsFile(folder / "a.jsonl", RESULTS)
    for k in range(2):
        kept.add(f"key {k}", FaultRun("streaming", "windowed", "dead-cores", 0.5, k, 1, 2, 10, 1, 1, 3, None, 0))
    return [(folder / "a.jsonl").read_bytes()]


def read_fault_results(path, _):
    from neuromap.faults.fault_run import RESULTS
    from neuromap.jobs.results_file import ResultsFile

    kept = ResultsFile(path, RESULTS)
    for k in range(2):
        found = kept.get(f"key {k}")
        repr(found)


def make_curves(folder):
    from neuromap.experiments.curve_job import CurveResult
    from neuromap.experiments.experiment_run import _RESULTS
    from neuromap.jobs.results_file import ResultsFile

    kept = ResultsFile(folder / "a.jsonl", _RESULTS)
    kept.add("k", CurveResult("a", 0, 3, 0.5, 10, (0.1, 0.2), ((0.1,), (0.2,)), (1, 2)))
    return [(folder / "a.jsonl").read_bytes()]


def read_curves(path, _):
    from neuromap.experiments.experiment_run import _RESULTS
    from neuromap.jobs.results_file import ResultsFile

    ResultsFile(path, _RESULTS).get("k")


reader("fault-results", "a.jsonl", make_fault_results, read_fault_results, form="json lines", seal=seals.seal_lines)
reader(
    "experiment-results",
    "a.jsonl",
    make_curves,
    read_curves,
    form="json lines",
    seal=seals.seal_lines,
    needs=("torch",),
)


def make_records(_):
    from fractions import Fraction

    from neuromap.explorer.measuring.measured import Measured
    from neuromap.explorer.measuring.results import record_of

    mapped = Measured("mapped", "", "ticks", Fraction(3, 2), 3, 4, 5, True, 2, 1e-9, None, True)
    return [record_of("k", found).encode() for found in (mapped, Measured("does not fit", "node O: too wide"))]


def read_record(path, _):
    from neuromap.explorer.measuring.results import measured_of

    measured_of("k", text_of(path))


reader("exploration-record", "record", make_records, read_record, form="json", seal=seals.seal_record)


# ----------------------------------------------------------------------------------------------------- foreign networks


def read_nir(path, _):
    from neuromap.exchange.nir import from_nir

    from_nir(path)


def make_nir(folder):
    from neuromap.exchange.nir import to_nir

    to_nir(nm.load_network(EXAMPLES / "spiking" / "leak.toml"), folder / "own.nir")
    return [
        (folder / "own.nir").read_bytes(),
        *((EXAMPLES / "nir" / f"{tool}.nir").read_bytes() for tool in ("norse", "rockpool", "snntorch", "written")),
    ]


reader("nir", "a.nir", make_nir, read_nir, needs=("h5py", "nir"))


def make_onnx(_):
    from onnx import TensorProto, helper, numpy_helper

    def stored(name, array):
        return numpy_helper.from_array(np.asarray(array), name)

    def model(nodes, kept, shape):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, list(shape))
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        graph = helper.make_graph(nodes, "g", [x], [y], kept)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString()

    node = helper.make_node
    convolved = model(
        [
            node("Conv", ["x", "w"], ["a"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2], name="conv"),
            node("BatchNormalization", ["a", "n", "n", "n", "n"], ["b"], epsilon=1e-5),
            node("Relu", ["b"], ["c"]),
            node("MaxPool", ["c"], ["d"], kernel_shape=[2, 2], strides=[2, 2]),
            node("Flatten", ["d"], ["e"]),
            node("Gemm", ["e", "v"], ["y"], transB=1),
        ],
        [stored("w", np.ones((4, 2, 3, 3), np.float32)), stored("n", np.ones(4, np.float32)), stored("v", np.ones((3, 16), np.float32))],
        ("N", 2, 8, 8),
    )  # fmt: skip
    shaped = model(
        [
            node("Shape", ["x"], ["s"]),
            node("Gather", ["s", "zero"], ["n"], axis=0),
            node("Concat", ["n", "minus"], ["t"], axis=0),
            node("Reshape", ["x", "t"], ["r"]),
            node("MatMul", ["r", "m"], ["p"]),
            node("Add", ["p", "bias"], ["q"]),
            node("Greater", ["q", "half"], ["g"]),
            node("Cast", ["g"], ["y"], to=1),
        ],
        [stored("zero", np.array([0])), stored("minus", np.array([-1])), stored("m", np.ones((12, 5), np.float32)),
         stored("bias", np.ones(5, np.float32)), stored("half", np.float32(0.5))],
        (1, 3, 4),
    )  # fmt: skip
    return [convolved, shaped]


reader("onnx", "a.onnx", make_onnx, lambda path, _: nm.from_onnx(path), form="protobuf", needs=("onnx",))


# ----------------------------------------------------------------------------------------------------- foreign programs


def exported_ranc(folder):
    from neuromap.exchange.to_ranc import export_ranc

    for name, content in export_ranc(program(), frames=frames()).contents.items():
        (folder / name).write_text(content)


def ranc_seeds(name):
    def make(folder):
        exported_ranc(folder)
        return [(folder / name).read_bytes()]

    return make


def read_ranc_json(path, _):
    from neuromap.formats.ranc import read_json

    read_json(path.with_name("config.json"), path.with_name("input.json"))


reader("ranc-config", "config.json", ranc_seeds("config.json"), read_ranc_json)
reader("ranc-input", "input.json", ranc_seeds("input.json"), read_ranc_json)


def vectors(name):
    def make(folder):
        from neuromap.exchange.to_ranc import export_ranc_vectors

        found = export_ranc_vectors(ranc_program(), frames=frames())
        for file, content in found.contents.items():
            (folder / file).write_text(content)
        return [(folder / name).read_bytes()]

    return make


@cache
def ranc_program():
    return nm.map_rollout(nm.Rollout(network(), "streaming"), chip=nm.load_chip("ranc"))


def read_vectors(path, _):
    from neuromap.formats.ranc import read_vectors

    read_vectors(path.parent, columns=2, output_bus=(1, 0))


for _file in (
    "csram_000.mem",
    "tc_000.mem",
    "tb_input.txt",
    "tb_num_inputs.txt",
    "tb_correct.txt",
    "tb_num_outputs.txt",
):
    reader(f"ranc-{_file.split('.')[0].replace('_', '-')}", _file, vectors(_file), read_vectors)


def make_truenorth(_):
    kind = {
        "name": "N00000001", "class": "NeuronGeneral", "sigma0": 1, "sigma1": -1, "sigma2": 1, "sigma3": 1, "s0": 1, "s1": 1, "s2": 0,
        "s3": 0, "b0": False, "b1": False, "b2": False, "b3": False, "sigma_lambda": -1, "lambda": 0, "c_lambda": False, "epsilon": True,
        "alpha": 1, "beta": 0, "TM": 0, "gamma": 1, "kappa": False, "sigma_VR": 1, "VR": 0, "V": 0,
    }  # fmt: skip
    bits = np.packbits(np.eye(256, dtype=np.uint8), axis=1)
    rows = [{"type": f"S{k % 4}", "synapses": row.tobytes().hex(" ").upper()} for k, row in enumerate(bits)]
    neurons = {"dendrites": ["0:255"], "types": ["1x250", 0, "1x5"], "destAxons": ["255:-1:0"], "destDelays": ["1x256"]}
    cores = [
        {"id": k, "timeScaleExponent": 0, "neurons": {**neurons, "destCores": [to]}, "crossbar": {"name": "c1"}}
        for k, to in ((7, "70x256"), (70, "-32x256"))
    ]
    parts = [
        ("model", {"neuronclass": "NeuronGeneral", "crossbarclass": "CrossbarBinary", "crossbarSize": 256}),
        ("neuronTypes", [kind]), ("core", cores[0]), ("core", cores[1]), ("crossbarTypes", [{"name": "c1", "crossbar": {"rows": rows}}]),
    ]  # fmt: skip
    body = ",\n/* of it */\n".join(f'"{key}": {json.dumps(value)}' for key, value in parts)
    once = json.dumps(dict(parts))  # a tree that can be changed as one
    return [("{\n/* General */\n" + body + "}\n").encode(), once.encode()]


def read_truenorth(path, _):
    from neuromap.formats.truenorth import read_model

    read_model(path)


reader("truenorth", "model.json", make_truenorth, read_truenorth)


# --------------------------------------------------------------------------------------------------------------- images


def idx(array):
    return struct.pack(f">{1 + array.ndim}I", 0x800 + array.ndim, *array.shape) + array.tobytes()


def mnist(name, pack=bytes):
    def make(folder):
        images = np.arange(6 * 28 * 28, dtype=np.int64).astype(np.uint8).reshape(6, 28, 28)
        files = {"train-images-idx3-ubyte": idx(images), "train-labels-idx1-ubyte": idx(np.arange(6, dtype=np.uint8))}
        for file, data in files.items():
            if not name.startswith(file):
                (folder / file).write_bytes(data)
        return [pack(files[name.removesuffix(".gz")])]

    return make


def images_of(scheme):
    def read(path, _):
        from neuromap.datasets import load_images

        load_images(f"{scheme}:{path}", "train")

    return read


def images_beside(scheme, up=0):
    def read(path, _):
        from neuromap.datasets import load_images

        place = path.parents[up]
        load_images(f"{scheme}:{place}", "train")

    return read


reader("mnist-images", "train-images-idx3-ubyte", mnist("train-images-idx3-ubyte"), images_beside("mnist"))
reader("mnist-labels", "train-labels-idx1-ubyte", mnist("train-labels-idx1-ubyte"), images_beside("mnist"))
reader("mnist-images-gz", "train-images-idx3-ubyte.gz", mnist("train-images-idx3-ubyte.gz", lambda d: compress(d, mtime=0)),
       images_beside("mnist"))  # fmt: skip


def batch(k, protocol=2):
    pixels = np.full((2, 3072), k, np.uint8)
    return pickle.dumps({b"data": pixels, b"labels": [k, 1], b"batch_label": b"a"}, protocol)


def binary_batch(k):
    return (bytes([k]) + bytes(3072)) * 2


def picture(kind, size=(32, 32), colour=(9, 200, 30)):
    from PIL import Image

    stream = io.BytesIO()
    Image.new("RGB", size, colour).save(stream, kind)
    return stream.getvalue()


def zipped(members, method=zipfile.ZIP_DEFLATED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return stream.getvalue()


def tarred(members):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tape:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tape.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def cifar_members():
    python = {f"cifar-10-batches-py/data_batch_{k}": batch(k, 2 if k < 3 else 4) for k in range(1, 6)}
    binary = {f"cifar-10-batches-bin/data_batch_{k}.bin": binary_batch(k) for k in range(1, 6)}
    pictures = {f"train/{name}/{k}.{end}": picture(kind) for k, (name, end, kind) in enumerate(
        [("cat", "png", "PNG"), ("dog", "jpg", "JPEG"), ("cat", "ppm", "PPM"), ("dog", "png", "PNG"), ("cat", "png", "PNG")])}  # fmt: skip
    return python, binary, pictures


def gtsrb_members():
    members = {}
    for c, tracks in ((0, 8), (1, 4)):
        place = f"GTSRB/Final_Training/Images/{c:05d}"
        lines = ["Filename;Width;Height;Roi.X1;Roi.Y1;Roi.X2;Roi.Y2;ClassId"]
        for t in range(tracks):
            for k in range(2):
                members[f"{place}/{t:05d}_{k:05d}.ppm"] = picture("PPM", (12 + k, 10 + t))
                lines.append(f"{t:05d}_{k:05d}.ppm;{12 + k};{10 + t};5;5;9;9;{c}")
        members[f"{place}/GT-{c:05d}.csv"] = "\r\n".join([*lines, ""]).encode()
    return members


def cifar_tars(_):
    python, binary, pictures = map(tarred, cifar_members())
    return [compress(python, 1, mtime=0), binary, lzma.compress(pictures, preset=0)]


def beside(members, name):
    """The members in a folder; the one of this name is mutated."""

    def make(folder):
        found = members()
        for place, data in found.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_bytes(data)
        return [found[name]]

    return make


IMAGES = ("PIL",)
reader(
    "cifar-zip", "c.zip", lambda _: [zipped(members) for members in cifar_members()], images_of("cifar10"), needs=IMAGES
)
reader("cifar-tar", "c.tar", cifar_tars, images_of("cifar10"), needs=IMAGES)
_PICKLE = "cifar-10-batches-py/data_batch_1"
reader("cifar-pickle", _PICKLE, beside(lambda: cifar_members()[0], _PICKLE), images_beside("cifar10"), needs=IMAGES)
_PICTURE = "train/cat/0.png"
reader("cifar-png", _PICTURE, beside(lambda: cifar_members()[2], _PICTURE), images_beside("cifar10", 2), needs=IMAGES)
_JPEG = "train/dog/1.jpg"
reader("cifar-jpeg", _JPEG, beside(lambda: cifar_members()[2], _JPEG), images_beside("cifar10", 2), needs=IMAGES)
reader("gtsrb-zip", "g.zip", lambda _: [zipped(gtsrb_members())], images_of("gtsrb"), needs=IMAGES)
reader("gtsrb-tar", "g.tar", lambda _: [tarred(gtsrb_members())], images_of("gtsrb"), needs=IMAGES)
_LIST = "GTSRB/Final_Training/Images/00000/GT-00000.csv"
reader("gtsrb-list", _LIST, beside(gtsrb_members, _LIST), images_beside("gtsrb", 4), needs=IMAGES)
_PPM = "GTSRB/Final_Training/Images/00000/00000_00000.ppm"
reader("gtsrb-picture", _PPM, beside(gtsrb_members, _PPM), images_beside("gtsrb", 4), needs=IMAGES)


# --------------------------------------------------------------------------------------------------------------- studio


@cache
def scene():
    from neuromap.faults.edits.edit import SilentCore, ThresholdEdit, WeightEdit
    from neuromap.studio.scene.scene import Change, Scene, SceneRun
    from neuromap.studio.scene.shown import Shown

    runs = tuple(SceneRun(nm.RolloutPattern.named(network(), n), "windowed") for n in ("streaming", "sequential"))
    shown = Shown("picture", {"I": np.full((2, 3, 1), 200, np.uint8)}, noise=0.1, seed=5, label="drawn")
    edits = (ThresholdEdit("H", 1), WeightEdit("I", 1, "H", 2, 1), SilentCore(0))
    changes = (Change(0, shown=shown), Change(2, run=0, edits=edits))
    return Scene(network(), small(), runs, changes=changes, ticks=4, checksums=(1, 2), stimulus=frames())


def make_scenes(_):
    from neuromap.studio.scene.scene_file import scene_bytes

    plain = replace(scene(), changes=(), ticks=0, checksums=(), stimulus=None)
    return [scene_bytes(scene()), scene_bytes(plain)]


def unmapped_session(_):
    """A session that takes what is sent and maps nothing: that is no reading."""
    from neuromap.studio.stage.session import Session

    class Unmapped(Session):
        def map(self):
            pass

    return Unmapped("one", scene())


def upload(kind):
    def read(path, session):
        from neuromap.studio.serve.uploads import take_upload

        try:
            take_upload(session, kind, path.read_bytes())
        finally:
            session.set_scene(scene())

    return read


def make_network_uploads(folder):
    import base64

    network().save(folder / "network.toml")
    text, weights = ((folder / f"network.{end}").read_bytes() for end in ("toml", "safetensors"))
    plain = (EXAMPLES / "structures" / "sr.toml").read_text()
    return [
        json.dumps({"toml": text.decode(), "weights": base64.b64encode(weights).decode()}).encode(),
        json.dumps({"toml": plain}).encode(),
    ]


reader("studio-scene", "scene.json", make_scenes, upload("scene"), context=unmapped_session)
reader("studio-network", "upload", make_network_uploads, upload("network"), context=unmapped_session)
reader(
    "studio-stimulus",
    "upload",
    lambda folder: [*make_frames(folder), *make_npz(folder)],
    upload("stimulus"),
    context=unmapped_session,
)


def make_messages(_):
    edits = [
        {"kind": "threshold", "node": "H", "index": 2, "by": 1}, {"kind": "weight", "source": "I", "source_index": 1, "target": "H", "target_index": 2, "weight": 1},
        {"kind": "silent-core", "core": 0},
    ]  # fmt: skip
    commands = [
        {"do": "tick"}, {"do": "speed", "value": 10}, {"do": "toggle", "run": 0, "source": "I", "target": "H"},
        {"do": "pattern", "run": 0, "value": "sequential"}, {"do": "execution", "run": 0, "value": "pipelined"}, {"do": "second", "value": True},
        {"do": "draw", "node": "I", "pixels": [0, 255, 3, 4, 5, 6]}, {"do": "noise", "value": 0.5}, {"do": "random", "value": 0.25},
        {"do": "chip", "value": "truenorth"},
        {"do": "clear"}, {"do": "stimulus"}, {"do": "frame"}, {"do": "restart"}, *({"do": "edit", "run": 0, "edit": e} for e in edits),
    ]  # fmt: skip
    return [json.dumps(command).encode() for command in commands]


def mapped_session(_):
    """Gives a session in which a network runs, as at its beginning; a new one only where another scene is on stage."""
    from neuromap.studio.scene.shown import Shown
    from neuromap.studio.stage.session import Session

    plain, sessions = replace(scene(), runs=scene().runs[:1], changes=(), ticks=0, checksums=()), []

    def begun():
        if sessions and not sessions[-1].stage.runs[0].edits and sessions[-1].stage.scene.runs == plain.runs:
            session = sessions[-1]
            session.pause()
            session.stage.restart()
            session.stage.show(Shown())
        else:
            for session in sessions:
                session.close()
            sessions[:] = [Session("one", plain)]
            wait_for(sessions[-1])
            act_on(sessions[-1], {"do": "edit", "run": 0, "edit": {"kind": "silent-core", "core": 0}})
            act_on(sessions[-1], {"do": "undo", "run": 0, "value": 0})
        return sessions[-1]

    return begun


def wait_for(session):
    until = time.monotonic() + 300
    while session.is_mapping and time.monotonic() < until:
        time.sleep(0.002)


def act_on(session, values):
    from neuromap.studio.scene.document import Document
    from neuromap.studio.stage.commands import act

    act(session, Document(values, "command"))
    wait_for(session)
    if "internal error" in session.line:
        raise AssertionError(session.line)


def read_message(path, begun):
    from neuromap.studio.scene.document import parse_json

    act_on(begun(), parse_json(path.read_bytes(), "command", 2**20))


reader("studio-message", "message", make_messages, read_message, context=mapped_session, form="json")


# ---------------------------------------------------------------------------------------------------- words of commands


def lines_of(*texts):
    return lambda _: [text.encode() for text in texts]


def read_pattern(path, net):
    from neuromap.cli.arguments.typed_patterns import read_pattern, split_patterns

    text = text_of(path)
    every(
        lambda: [repr(read_pattern(net, part)) for part in split_patterns([text])],
        lambda: nm.RolloutPattern.named(net, text),
    )


def read_execution(path, net):
    from neuromap.cli.arguments.typed_lists import split_executions

    for word in split_executions([text_of(path)]):
        nm.Rollout(net, "streaming", execution=word)


def read_limits(path, _):
    from neuromap.explorer.answer.limits import Limits

    str(Limits.parse(text_of(path)))


def read_figures(path, chip):
    from neuromap.cli.arguments.chip_figures import one_value_each, read_figures
    from neuromap.hardware.chip.chip_figures import with_figures

    with_figures(chip, one_value_each(read_figures([text_of(path)])))


def every(*takes):
    """Read in several ways; refused is what none of them takes."""
    from neuromap.errors import NeuromapError

    refusals = []
    for take in takes:
        try:
            take()
        except NeuromapError as error:
            refusals.append(error)
            check_message(error)
    if len(refusals) == len(takes):
        raise refusals[-1]


def check_message(error):
    text = str(error)
    if len(text.splitlines()) != 1 or len(text) > 2_000:
        raise error
    text.encode()


def read_lists(path, _):
    from neuromap.cli.arguments import typed_lists
    from neuromap.simulation import Recording

    text = text_of(path)
    every(
        lambda: typed_lists.split_ticks([text]),
        lambda: typed_lists.split_rates([text], "--rates"),
        lambda: typed_lists.split_wide([text]),
        lambda: typed_lists.split_words([text], "--record"),
        lambda: typed_lists.split_names([text], "--kind", ["streaming", "dead-cores"]),
        lambda: Recording(text),
    )


def read_strategies(path, _):
    from neuromap.mapping.asked.options import MappingOptions

    text = text_of(path)
    every(
        *(
            lambda name=name: MappingOptions(**{name: text})
            for name in ("placer", "splitters", "ticks_per_step", "wide")
        )
    )


reader("pattern", "text", lines_of("streaming", "sequential", "H -> H", "H -> H, H -> O", "streaming,sequential"), read_pattern,
       context=lambda _: network())  # fmt: skip
reader(
    "execution",
    "text",
    lines_of("windowed", "pipelined", "windowed,pipelined"),
    read_execution,
    context=lambda _: network(),
)
reader("limits", "text", lines_of("cores <= 200, full response <= 5 ms, sampling frequency >= 300 Hz", "energy <= 3 µJ", "accuracy at deadline >= 90 %"),
       read_limits)  # fmt: skip
reader("chip-figures", "text", lines_of("core.axons=512", "grid.cores=[4, 4]", "time.delay=[1, 7]", "neuron.signed_threshold=true"), read_figures,
       context=lambda _: nm.load_chip("truenorth"))  # fmt: skip
reader("typed-lists", "text", lines_of("1,2,3", "0.1, 0.5", "auto,2", "streaming", "node:H", "core:0-3"), read_lists)
reader("strategies", "text", lines_of("row-major", "slack", "never"), read_strategies)
