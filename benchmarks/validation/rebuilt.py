"""Networks of ``published.toml`` built again, with random weights, and mapped to the cores that they had."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import random_array

import neuromap as nm
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.mapping.options.options import Pins
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron
from neuromap.network.transforms import Conv, Identity, MatrixTransform

SEED = 1
ROOM = {"core.synapse_memory_bits": 1 << 26, "core.axons": 1 << 14, "core.output_axons": 1 << 20}
# Spikes are drawn, so neither matters: thresholds, nor the bias that the first layer's neurons need.
NEURON, DRIVEN = (CurrentNeuron(1000, bias=b, voltage_decay=0, current_bits=18, voltage_bits=18) for b in (0, 1))


def blocks(shape: list[int], cores: list[int], first: int) -> np.ndarray:
    """Give the core of every neuron of a layer, cut along its axes as NxTF cuts it: the last one may be smaller."""
    along = [np.arange(n) // math.ceil(n / k) for n, k in zip(shape, cores, strict=True)]
    grid = np.ravel_multi_index(np.meshgrid(*along, indexing="ij"), cores)
    return first + grid.ravel()


def transform(layer: dict[str, Any], source: dict[str, Any], rng: np.random.Generator) -> Any:
    """Draw the weights of an edge: +-2, as cores with lists of both signs lack the lowest bit."""
    shapes = tuple(source["shape"]), tuple(layer["shape"])
    if "kernel" in layer:
        k, groups = layer["kernel"], shapes[0][2] if layer.get("depthwise") else 1
        stride, padding = (layer.get("stride", 1),) * 2, layer.get("padding", "valid")
        weights = 4 * rng.integers(0, 2, (k, k, shapes[0][2] // groups, shapes[1][2])) - 2
        return Conv(*shapes, (k, k), stride, padding, groups, weights)
    return matrix(math.prod(shapes[1]), math.prod(shapes[0]), layer["density"], rng)


def matrix(rows: int, columns: int, density: float, rng: np.random.Generator) -> MatrixTransform:
    """Draw a matrix of +-2."""
    drawn = random_array(
        (rows, columns), density=density, rng=rng, data_sampler=lambda size: 4 * rng.integers(0, 2, size) - 2
    )
    return MatrixTransform(drawn.astype(np.int64))


def built(workload: dict[str, Any]) -> tuple[Network, dict[str, np.ndarray]]:
    """Build its network, and the table of cores of every layer."""
    rng, n_cores = np.random.default_rng(SEED), 0
    nodes: dict[str, Node] = {}
    edges: dict[tuple[str, str], Edge] = {}
    tables: dict[str, np.ndarray] = {}
    layers = {layer["name"]: layer for layer in workload["layers"]}
    before = None
    for name, layer in layers.items():
        shape = tuple(layer["shape"])
        nodes[name] = Node(name, shape, neuron=None if layer.get("host") else NEURON if nodes else DRIVEN)
        if before is not None:
            source = layer.get("from", before)
            edges[source, name] = Edge(source, name, transform(layer, layers[source], rng))
        if "recurrent" in layer:
            size = math.prod(shape)
            edges[name, name] = Edge(name, name, matrix(size, size, layer["recurrent"], rng))
        if not layer.get("host"):
            tables[name] = (
                tables[layer["share"]][:1].repeat(math.prod(shape))
                if "share" in layer
                else blocks(layer["shape"], layer["cores"], n_cores)
            )
            n_cores = max(n_cores, int(tables[name].max()) + 1)
        if layer.get("reset"):  # the second compartment, on the same core
            second = f"{name}_reset"
            nodes[second], tables[second] = Node(second, shape, neuron=NEURON), tables[name]
            edges[name, second] = Edge(name, second, Identity(shape, shape))
        before = name
    return Network(workload["name"], nodes, edges), tables


def mapped(workload: dict[str, Any]) -> ChipProgram:
    """Map it as it was mapped there: cores in rows of the board, layer by layer."""
    net, tables = built(workload)
    chip = nm.load_chip(workload["chip"], ROOM | workload.get("overrides", {}))
    return nm.map_rollout(nm.Rollout(net, "streaming"), chip, keep="all", pins=Pins(neurons=tables), placer="row-major")
