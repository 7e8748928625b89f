"""Programs of several kinds, small enough to be run on all that few frames can hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

import neuromap as nm
from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_spec import ChipSpec, NeuronRules
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.options import MappingOptions
from neuromap.network.edge import Edge, EdgeTerm
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron, LeakNeuron
from neuromap.network.transforms import Dense
from neuromap.network.weights import StoredWeights
from neuromap.proof.counterexample import draw
from neuromap.simulation.reference_frames import reference_batch
from neuromap.simulation.stimulus import fed_sizes

STEP = 64
"""Of Loihi's weights and thresholds."""


def crossbar_chip(rng: np.random.Generator, **changes: Any) -> ChipSpec:
    """TrueNorth's core, small; every other one reads the neuron's equations in another way."""
    axons, neurons = ((48, 12), (64, 20), (40, 16))[rng.integers(3)]
    figures = {
        "name": "small-crossbars", "cores": (8, 8), "chips": (1, 1), "axons": axons, "neurons": neurons,
        "axon_types": 4, "weight_bits": 9, "leak_bits": 9, "threshold_bits": 18, "potential_bits": 20, "delay": (1, 5),
        "tick_seconds": 1e-3,
    }  # fmt: skip
    if rng.random() < 0.5:
        figures["rules"] = NeuronRules(
            number_format=str(rng.choice(["sign_magnitude", "twos_complement"])),
            overflow=str(rng.choice(["saturate", "wrap"])),
            negative_comparison=str(rng.choice(["<", "<="])),
            signed_threshold=bool(rng.random() < 0.5),
        )
        figures["potential_bits"] = int(rng.choice([10, 20]))
    return ChipSpec(**(figures | changes))


def list_chip(rng: np.random.Generator, **changes: Any) -> ChipSpec:
    """Loihi's core, small."""
    chip = nm.load_chip("loihi1")
    figures = {"neurons": int(rng.choice([5, 9, 16])), "axons": 96, "delay": (1, 63), "tile": (1, 1)}
    figures["potential_bits"] = changes.pop("potential_bits", chip.potential_bits)
    return replace(chip, name="small-lists", **figures, core_figures=replace(chip.lists, **changes))


def frame_network(rng: np.random.Generator, bridging: bool = False) -> tuple[Network, str]:
    """Up to five nodes with cycles, self-edges and skips, weights of several kinds, and a random valid pattern."""
    inputs, inner = ["I", "J"][: rng.integers(1, 3)], [f"H{k}" for k in range(rng.integers(1, 4))]
    pairs = {(str(rng.choice([*inputs, *inner[:k]])), v) for k, v in enumerate(inner)}
    pairs |= {(u, str(rng.choice(inner))) for u in inputs}
    pairs |= {(u, v) for u in inner for v in inner if rng.random() < 0.25}
    sizes = {name: int(rng.integers(1, 4)) for name in [*inputs, *inner]}
    nodes: dict[str, Any] = {name: (sizes[name], None) for name in inputs}
    nodes |= {name: (sizes[name], rng.choice([-1, 0, 1, 1, 1, 2, 2, 3, 5], sizes[name])) for name in inner}
    matrices = {}
    for u, v in sorted(pairs):
        high = int(rng.choice([1, 1, 3, 40]))
        matrices[u, v] = rng.integers(-high, high + 1, (sizes[v], sizes[u]))
        matrices[u, v].flat[rng.integers(matrices[u, v].size)] = 1
    place = {name: k for k, name in enumerate(rng.permutation(list(nodes)))}
    streams = [pair for pair in matrices if place[pair[0]] >= place[pair[1]] or rng.random() < 0.5]
    far = {pair: 2 for pair in streams if bridging and rng.random() < 0.5}
    network = nm.build_network(
        nodes, matrices, outputs=(inner[-1],), patterns={"drawn": streams}, bridging={"drawn": far}, name="random"
    )
    return network, "drawn"


def ring_network(rng: np.random.Generator) -> tuple[Network, str]:
    """Make a ring in which two frames are under way, so that frames may come at unequal intervals."""
    n, names = int(rng.choice([3, 5])), [f"r{k}" for k in range(5)]
    ring, size = names[:n], {name: int(rng.integers(1, 4)) for name in ["I", "O", *names]}
    nodes: dict[str, Any] = {"I": (size["I"], None)}
    nodes |= {name: (size[name], rng.integers(-1, 3, size[name])) for name in [*ring, "O"]}
    pairs = [(ring[k], ring[(k + 1) % n]) for k in range(n)] + [("I", ring[0]), (ring[-1], "O")]
    matrices = {(u, v): rng.integers(-2, 3, (size[v], size[u])) for u, v in pairs}
    streams = [pairs[n - 1], pairs[0], pairs[n]]
    return nm.build_network(nodes, matrices, outputs=("O",), patterns={"drawn": streams}, name="ring"), "drawn"


def spiking_network(rng: np.random.Generator, neuron: Callable[[np.random.Generator, int], Any], unit: int) -> Network:
    """Integer neurons with state, edges with several terms and delays."""
    inner = [f"N{k}" for k in range(rng.integers(1, 4))]
    pairs = {(str(rng.choice(["I", *inner[:k]])), v) for k, v in enumerate(inner)} | {("I", inner[0])}
    pairs |= {(u, v) for u in inner for v in inner if rng.random() < 0.25}
    sizes = {name: int(rng.integers(1, 4)) for name in ["I", *inner]}
    nodes = {"I": Node("I", (1, 1, sizes["I"]))}
    nodes |= {name: Node(name, (1, 1, sizes[name]), neuron=neuron(rng, sizes[name])) for name in inner}

    def term(u: str, v: str) -> tuple[Any, int, int]:
        weights = StoredWeights(rng.choice([-7, -2, 0, 3, 5], (sizes[v], sizes[u])) * unit)
        n_currents = nodes[v].neuron.n_currents  # type: ignore[union-attr]
        dense = Dense(nodes[u].shape, nodes[v].shape, weights=weights)
        return dense, int(rng.choice([1, 1, 2, 4, 7])), int(rng.integers(n_currents))

    edges = {
        (u, v): Edge(u, v, *term(u, v), also=tuple(EdgeTerm(*term(u, v)) for _ in range(rng.integers(0, 2))))
        for u, v in sorted(pairs)
    }
    return Network("spiking", nodes, edges, outputs=(inner[-1],))


