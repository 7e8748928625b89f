"""Which commands are waited for, and the networks that they are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.mapping.networks import irregular_network
from neuromap.network import Network, build_network

__all__ = ["BATCHES", "CASES", "IMPORTS", "PEERS", "Case", "write_networks"]

_ROOT = Path(__file__).resolve().parents[2]
_DIGITS = str(_ROOT / "examples" / "digits" / "sr.toml")
Make = Callable[[int, int], NDArray[np.int64]]


@dataclass(frozen=True)
class Case:
    """A command in a process of its own.

    Attributes
    ----------
    title : str
        Row of the table.
    words : tuple of str
        What follows ``neuromap``; names that end in ``.toml`` lie in the folder of :func:`write_networks`.
    wanted_s : float or None
        Seconds that it should take at most.
    is_cold : bool
        Whether nothing is compiled yet, neither Python's files nor the kernels.
    codes : tuple of int
        Exit codes that are expected: 3 for a refusal, and where the time is over before a row is mapped.
    """

    title: str
    words: tuple[str, ...]
    wanted_s: float | None = None
    is_cold: bool = False
    codes: tuple[int, ...] = (0,)


CASES = (
    Case("`--help`", ("--help",)),
    Case("`rollouts`, digits SR", ("rollouts", _DIGITS)),
    Case("`map`, digits SR", ("map", _DIGITS), 1.2),
    Case("`report`, digits SR: six rows", ("report", _DIGITS), 2.0),
    Case("`explore`, digits SR", ("explore", _DIGITS), 2.0),
    Case("`verify`, digits SR", ("verify", _DIGITS)),
    Case("`map`, I(1) -> A(1) -> O(5000)", ("map", "fan.toml"), 2.5),
    Case("`map`, MLP 784-128-10, refused", ("map", "mlp784.toml", "--wide", "refuse"), 1.5, codes=(3,)),
    Case("`map`, MLP 196-128-10", ("map", "mlp196.toml"), 2.0),
    Case("`report`, MLP 196-128-10: four rows", ("report", "mlp196.toml"), 4.0),
    Case("`map`, MLP 256-128-10", ("map", "mlp256.toml"), 2.0),
    Case("`report`, MLP 256-128-10: four rows", ("report", "mlp256.toml"), 4.0),
    Case("`map`, MLP 64-60-10 on 128x128 cores", ("map", "mlp64.toml", "--chip", "board.toml"), 2.0),
    Case("`explore --seconds 1`, irregular", ("explore", "irregular.toml", "--seconds", "1"), 2.2, codes=(0, 3)),
    Case("`map`, digits SR, first use", ("map", _DIGITS), is_cold=True),
    Case("`report`, digits SR, first use", ("report", _DIGITS), is_cold=True),
)

IMPORTS: Mapping[str, tuple[str, ...]] = {
    "map": ("map", _DIGITS),
    "report": ("report", _DIGITS),
    "explore": ("explore", _DIGITS),
}
"""Commands of which it is asked how long they import; in :data:`CASES` they are warm."""

PEERS = ("neuromap", "nengo", "brian2", "sanafe", "torch")
"""Packages of which it is asked how long `import` takes."""

BATCHES = {
    "digits SR, 2 cores": (str(_ROOT / "examples" / "digits" / "sr.toml"), 10_000, 8),
    "on-chip SR, 31 cores": (str(_ROOT / "examples" / "on_chip" / "sr.toml"), 10_000, 8),
}
"""Network file, stimuli and frames of each."""


def write_networks(folder: Path) -> None:
    """Write the networks and the chip file of :data:`CASES` into a folder."""
    rng = np.random.default_rng(0)

    def ternary(neurons: int, sources: int) -> NDArray[np.int64]:
        return rng.integers(-1, 2, (neurons, sources))

    def ones(neurons: int, sources: int) -> NDArray[np.int64]:
        return np.ones((neurons, sources), np.int64)

    networks = {
        "fan": _layers("fan", (1, 1, 5000), ones),
        "mlp784": _layers("MLP 784-128-10", (784, 128, 10), ternary),
        "mlp196": _layers("MLP 196-128-10", (196, 128, 10), ternary),
        "mlp256": _layers("MLP 256-128-10", (256, 128, 10), ternary),
        "mlp64": _layers("MLP 64-60-10", (64, 60, 10), ternary),
        "irregular": irregular_network(),
    }
    for name, network in networks.items():
        network.save(folder / f"{name}.toml")
    stock = (_ROOT / "hardware_models" / "truenorth.toml").read_text(encoding="utf-8")
    larger = stock.replace("cores = [64, 64]", "cores = [128, 128]").replace('name = "truenorth"', 'name = "board"')
    (folder / "board.toml").write_text(larger, encoding="utf-8")


def _layers(name: str, sizes: tuple[int, int, int], make: Make) -> Network:
    """Make an input, a hidden node and an output, all thresholds 1, every neuron with a weight from every source."""
    inputs, hidden, outputs = sizes
    nodes = {"I": ((1, 1, inputs), None), "A": ((1, 1, hidden), 1), "O": ((1, 1, outputs), 1)}
    return build_network(nodes, {("I", "A"): make(hidden, inputs), ("A", "O"): make(outputs, hidden)}, name=name)
