"""A network of full Loihi cores: every neuron feeds lists of synapses in four cores, and fires 20 times a second or so.

Numbers are integers as on the chip, and no current comes near its rails, so that a simulator need not wrap them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import neuromap as nm
from neuromap.cores.synapse_list.program import CurrentTable, ListProgram, SynapseTable, TargetTable
from neuromap.hardware.program.ports import HostTable, OutputTable

__all__ = ["FAN_OUT", "PER_LIST", "brian2_arrays", "loihi_network", "one_tick_network"]

FAN_OUT, PER_LIST = 4, 32
"""Axons that a neuron feeds, and synapses of each: 128 synapses for every neuron."""
_DELAYS = 16
"""Delays of synapses are 0 to one less than this, beyond the tick that a spike takes."""
_WEIGHTS = ((64, 960), (-3840, -64))
"""Least and greatest weight, multiples of 64, of neurons that excite (four of five), and that inhibit."""
_BIASES = 64
"""Biases are multiples of 64 from 0 to less than this; alone, a bias of 32 just reaches the threshold."""


def loihi_network(n_cores: int, seed: int = 1) -> ListProgram:
    """Make the program, for the chip ``loihi1`` with memory for 128 synapses per neuron; the seed gives all numbers."""
    rng, chip = np.random.default_rng(seed), nm.load_chip("loihi1")
    n = chip.neurons
    shape, n_lists = (n_cores, n), n_cores * n * FAN_OUT
    # every core takes as many lists of each of a neuron's four targets: it has 4 * 1024 axons, all there are
    core = np.stack([rng.permutation(n_cores * n) // n for _ in range(FAN_OUT)], axis=1).reshape(-1)
    order = np.argsort(core, kind="stable")
    axon = np.empty(n_lists, np.int64)
    axon[order] = np.arange(n_lists) % (FAN_OUT * n)
    source = order // FAN_OUT  # of every list
    inhibits = rng.random(n_cores * n) < 0.2
    low, high = np.where(inhibits[source], *np.array(_WEIGHTS)[::-1, :, None] // 64)
    n_synapses = n_lists * PER_LIST
    weight = rng.integers(np.repeat(low, PER_LIST), np.repeat(high, PER_LIST), endpoint=True, dtype=np.int32) * 64
    synapses = SynapseTable(
        axons=np.arange(n_cores + 1) * (FAN_OUT * n),
        lists=np.arange(n_lists + 1) * PER_LIST,
        neuron=rng.integers(0, n, n_synapses, dtype=np.int32),
        weight=weight.astype(np.int32),
        delay=rng.integers(0, _DELAYS, n_synapses, dtype=np.uint8),
    )
    none = np.zeros(0, np.int32)
    return ListProgram(
        name=f"{n_cores} cores",
        chip=chip,
        coordinates=np.stack([np.arange(n_cores) % 16, np.arange(n_cores) // 16], axis=1).astype(np.int32),
        neuron_node=np.full(shape, -1, np.int32),
        neuron_index=np.zeros(shape, np.int32),
        is_relay=np.zeros(shape, np.bool_),
        nodes=(),
        period=1,
        ticks_per_step=1,
        host=HostTable(none, none, none, none, none.astype(np.int64), none.astype(np.int8)),
        outputs=OutputTable(none, none, none, none),
        synapses=synapses,
        neurons=_neurons(rng, shape),
        targets=TargetTable(np.arange(n_cores * n + 1) * FAN_OUT, core.astype(np.int32), axon.astype(np.int32)),
    )


def one_tick_network(n_cores: int, seed: int = 1) -> ListProgram:
    """Make the same program with currents and delays of one tick, and four times the weight: as much charge.

    A current of one tick, unlike a longer one, is the same to a chip that goes on adding to it while the neuron rests
    and to SANA-FE, which does not.
    """
    program = loihi_network(n_cores, seed)
    table, neurons = program.synapses, program.neurons
    return replace(
        program,
        synapses=replace(table, weight=table.weight * np.int32(4), delay=np.zeros_like(table.delay)),
        neurons=replace(neurons, current_decay=np.full_like(neurons.current_decay, 4096)),
    )


def _neurons(rng: np.random.Generator, shape: tuple[int, int]) -> CurrentTable:
    def all_of(value: int) -> NDArray[np.int32]:
        return np.full(shape, value, np.int32)

    return CurrentTable(
        current_decay=all_of(1024),
        voltage_decay=all_of(128),
        threshold=all_of(64_000),
        bias=(rng.integers(0, _BIASES, shape) * 64).astype(np.int32),
        refractory=np.full(shape, 2, np.uint8),
        current=all_of(0),
        voltage=rng.integers(0, 64_000, shape, dtype=np.int32),
    )


def brian2_arrays(program: ListProgram, folder: Path) -> None:
    """Write synapses neuron by neuron, and parameters, as arrays for a simulator without cores and axons."""
    wires, table, n = program.wires, program.synapses, program.chip.neurons
    number = table.axons[wires.target_core] + wires.target_axon
    row = (table.lists[number][:, None] + np.arange(PER_LIST)).reshape(-1)
    arrays = {
        "pre": np.repeat(wires.core * n + wires.neuron, PER_LIST),
        "post": np.repeat(wires.target_core * n, PER_LIST) + table.neuron[row],
        "weight": table.weight[row],
        "delay": table.delay[row].astype(np.int64) + program.chip.delay[0],
        "bias": program.neurons.bias.reshape(-1),
        "voltage": program.neurons.voltage.reshape(-1),
    }
    first = program.neurons
    shared = ("current_decay", "voltage_decay", "threshold", "refractory")
    arrays |= {name: getattr(first, name).reshape(-1)[:1] for name in shared}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