def leak_neuron(rng: np.random.Generator, size: int) -> LeakNeuron:
    """Neurons of crossbars."""
    subtract = int(rng.random() < 0.3)
    threshold, floor = rng.integers(1, 12, size) + 100 * subtract, rng.integers(0, 12, size)
    return LeakNeuron(
        threshold=threshold, leak=rng.integers(-2, 4, size), floor=floor, subtract=subtract,
        potential=rng.integers(-floor, threshold),
    )  # fmt: skip


def current_neuron(rng: np.random.Generator, size: int, **more: Any) -> CurrentNeuron:
    """Neurons of synapse lists."""
    return CurrentNeuron(
        threshold=rng.integers(0, 10, size) * STEP, current_decay=rng.choice([4096, 2048, 1000, 0], size),
        more_current_decays=[rng.choice([4096, 3000], size) for _ in range(rng.integers(0, 2))],
        voltage_decay=rng.choice([4096, 512, 100], size), bias=rng.integers(-60, 100, size),
        refractory=rng.integers(0, 3, size), current=rng.integers(-50, 50, size), voltage=rng.integers(-50, 50, size),
        **more,
    )  # fmt: skip


def _frames(execution: str, lists: bool = False, **how: Any) -> Callable[[np.random.Generator], Any]:
    def make(rng: np.random.Generator) -> Any:
        bridging, ring = how.get("bridging", False), how.get("ring", False)
        network, pattern = ring_network(rng) if ring else frame_network(rng, bridging)
        options = {name: value for name, value in how.items() if name not in ("bridging", "ring")}
        return nm.Rollout(network, pattern, execution), (list_chip if lists else crossbar_chip)(rng), options

    return make


def _leaks(rng: np.random.Generator) -> Any:
    return nm.Rollout(spiking_network(rng, leak_neuron, 1), "streaming"), crossbar_chip(rng), {}


def _currents(rng: np.random.Generator) -> Any:
    if rng.random() < 0.5:
        return _optional(rng)
    return nm.Rollout(spiking_network(rng, current_neuron, STEP), "streaming"), list_chip(rng), {}


def _optional(rng: np.random.Generator) -> Any:
    """Make a chip and neurons of it with resets, floors, narrow widths and sums that wrap."""
    sums = {"accumulator_bits": int(rng.choice([32, 11])), "sum_wraps": int(rng.integers(2))}
    widths = {"current_bits": int(rng.choice([12, 24])), "voltage_bits": int(rng.choice([13, 24]))}

    def neuron(rng: np.random.Generator, size: int) -> CurrentNeuron:
        subtract, floor = int(rng.integers(2)), rng.choice([100, 700, 2**31 - 1], size)
        reset = 0 if subtract else rng.integers(-100, 100, size)
        return current_neuron(rng, size, subtract=subtract, floor=floor, reset=reset, **sums, **widths)

    figures = {"soft_reset": True, "reset_values": True, "floors": "any", **sums, "sum_wraps": bool(sums["sum_wraps"])}
    figures |= {"current_bits": widths["current_bits"], "potential_bits": widths["voltage_bits"]}
    return nm.Rollout(spiking_network(rng, neuron, STEP), "streaming"), list_chip(rng, **figures), {}


FAMILIES: Mapping[str, Callable[[np.random.Generator], Any]] = {
    "crossbars, windowed": _frames("windowed"),
    "lists, windowed": _frames("windowed", lists=True),
    "crossbars, pipelined": _frames("pipelined"),
    "lists, pipelined": _frames("pipelined", lists=True),
    "crossbars, pipelined:best, unequal": _frames("pipelined:best", ring=True),
    "lists, pipelined:best, unequal": _frames("pipelined:best", lists=True, ring=True),
    "crossbars, splitters": _frames("windowed", splitters="anywhere"),
    "crossbars, bridging": _frames("pipelined", bridging=True),
    "crossbars, spiking": _leaks,
    "lists, spiking": _currents,
}
"""What makes a rollout, a chip and options of the mapper."""


def program_of(k: int, seed: int) -> tuple[str, nm.Rollout, ChipProgram]:
    """Map a random network; numbers take all kinds in turn."""
    family, rng = list(FAMILIES)[k % len(FAMILIES)], np.random.default_rng([seed, k])
    while True:
        rollout, chip, options = FAMILIES[family](rng)
        if not _is_lively(rollout):  # few faults would matter
            continue
        try:
            found = map_with_stages(rollout, chip, MappingOptions(placer="row-major", **options))
        except DoesNotFitError:
            continue
        return family, found.rollout, found.program


def _is_lively(rollout: nm.Rollout) -> bool:
    """Whether most outputs are neither mostly 0 nor mostly 1."""
    sizes, rng = fed_sizes(rollout.network), np.random.default_rng(0)
    frames = {name: draw(rng, 32, 24, size) for name, size in sizes.items()}
    seen = reference_batch(rollout, frames, rollout.network.outputs)
    rates = np.concatenate([rows[:, 1:].mean(axis=(0, 1)) for rows in seen.values()])
    return bool(((rates > 0.04) & (rates < 0.96)).mean() > 0.6)
