"""Write the networks of this folder: the paper's structures in versions that a TrueNorth chip can hold.

    python -m examples.on_chip.make            # all of them
    python -m examples.on_chip.make dsr4 sr    # some

A network file comes from the structure of its name in examples/structures: same nodes, same edges, kernels and strides.
What differs is in the recipe: groups, features, the votes of O, seeded weights. Thresholds, one per feature, are set
from spikes: in random frames a feature is active in two of five neurons and frames (README.md).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import neuromap as nm
from neuromap.files.sealed import sealed_bytes
from neuromap.files.whole_file import write_whole
from neuromap.network import Network, build_network
from neuromap.network.edge import Edge, EdgeKey
from neuromap.network.node import Node
from neuromap.network.transforms import Conv, Dense
from neuromap.network.weights import SeededWeights
from neuromap.simulation.stimulus import random_frames

HERE = Path(__file__).parent
STRUCTURES = HERE.parent / "structures"
QUIET = 0.6
"""Part of a feature's neurons and frames that stay below its threshold."""
FRAMES, ROUNDS = 48, 6
CLASSES = 10
Shape = tuple[int, int, int]


@dataclass(frozen=True)
class Recipe:
    """How a structure is made fit for the chip.

    Attributes
    ----------
    votes : int
        Neurons of O per class: each reads another group of features.
    groups : mapping of edge to int
        Groups of an edge; 1 where absent.
    scale : int
        Hidden features are divided by it.
    """

    votes: int
    groups: Mapping[EdgeKey, int] = field(default_factory=dict)
    scale: int = 1


