"""Fingerprints: digests of networks, chips and frames, so that a result is only ever taken for what it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.network import Network


class Fingerprint:
    """A digest of everything that was added, in its order."""

    def __init__(self, text: str) -> None:
        self._digest = sha256(text.encode())

    def add_network(self, network: Network) -> None:
        """Add all that a network computes: shapes, thresholds, weights, outputs."""
        for name, node in network.nodes.items():
            self._add(name, node.shape)
            if node.threshold is not None:
                self._add_array(node.threshold.astype(np.int64))
            if node.neuron is not None:
                neuron = node.neuron
                stated = [(key, value) for key, value in neuron.stated.items() if key in neuron.options]
                others = (getattr(neuron, name) for name in neuron.settings if name not in neuron.options)
                arrays = [name for name in neuron.arrays if name in neuron.options]
                self._add("neuron", neuron.model, *others, *stated, *arrays)
                for array in neuron.arrays.values():
                    self._add_array(array)
        for (u, v), edge in network.edges.items():
            for k, term in enumerate(edge.terms):
                matrix = term.matrix.astype(np.int64)
                self._add(u, v, getattr(edge.transform, "groups", None), matrix.shape)
                for part in (matrix.indptr, matrix.indices):
                    self._add_array(part.astype(np.int64))
                self._add_array(matrix.data)
                if k or (term.delay, term.current) != (1, 0):
                    self._add("term", term.delay, term.current)
        self._digest.update(repr(network.outputs).encode())

    def add_frames(self, frames: Mapping[str, NDArray[np.bool_]]) -> None:
        """Add input frames, one array of shape (n_frames, size) per input node."""
        for name, rows in frames.items():
            self._add(name, rows.shape)
            self._add_array(np.packbits(rows))

    def text(self) -> str:
        """Give the digest of what was added so far, as 64 hexadecimal digits."""
        return self._digest.hexdigest()

    def _add(self, *values: object) -> None:
        self._digest.update(repr(values).encode())

    def _add_array(self, array: NDArray[Any]) -> None:
        self._digest.update(np.ascontiguousarray(array).tobytes())


def fingerprint_of_chip(chip: ChipSpec) -> str:
    """Give the digest of everything that a chip is, as 64 hexadecimal digits."""
    parts = []
    for field in fields(chip):
        value = getattr(chip, field.name)
        name = field.name
        if name == "core_figures":
            if value is None:
                continue  # younger than the other fields: chips without keep their digests
            name = f"{value.kind.replace('-', '_')}s"  # as the field was called when one kind had any
        parts.append((name, sorted(value.items()) if isinstance(value, Mapping) else _plain(value)))
    return sha256(repr(parts).encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Give a value in a form that is shown the same way every time: sets have no order of their own."""
    if isinstance(value, frozenset | set):
        return sorted(value)
    if hasattr(value, "__dataclass_fields__"):
        return [(f.name, _plain(getattr(value, f.name))) for f in fields(value)]
    return value
