"""Readers of the package's own files: networks, chips, programs, traces, checkpoints, input, results."""

import io
from dataclasses import replace

import numpy as np
import seals
from one_reader import (
    CHIPS,
    EXAMPLES,
    frames,
    graded_program,
    list_program,
    network,
    program,
    reader,
    recorded,
    saved,
    small,
    text_of,
)

import neuromap as nm

# ---------------------------------------------------------------------------------------------------- networks, chips


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
reader(
    "chip",
    "chip.toml",
    lambda _: [path.read_bytes() for path in sorted(CHIPS.glob("*.toml"))],
    lambda path, _: nm.load_chip(path),
    form="toml",
)


def read_defects(path, chip):
    from neuromap.hardware.chip.chip_document import load_defects

    chip.with_defects(load_defects(path))


DEFECTS = b"format = 1\ncores = [[0, 1], [2, 2]]\nrouters = [[3, 3]]\nlinks = [[0, 0, 1, 0], [1, 2, 1, 1]]\n"
reader("defects", "defects.toml", lambda _: [DEFECTS], read_defects, form="toml", context=lambda _: small())


def read_pins(path, net):
    from neuromap.mapping.options.pins_file import check_pins, load_pins

    check_pins(load_pins(path), net, small())


PINS = (
    b'format = 1\nsplitters = ["H -> H", "H->O"]\n[tiles]\nH = [1, 1, 3]\n[cores]\nO = 1\n[regions]\nH = [0, 0, 3, 3]\n'
)
reader("pins", "pins.toml", lambda _: [PINS], read_pins, form="toml", context=lambda _: network())


def make_sweeps(folder):
    network().save(folder / "small.toml")
    return [
        b'format = 1\ntitle = "t"\nnetworks = ["small.toml"]\npatterns = ["streaming", "H -> H, H -> O"]\n'
        b'executions = ["windowed", "pipelined"]\nseeds = {first = 5, count = 2}\nchips = ["truenorth", "loihi1"]\n'
        b"[set]\n"
        b'core.axons = [4, 256]\n[stimulus]\nframes = 3\ndensity = 0.5\n[mapping]\nplacer = "row-major"\n'
        b'[simulation]\nengine = "numpy"\n',
        b'format = 1\nnetworks = ["small.toml"]\n',
    ]


def read_sweep(path, _):
    from neuromap.sweep.sweep_spec import load_sweep

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


# -------------------------------------------------------------------------------------- programs, traces, checkpoints


def make_programs(folder):
    return [saved(program(), folder, "a.nmp"), saved(program("pipelined"), folder, "b.nmp")]


def read_program(path, _):
    found = nm.load_program(path)
    repr(found)


def read_mapped_program(path, _):
    from neuromap.hardware.program_file import map_program

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
    from neuromap.simulation.run.tick_run import ticks_to_run

    found = nm.load_program(path)
    if found.shape[0] * found.shape[1] <= 4096:
        shown = {port.name: np.ones((2, port.size), bool) for port in found.nodes if port.kind == "input"}
        # an output may be sampled after 16 million ticks: a long run, no fault
        if sum(rows.size for rows in shown.values()) < 10_000 and ticks_to_run(found, 2) < 20_000:
            simulate(found, shown, engine="fast", threads=1)


reader("program-run", "a.nmp", make_programs, run_program, seal=seals.seal_safetensors)


def run_graded_program(path, _):
    """A program of graded cores runs in both engines, which send the same."""
    from neuromap.cores.graded.program import GradedProgram
    from neuromap.simulation.engine.engine import HostEvents, make_engine
    from neuromap.simulation.engine.engine_choice import EngineChoice

    found = nm.load_program(path)
    if not isinstance(found, GradedProgram) or found.shape[0] * found.shape[1] > 4096:
        return
    engines = [make_engine(found, EngineChoice(name, 1)) for name in ("numpy", "fast")]
    rows = np.unique(np.stack([found.host.core, found.host.axon]), axis=1)
    low, high = (bound[found.synapses.axons[rows[0]] + rows[1]] for bound in found.axon_ranges())
    values = np.where(high > 0, high, low).astype(np.int32)
    events = HostEvents(np.append(0, np.full(6, len(values))), *rows[:, values != 0], values[values != 0])
    events = replace(events, start=np.minimum(events.start, len(events.cores)))
    sent = [engine.run(events) for engine in engines]
    assert all((one == other).all() for one, other in zip(*sent, strict=True))
    assert engines[0].totals == engines[1].totals


reader(
    "program-graded",
    "a.nmp",
    lambda folder: [saved(graded_program(), folder, "a.nmp")],
    run_graded_program,
    seal=seals.seal_safetensors,
)


def make_traces(folder):
    return [saved(recorded(), folder, "a.safetensors")]


def read_trace(path, _):
    from neuromap.simulation.trace.load_trace import load_trace

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


reader(
    "trace-values",
    "a.safetensors",
    lambda folder: [saved(recorded(graded_program()), folder, "a.safetensors")],
    read_trace,
    seal=seals.seal_safetensors,
)


def make_graded_checkpoints(folder):
    from neuromap.simulation import Checkpoints

    recorded(graded_program(), checkpoints=Checkpoints(folder / "state", 3))
    return [(folder / "state").read_bytes()]


def go_on_graded(path, _):
    """Both engines go on alike from what they do not refuse."""
    from neuromap.simulation import Checkpoints

    found = [
        recorded(graded_program(), checkpoints=Checkpoints(resume=path), engine=engine) for engine in ("numpy", "fast")
    ]
    if found[0].value.tolist() != found[1].value.tolist():
        raise AssertionError("engines differ")


