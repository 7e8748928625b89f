"""The networks of the benchmark: perceptrons with ternary weights, wider than the cores that they are put on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

import neuromap as nm
from neuromap.hardware.chip.chip_spec import ChipSpec

__all__ = ["CASES", "Case", "perceptron"]


class Case(NamedTuple):
    """A network, the chip whose cores are too small for it, ticks of its sums, and axons of cores that are not."""

    name: str
    network: nm.Network
    chip: ChipSpec
    ticks: tuple[int | None, ...]
    wider: tuple[int, ...]


def perceptron(sizes: Sequence[int], seed: int = 0) -> nm.Network:
    """Draw a perceptron with weights -1, 0, 1 and thresholds near the spread of its sums, so that its neurons switch.

    Parameters
    ----------
    sizes : sequence of int
        Neurons of the layers, the input first.
    seed : int
        Of the weights.
    """
    rng = np.random.default_rng(seed)
    names = ["I", *(f"H{k}" for k in range(1, len(sizes) - 1)), "O"]
    weights = {(u, v): rng.integers(-1, 2, (m, n)) for (u, n), (v, m) in pairwise(zip(names, sizes, strict=True))}
    nodes = {name: ((1, 1, size), None if name == "I" else 2) for name, size in zip(names, sizes, strict=True)}
    return nm.build_network(nodes, weights, outputs=["O"], name="-".join(map(str, sizes)))


def _with_axons(chip: ChipSpec, axons: int) -> ChipSpec:
    return replace(chip, name=f"{chip.name} with {axons} axons", axons=axons)


_TRUENORTH = nm.load_chip("truenorth")
CASES = (
    Case("784-128-10", perceptron((784, 128, 10)), _TRUENORTH, (None, 64, 32, 16, 8, 4), (1024, 2048)),
    Case("784-512-512-10", perceptron((784, 512, 512, 10)), _TRUENORTH, (None, 64, 32, 16, 8, 4), (1024, 2048)),
    Case(
        "digits SR on small cores",
        nm.load_network("examples/digits/sr.toml"),
        _with_axons(_TRUENORTH, 32),
        (None, 16, 8, 4, 2, 1),
        (64, 128),
    ),
)


def wider_chip(chip: ChipSpec, axons: int) -> ChipSpec:
    """Give the chip's cores more axons."""
    return _with_axons(replace(chip, name="truenorth"), axons)
