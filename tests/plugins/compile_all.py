"""Compile, for the cache, the kernels that tests of several rooms use; ``compile_all.py K N`` takes every N-th from K.

The engine's kernel is compiled once for each number of groups of 32 neurons and words of 64 axons, in seconds; so tests
draw cores of few shapes. What is missing here is compiled by the test that meets it.
"""

import gc
import sys
from dataclasses import replace
from functools import partial

import numpy as np

import neuromap as nm
from neuromap.cores.crossbar.program import NeuronTable, Program
from neuromap.cores.graded.fast_engine import GradedFastEngine
from neuromap.cores.synapse_list.list_fast_engine import ListFastEngine
from neuromap.cores.synapse_list.program import CurrentTable, ListProgram, SynapseTable, TargetTable
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.program.ports import HostTable, OutputTable
from neuromap.network import Conv, CurrentNeuron, GradedNeuron, build_network
from neuromap.simulation.cost.activity import measure_activity
from neuromap.simulation.engine.bit_sliced.side_by_side import SideBySide
from neuromap.simulation.engine.engine import HostEvents
from neuromap.simulation.engine.fast_engine import FastEngine
from neuromap.simulation.stimulus import random_frames

GRADED_WEIGHTS = [1, 1000]  # weights of 8 bits, and of 32
LIST_WEIGHTS = [1, 2**14 + 1, 2**20 + 1]  # sums of 16 bits, of 32, and synapses of 64 too


def silent_program(chip):
    """One core in which nothing is set."""
    core, neurons, axons = (1, chip.neurons), (1, chip.neurons, chip.axon_types), (1, chip.axons)
    nothing = [np.zeros(0, np.int32) for _ in range(4)]
    return Program(
        name="silent",
        chip=chip,
        coordinates=np.zeros((1, 2), np.int32),
        axon_types=np.zeros(axons, np.uint8),
        crossbar=np.zeros((*axons, -(-chip.neurons // 8)), np.uint8),
        neurons=NeuronTable(
            weights=np.zeros(neurons, np.int16),
            leak=np.zeros(core, np.int16),
            leak_reversal=np.zeros(core, np.bool_),
            threshold=np.ones(core, np.int32),
            negative_threshold=np.zeros(core, np.int32),
            reset=np.zeros(core, np.int32),
            reset_mode=np.zeros(core, np.uint8),
            saturate_negative=np.zeros(core, np.bool_),
            potential=np.zeros(core, np.int32),
        ),
        target_core=np.full(core, -1, np.int32),
        target_axon=np.zeros(core, np.int32),
        delay=np.zeros(core, np.uint8),
        neuron_node=np.full(core, -1, np.int32),
        neuron_index=np.zeros(core, np.int32),
        is_relay=np.zeros(core, np.bool_),
        nodes=(),
        period=1,
        ticks_per_step=1,
        host=HostTable(*nothing, np.zeros(0, np.int64), np.zeros(0, np.int8)),
        outputs=OutputTable(*nothing),
    )


def compile_engine(groups, words, **figures):
    chip = replace(load_chip("truenorth"), axons=64 * words, neurons=32 * groups, **figures)
    FastEngine(silent_program(chip)).run(HostEvents.none(1))


def compile_bit_sliced():
    chip = replace(load_chip("truenorth"), axons=64, neurons=32)
    SideBySide(silent_program(chip)).compile()


def silent_lists(weight):
    """One core with a list of four synapses on one neuron; nothing feeds it."""
    chip = load_chip("loihi1")
    core, one = (1, chip.neurons), np.zeros(4, np.int32)
    nothing = [np.zeros(0, np.int32) for _ in range(4)]
    zero = np.zeros(core, np.int32)
    return ListProgram(
        name="silent",
        chip=chip,
        coordinates=np.zeros((1, 2), np.int32),
        synapses=SynapseTable(np.array([0, 1]), np.array([0, 4]), one, one + np.int32(weight), one.astype(np.uint8)),
        neurons=CurrentTable(zero, zero, zero, zero, zero.astype(np.uint8), zero, zero),
        targets=TargetTable(np.zeros(chip.neurons + 1, np.int64), nothing[0], nothing[0]),
        neuron_node=np.full(core, -1, np.int32),
        neuron_index=zero,
        is_relay=np.zeros(core, np.bool_),
        nodes=(),
        period=1,
        ticks_per_step=1,
        host=HostTable(*nothing, np.zeros(0, np.int64), np.zeros(0, np.int8)),
        outputs=OutputTable(*nothing),
    )


def compile_list_engine(weight):
    ListFastEngine(silent_lists(weight)).run(HostEvents.none(1))


def compile_graded_engine(weight):
    unit = GradedNeuron(0, 1)
    net = build_network({"I": (1, unit), "O": (1, unit)}, {("I", "O"): [[weight]]})
    GradedFastEngine(nm.map_rollout(nm.Rollout(net, "streaming"), "loihi2")).run(HostEvents.none(1))


def compile_mapper():
    """More cores than are placed without a kernel, cut in both orders."""
    chip = replace(load_chip("truenorth"), axons=64, neurons=8)
    shapes = dict.fromkeys("IAB", (1, 1, 160))
    rng = np.random.default_rng(0)
    weights = {edge: (rng.random((160, 160)) < 0.1).astype(np.int64) for edge in [("I", "A"), ("A", "B")]}
    net = build_network({name: (shape, None if name == "I" else 1) for name, shape in shapes.items()}, weights)
    for partitioner in ("auto", "overlap"):
        program = nm.map_rollout(nm.Rollout(net, "streaming"), chip, partitioner=partitioner, placer="exchange")
    measure_activity(program, random_frames(net, 2), engine="numpy")


def compile_lists():
    """Cores of lists in more work than loops are interpreted for, and ticks that last as long as their work."""
    neuron = CurrentNeuron(threshold=12_800)
    weights = np.random.default_rng(0).integers(-200, 201, (3, 3, 4, 8))
    conv = Conv((12, 12, 4), (10, 10, 8), (3, 3), (1, 1), "valid", weights=weights)
    net = build_network({"I": ((12, 12, 4), None), "O": ((10, 10, 8), neuron)}, {("I", "O"): conv})
    chip = replace(load_chip("loihi1"), neurons=64)
    program = nm.map_rollout(nm.Rollout(net, "streaming"), chip)
    measure_activity(program, random_frames(net, 2), engine="numpy")


# Long ones first, and as long for one of two processes as for the other.
JOBS = [
    partial(compile_engine, 8, 4),
    compile_mapper,
    compile_lists,
    partial(compile_engine, 4, 2),
    partial(compile_engine, 1, 1, potential_bits=32),
    partial(compile_engine, 2, 1),
    partial(compile_list_engine, LIST_WEIGHTS[0]),
    partial(compile_engine, 1, 1),
    partial(compile_list_engine, LIST_WEIGHTS[1]),
    partial(compile_list_engine, LIST_WEIGHTS[2]),
    compile_bit_sliced,
    *(partial(compile_graded_engine, weight) for weight in GRADED_WEIGHTS),
]

if __name__ == "__main__":
    gc.set_threshold(50_000)  # the compiler needs nearly all that it makes: Python's 700 took a tenth of the time
    first, step = (int(word) for word in sys.argv[1:])
    for job in JOBS[first::step]:
        job()
