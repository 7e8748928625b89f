"""Small mapped networks for the comparison with SANA-FE: recurrent, grouped, with skip edges, delays and relays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.cores.crossbar.program import Program
from neuromap.mapping.map_rollout import map_rollout
from neuromap.mapping.options.options import Pins
from neuromap.network.build import build_network
from neuromap.network.network import Network
from neuromap.network.network_file import load_network
from neuromap.network.transforms import Conv, Dense
from neuromap.network.weights import WeightSource, as_weight_source
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["Case", "cases", "random_frames"]

_DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits" / "sr.toml"


class Case(NamedTuple):
    """A program and what it is shown."""

    name: str
    program: Program
    frames: dict[str, NDArray[np.bool_]]


def cases() -> Iterator[Case]:
    """Map the networks under the patterns of the comparison; input frames are random."""
    asked: list[tuple[Network, str, str]] = []
    digits, conv, chain = load_network(_DIGITS), _grouped_conv(), _chain()
    asked += [(digits, "streaming", "windowed"), (digits, "sequential", "windowed"), (digits, "hybrid", "pipelined")]
    asked += [(conv, "streaming", "windowed"), (conv, "sequential", "windowed"), (conv, "sequential", "pipelined")]
    asked += [(chain, "sequential", "windowed"), (chain, "sequential", "pipelined")]
    for network, pattern, execution in asked:
        program = map_rollout(Rollout(network, pattern, execution=execution), "truenorth")
        yield Case(f"{network.name}, {pattern}, {execution}", program, random_frames(program, 12))
    pins = Pins(splitters=frozenset({("A", "B"), ("B", "C")}))
    program = map_rollout(Rollout(conv, "streaming", execution="windowed"), "truenorth", pins=pins)
    yield Case(f"{conv.name}, streaming, windowed, splitters", program, random_frames(program, 12))


def random_frames(program: Program, n_frames: int, rate: float = 0.3, seed: int = 0) -> dict[str, NDArray[np.bool_]]:
    """Draw input frames in which every neuron spikes with the same probability."""
    rng = np.random.default_rng(seed)
    inputs = [port for port in program.nodes if port.kind == "input"]
    return {port.name: rng.random((n_frames, port.size)) < rate for port in inputs}


def _ternary(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.int64]:
    return rng.choice([-1, 0, 1], size=shape, p=[0.3, 0.3, 0.4])


def _kernel(rng: np.random.Generator, shape: tuple[int, ...]) -> WeightSource | None:
    return as_weight_source(_ternary(rng, shape))


def _grouped_conv() -> Network:
    """Build a grouped convolutional network with a recurrent edge, a skip edge and thresholds that take bias axons."""
    rng = np.random.default_rng(4)
    a, b, c = (8, 8, 8), (4, 4, 16), (4, 4, 16)
    edges = {
        ("I", "A"): Conv((8, 8, 2), a, (3, 3), groups=2, weights=_kernel(rng, (3, 3, 1, 8))),
        ("A", "B"): Conv(a, b, (3, 3), (2, 2), groups=2, weights=_kernel(rng, (3, 3, 4, 16))),
        ("B", "C"): Conv(b, c, (3, 3), groups=4, weights=_kernel(rng, (3, 3, 4, 16))),
        ("C", "C"): Conv(c, c, (1, 1), groups=4, weights=_kernel(rng, (1, 1, 4, 16))),
        ("A", "C"): Conv(a, c, (2, 2), (2, 2), groups=2, weights=_kernel(rng, (2, 2, 4, 16))),
        ("C", "O"): Dense(c, (1, 1, 32), 8, _kernel(rng, (8, 4, 32))),
    }
    nodes = {
        "I": ((8, 8, 2), None),
        "A": (a, 1),
        "B": (b, 2),
        "C": (c, np.tile([-1, 0, 1, 2], 4)),
        "O": ((1, 1, 32), 3),
    }
    return build_network(nodes, edges, name="grouped conv")


def _chain(length: int = 20) -> Network:
    """Build a chain with an edge from its first node to its last, whose delay no single hop can give."""
    rng = np.random.default_rng(5)
    names = [f"H{k}" for k in range(1, length + 1)]
    nodes = {"I": (24, None)} | dict.fromkeys(names, (24, 1)) | {"O": (24, 2)}
    edges = {pair: np.roll(np.eye(24, dtype=int), 1, axis=0) for pair in zip(["I", *names], [*names, "O"], strict=True)}
    edges["H1", "O"] = _ternary(rng, (24, 24))
    return build_network(nodes, edges, name="chain with a skip edge")