def _shape(node: Node, recipe: Recipe) -> Shape:
    assert node.shape is not None, "the structures have shapes"
    rows, columns, features = node.shape
    kept = {"I": features, "O": CLASSES * recipe.votes}
    return rows, columns, kept.get(node.name, features // recipe.scale)


def dsr(name: str, scale: int = 1, *, inside: int = 2, between: int = 1, last: int = 2) -> Recipe:
    """Make the recipe of a DSR network.

    Parameters
    ----------
    name : str
        Of the structure.
    scale : int
        As in :class:`Recipe`.
    inside, between, last : int
        Features of a group that one neuron reads: within a block, from the first block to H2, from the second to HD.
    """
    network = nm.load_network(STRUCTURES / f"{name}.toml")
    groups = {}
    for u, v in network.edges:
        features = _shape(network.nodes[u], Recipe(votes=0, scale=scale))[2]
        channels = last if v == "HD" else between if v == "H2" else inside
        if v == "O":
            groups[u, v] = features // 16  # 16 features of HD at 16 places: 256 axons
        elif u != "I":
            groups[u, v] = features // channels
    return Recipe(votes=groups["HD", "O"], groups=groups, scale=scale)


RECIPES: Mapping[str, Recipe] = {
    "sr": Recipe(votes=4, groups={("H1", "H2"): 4, ("H2", "O"): 4, ("H1", "O"): 4}),
    **{f"dsr{n}": dsr(f"dsr{n}", 2 if n == 6 else 1) for n in range(7)},
}


def fitted(name: str, recipe: Recipe) -> Network:
    """Build the network of a recipe, thresholds included."""
    structure = nm.load_network(STRUCTURES / f"{name}.toml")
    shapes = {n: _shape(node, recipe) for n, node in structure.nodes.items()}
    plain = {key: _transform(edge, shapes, recipe.groups.get(key, 1)) for key, edge in structure.edges.items()}
    signs = edge_signs(structure, {key: _fan_in(transform) for key, transform in plain.items()})
    edges = {
        key: replace(transform, weights=SeededWeights(seed, (0, signs[key])))
        for seed, (key, transform) in enumerate(plain.items(), start=1)
    }
    theta = thresholds(shapes, edges)
    return build_network(
        {n: (shapes[n], theta.get(n)) for n in structure.nodes},
        edges,
        outputs=structure.outputs,
        patterns=structure.patterns,
        name=f"{structure.name} on a chip",
    )


def _transform(edge: Edge, shapes: Mapping[str, Shape], groups: int) -> Conv | Dense:
    old, source, target = edge.transform, shapes[edge.source], shapes[edge.target]
    if isinstance(old, Conv):
        return Conv(source, target, old.kernel, old.stride, old.padding, groups)
    return Dense(source, target, groups)


def _fan_in(transform: Conv | Dense) -> int:
    return math.prod(transform.weight_shape[:3] if isinstance(transform, Conv) else transform.weight_shape[-1:])


def edge_signs(network: Network, fan_in: Mapping[EdgeKey, int]) -> dict[EdgeKey, int]:
    """Give every edge one sign, so that every source takes one axon per core.

    Of the edges into a node, the one with the greatest fan-in excites, the next inhibits, and so on by turns; of
    equals the one from the nearer node comes first. Self-edges inhibit.
    """
    order = list(network.nodes)
    signs: dict[EdgeKey, int] = {}
    for v in order:
        sources = [(fan_in[u, w], order.index(u)) for u, w in network.edges if w == v and u != v]
        ranked = sorted(sources, reverse=True)
        signs |= {(order[u], v): 1 if turn % 2 == 0 else -1 for turn, (_, u) in enumerate(ranked)}
        signs[v, v] = -1
    return {key: signs[key] for key in network.edges}


def thresholds(shapes: Mapping[str, Shape], edges: Mapping[EdgeKey, Conv | Dense]) -> dict[str, NDArray[np.int64]]:
    """Set every node's thresholds, one per feature, in the order of the nodes; shape (features,).

    Frames are those of the sequential pattern. A node that reads itself settles in a few rounds: its spikes give its
    drive, its drive its thresholds.
    """
    inputs = {n: math.prod(shape) for n, shape in shapes.items() if all(v != n for _, v in edges)}
    spikes = {n: x.astype(np.int64) for n, x in random_frames(inputs, FRAMES, seed=1).items()}
    found = {}
    for v, shape in shapes.items():
        if v in inputs:
            continue
        drive = np.zeros((FRAMES, math.prod(shape)), np.int64)
        for u, w in edges:
            if w == v and u != v:
                drive += (edges[u, v].matrix() @ spikes[u].T).T
        itself = edges[v, v].matrix() if (v, v) in edges else csr_array((math.prod(shape),) * 2, dtype=np.int64)
        fired = np.zeros_like(drive)
        theta = np.zeros(shape[2], np.int64)
        for _ in range(ROUNDS):
            from_before = np.zeros_like(drive)
            from_before[1:] = np.asarray(itself @ fired[:-1].T).T
            total = (drive + from_before).reshape(FRAMES, -1, shape[2])
            theta = np.clip(np.quantile(total, QUIET, axis=(0, 1)).astype(np.int64) + 1, 1, 255)
            fired = _run(drive, itself, np.tile(theta, shape[0] * shape[1]))
            if (v, v) not in edges:
                break
        spikes[v], found[v] = fired, theta
    return found


def _run(drive: NDArray[np.int64], itself: csr_array, theta: NDArray[np.int64]) -> NDArray[np.int64]:
    fired = np.zeros_like(drive)
    for i in range(1, len(drive)):
        fired[i] = drive[i] + itself @ fired[i - 1] >= theta
    return fired


def write(name: str, network: Network) -> None:
    """Write network file and thresholds."""
    lines = [
        f"# {network.name.split()[0]} of Fischer, Koehler, Pfeil: The streaming rollout of deep networks, NeurIPS 2018",
        "# (arXiv 1806.04965), in a version that one TrueNorth chip holds; how it differs is said in README.md.",
        "# Written by examples/on_chip/make.py.",
        "format = 1",
        f'name = "{network.name}"',
        f"outputs = [{', '.join(chr(34) + n + chr(34) for n in network.outputs)}]",
        "",
        "[weights]",
        f'file = "{name}.safetensors"  # thresholds only',
    ]
    for node in network.nodes.values():
        lines += ["", f"[nodes.{node.name}]", f"shape = {list(node.shape or ())}"]
    for edge in network.edges.values():
        lines += ["", *_edge_lines(edge)]
    for pattern, keys in network.patterns.items():
        named = ", ".join(f'"{u} -> {v}"' for u, v in keys)
        lines += ["", f"[rollouts.{pattern}]", f"streaming = [{named}]"]
    tensors = {
        f"{n}.threshold": np.asarray(node.threshold)[: node.shape[2]].astype(np.int16)
        for n, node in network.nodes.items()
        if node.threshold is not None and node.shape is not None
    }
    write_whole(HERE / f"{name}.toml", ("\n".join(lines) + "\n").encode())
    write_whole(HERE / f"{name}.safetensors", sealed_bytes("weights", tensors, {}))


def _edge_lines(edge: Edge) -> list[str]:
    transform = edge.transform
    lines = [f'[edges."{edge.source} -> {edge.target}"]']
    if isinstance(transform, Conv):
        lines += ['transform = "conv"', f"kernel = {list(transform.kernel)}"]
        if transform.stride != (1, 1):
            lines.append(f"stride = {list(transform.stride)}")
    else:
        lines.append('transform = "dense"')
    assert isinstance(transform, Conv | Dense), "made above"
    assert isinstance(transform.weights, SeededWeights), "made above"
    if transform.groups != 1:
        lines.append(f"groups = {transform.groups}")
    values = list(transform.weights.values)
    return [*lines, f"weights = {{ seed = {transform.weights.seed}, values = {values} }}"]


def main() -> None:
    """Write the networks that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m examples.on_chip.make", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(RECIPES)}; all by default")
    asked = parser.parse_args()
    for name in asked.names or RECIPES:
        if name not in RECIPES:
            parser.error(f"{name} is not known; choose of {', '.join(RECIPES)}")
        write(name, fitted(name, RECIPES[name]))


if __name__ == "__main__":
    main()
