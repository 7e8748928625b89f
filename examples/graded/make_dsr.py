"""Write the paper's CIFAR networks at full size with 8-bit activations: dsr0.toml to dsr6.toml of this folder.

    python -m examples.graded.make_dsr          # all of them
    python -m examples.graded.make_dsr dsr0     # some

Nodes, edges, kernels and strides are those of examples/structures, which are the paper's. Weights are seeded, as times
and cores do not depend on what a network has learned: 8-bit integers with the distribution of a bell curve. Every
hidden node is a quantised ReLU whose multiplier and shift are set from random frames, so that one value in a thousand
reaches 255; half of the values are 0, as in trained networks.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import numpy as np

import neuromap as nm
from neuromap.network import Conv, Dense, GradedNeuron, Network
from neuromap.network.weights import SeededWeights

HERE = Path(__file__).parent
STRUCTURES = HERE.parent / "structures"
LARGEST = 100
"""Greatest weight of neurons with few inputs; with 64 values between."""
REACH = 2**23 * 0.9
"""What sums reach at most: Loihi 2 holds 24 bits. Weights of a bell curve are a third of the greatest on average."""
FRAMES = 4
"""Frames over which responses are set; frame 0 is silent, and the deepest network answers in frame 1."""
BITS = 15
"""Of a multiplier."""


def bell(largest: int) -> tuple[int, ...]:
    """Give 64 integers whose equal odds make a bell curve from -largest to largest."""
    curve = NormalDist()
    values = [curve.inv_cdf((k + 0.5) / 64) for k in range(64)]
    return tuple(round(value / values[-1] * largest) for value in values)


def graded(name: str) -> Network:
    """Make one of the networks."""
    network = nm.load_network(STRUCTURES / f"{name}.toml")
    edges, inputs = {}, dict.fromkeys(network.nodes, 0)
    for (_, v), edge in network.edges.items():
        assert isinstance(edge.transform, Conv | Dense), "these networks have no others"
        shape = edge.transform.weight_shape
        inputs[v] += math.prod(shape[:3]) if len(shape) == 4 else shape[1]
    for number, ((u, v), edge) in enumerate(network.edges.items(), start=1):
        largest = min(LARGEST, int(REACH / (255 * 0.36 * inputs[v])))
        weights = SeededWeights(number, bell(max(2, largest // 4) if u == v else largest))
        edges[u, v] = replace(edge, transform=replace(edge.transform, weights=weights))
    nodes = {n: replace(node, neuron=GradedNeuron(0, 255)) for n, node in network.nodes.items()}
    network = replace(network, name=f"{network.name} graded", nodes=nodes, edges=edges)
    return _with_responses(network)


def _with_responses(network: Network) -> Network:
    """Set multipliers and shifts node by node; in these files nodes come after those that they read."""
    rng = np.random.default_rng(0)
    values = {n: rng.integers(0, 256, (FRAMES, network.nodes[n].size)) for n in network.inputs}
    nodes = dict(network.nodes)
    for name in [n for n in network.nodes if n not in network.inputs]:
        into = [(u, edge.matrix()) for (u, v), edge in network.edges.items() if v == name and u != name]
        own = network.edges.get((name, name))
        totals = np.stack([sum(m @ values[u][i] for u, m in into) for i in range(FRAMES)])
        if own is not None:
            spread = np.abs(totals).mean()
            totals = totals + 0.25 * spread  # what the node adds to itself is small beside it
        level = float(np.percentile(np.abs(totals) if name in network.outputs else totals, 99.9))
        ratio = 255 / level
        shift = int(np.floor(BITS - np.log2(ratio)))
        low = -255 if name in network.outputs else 0
        neuron = GradedNeuron(low, 255, multiplier=round(ratio * 2**shift), shift=shift)
        nodes[name] = replace(nodes[name], neuron=neuron)
        values[name] = neuron.respond(totals.astype(np.int64))
    return replace(network, nodes=nodes)


def main() -> None:
    """Write the networks that are named, or all."""
    names = [f"dsr{k}" for k in range(7)]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="dsr0 to dsr6")
    for name in parser.parse_args().names or names:
        graded(name).save(HERE / f"{name}.toml")


if __name__ == "__main__":
    main()