reader("checkpoint-values", "state", make_graded_checkpoints, go_on_graded, seal=seals.seal_safetensors)


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
    from neuromap.network.transforms import Dense
    from neuromap.training.options.training_options import TrainingOptions
    from neuromap.training.torch.rollout_model import RolloutModel
    from neuromap.training.torch.train import make_optimiser

    torch.set_num_threads(1)
    nodes = {"I": Node("I", (2, 2, 1)), "O": Node("O", (1, 1, 3))}
    edges = {("I", "O"): Edge("I", "O", Dense(source_shape=(2, 2, 1), target_shape=(1, 1, 3)))}
    net = Network("real", nodes, edges, ("O",), tables={"training": {"nodes": {"O": {"activation": "linear"}}}})
    options = TrainingOptions(epochs=3, batch=2, frames=2, optimiser="adam", threads=1)
    model = RolloutModel(net, 0)
    return model, make_optimiser((p for _, p in model.tensors()), options), options


def make_trainings(folder):
    import torch

    from neuromap.training.torch.train import Progress, save_checkpoint

    model, optimiser, options = training(folder)
    sum((p**2).sum() for _, p in model.tensors()).backward()
    optimiser.step()
    del torch
    done = Progress(1, [{"epoch": 1, "loss": 0.5, "seconds": 1.5, "accuracy": [0.25, 0.5]}])
    path = folder / "a.safetensors"
    save_checkpoint(path, model, optimiser, done, options, {"data": "x"})
    return [path.read_bytes()]


def read_training(path, context):
    from neuromap.experiments.experiment_run import epochs_done
    from neuromap.training.torch.train import load_checkpoint

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
    loads=("torch._dynamo",),
)


# -------------------------------------------------------------------------------------------------------------- input


def make_frames(folder):
    from neuromap.simulation.stimulus import save_frames

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
    from neuromap.simulation.stimulus import load_frames

    load_frames(path)
    load_frames(path, net)


reader("frames", "a.safetensors", make_frames, read_frames, context=lambda _: network())
reader("frames-npz", "a.npz", make_npz, read_frames, context=lambda _: network())


def read_calibration(path, net):
    from neuromap.exchange.layers.calibrate import calibration_of
    from neuromap.formats.layers import OperatorGraph

    calibration_of(
        OperatorGraph("net", {name: (1, net.nodes[name].size) for name in net.inputs}, (), ()), path, None, None
    )


reader("calibration", "a.npz", make_npz, read_calibration, context=lambda _: network())


# ------------------------------------------------------------------------------------------------------------ results


def make_stores(folder):
    from neuromap.sweep.run_store import RunStore
    from neuromap.sweep.sweep_spec import RunOutcome, SweepRun

    path = folder / "a.sqlite"
    runs = [SweepRun(f"key {k}", "net", "d", "streaming", "windowed", "chip", "{}", k, 3, None, "{}") for k in range(3)]
    with RunStore(path) as store:
        store.plan(runs)
        store.add([(runs[0].key, RunOutcome("mapped", figures={"cores": 2, "mean_hops": 0.5, "verified": True}))])
        store.keep(runs[1], RunOutcome("does not fit", "map", 3, "node O: too wide"), "{}")
    return [path.read_bytes()]


def read_store(path, _):
    from neuromap.sweep.run_store import RunStore, load_runs

    for beside in path.parent.glob("a.sqlite-*"):
        beside.unlink()
    table = load_runs(path)
    for tell in (table.to_json, table.to_csv, table.to_text):
        tell()
    with RunStore(path) as store:
        store.done()
        store.record("key 1")


reader("store", "a.sqlite", make_stores, read_store)


def certificates(made):
    """Seed and reader of the certificate of a program, and of what it claims of it."""

    def make(folder):
        from neuromap.proof.prove import prove, save_certificate

        proof = prove(nm.Rollout(network(), "streaming"), made())
        save_certificate(proof.certificate, made(), folder / "a.proof")
        return [(folder / "a.proof").read_bytes()]

    def read(path, _):
        from neuromap.proof.prove import check_certificate

        check_certificate(path, made())

    return make, read


reader("certificate", "a.proof", *certificates(program), seal=seals.seal_safetensors)
reader("certificate-lists", "a.proof", *certificates(list_program), seal=seals.seal_safetensors)


def make_fault_results(folder):
    from neuromap.faults.fault_study import RESULTS, FaultRun
    from neuromap.jobs.results_file import ResultsFile

    kept = ResultsFile(folder / "a.jsonl", RESULTS)
    for k in range(2):
        kept.add(f"key {k}", FaultRun("streaming", "windowed", "dead-cores", 0.5, k, 1, 2, 10, 1, 1, 3, None, 0))
    return [(folder / "a.jsonl").read_bytes()]


def read_fault_results(path, _):
    from neuromap.faults.fault_study import RESULTS
    from neuromap.jobs.results_file import ResultsFile

    kept = ResultsFile(path, RESULTS)
    for k in range(2):
        found = kept.get(f"key {k}")
        repr(found)


def make_curves(folder):
    from neuromap.experiments.experiment_result import CurveResult
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

    from neuromap.explorer.search.measurements import Measured, record_of

    mapped = Measured("mapped", "", "ticks", Fraction(3, 2), 3, 4, 5, True, 2, 1e-9, None, True)
    return [record_of("k", found).encode() for found in (mapped, Measured("does not fit", "node O: too wide"))]


def read_record(path, _):
    from neuromap.explorer.search.measurements import measured_of

    measured_of("k", text_of(path))


reader("exploration-record", "record", make_records, read_record, form="json", seal=seals.seal_record)
