"""The compared network as plain arrays in a folder: written from a program, read by every peer.

Peers live in environments of their own, without neuromap; this file needs NumPy alone. What is written is what the
program holds, bit by bit; nothing is drawn anew, so every peer runs the very same neurons and synapses.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Network", "Unsuitable", "read_network", "synapses", "write_network"]

_ARRAYS = ("crossbar", "axon_types", "weights", "target_core", "target_axon", "potential")


class Unsuitable(ValueError):
    """The program asks for what not every peer can compute."""


@dataclass(frozen=True, eq=False)
class Network:
    """C cores of N neurons and A axons with G types; one leak, threshold, reset and delay for all.

    Attributes
    ----------
    crossbar : ndarray of uint8, shape (C, A, ceil(N / 8))
        Synapse bits, neuron n at bit n % 8 of byte n // 8.
    axon_types : ndarray of uint8, shape (C, A)
        Type of every axon.
    weights : ndarray of int16, shape (C, N, G)
        Weight of a synapse by its neuron and the type of its axon.
    target_core, target_axon : ndarray of int32, shape (C, N)
        The axon that each neuron feeds; no axon is fed by two.
    potential : ndarray of int32, shape (C, N)
        V before tick 0.
    leak, threshold, reset, delay : int
        As in :class:`neuromap.cores.crossbar.program.Program`, equal for all neurons.
    """

    crossbar: NDArray[np.uint8]
    axon_types: NDArray[np.uint8]
    weights: NDArray[np.int16]
    target_core: NDArray[np.int32]
    target_axon: NDArray[np.int32]
    potential: NDArray[np.int32]
    leak: int
    threshold: int
    reset: int
    delay: int

    @property
    def n_cores(self) -> int:
        """Cores."""
        return len(self.crossbar)

    @property
    def core_neurons(self) -> int:
        """Neurons per core."""
        return self.target_core.shape[1]

    @property
    def n_neurons(self) -> int:
        """Neurons in all; neuron n of core c has number ``c * core_neurons + n``."""
        return self.target_core.size

    @property
    def weight_values(self) -> list[int]:
        """All weights that synapses can have, without 0."""
        return [int(weight) for weight in np.unique(self.weights) if weight]


def write_network(program: Any, folder: Path) -> None:
    """Write the arrays of a program; an existing network is overwritten.

    Parameters
    ----------
    program : neuromap.cores.crossbar.program.Program
        Resets of mode 0, no leak reversal, nothing stochastic, one source per axon, one leak, threshold, reset and
        delay for all neurons.
    folder : Path
        Made if it does not exist.

    Raises
    ------
    Unsuitable
        If the program is another.
    """
    neurons = program.neurons
    if neurons.reset_mode.any() or neurons.leak_reversal.any():
        raise Unsuitable("reset modes other than 0 and leak reversal are not compared")
    if any(getattr(neurons, name, None) is not None for name in ("stochastic_weight", "stochastic_leak", "noise_bits")):
        raise Unsuitable("stochastic neurons are not compared")
    if (program.target_core < 0).any() or len(program.host):
        raise Unsuitable("every neuron must feed an axon, and the host none")
    axons = program.target_core.astype(np.int64) * program.axon_types.shape[1] + program.target_axon
    if len(np.unique(axons)) != axons.size:
        raise Unsuitable("two neurons feed one axon: a chip merges their spikes, other simulators add them")
    scalars = {
        "leak": _common("leak", neurons.leak),
        "threshold": _common("threshold", neurons.threshold),
        "reset": _common("reset", neurons.reset),
        "delay": _common("delay", program.delay),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name in _ARRAYS:
        array = getattr(program, name) if hasattr(program, name) else getattr(neurons, name)
        np.save(folder / f"{name}.npy", array)
    (folder / "network.json").write_text(json.dumps(scalars))


def read_network(folder: Path | str) -> Network:
    """Read what :func:`write_network` has written; the arrays stay on disk until they are touched."""
    folder = Path(folder)
    arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in _ARRAYS}
    return Network(**arrays, **json.loads((folder / "network.json").read_text()))


def synapses(
    network: Network, weight: int | None = None, cores_at_once: int = 64
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int16]]]:
    """List the synapses as pairs of neurons, in blocks, sorted by the neuron that spikes.

    Parameters
    ----------
    network : Network
        Whose synapses.
    weight : int, optional
        Only synapses of this weight.
    cores_at_once : int
        Cores of spiking neurons in a block.

    Yields
    ------
    pre, post : ndarray of int32, shape (n,)
        Numbers of the neurons.
    weights : ndarray of int16, shape (n,)
        What the synapse adds.
    """
    n_types = network.weights.shape[2]
    # One weight per type where all neurons agree, as they do here: then no large table is looked up.
    agreed = network.weights[0, 0]
    uniform = bool((network.weights == agreed).all())
    for first in range(0, network.n_cores, cores_at_once):
        target_core = np.asarray(network.target_core[first : first + cores_at_once]).reshape(-1)
        target_axon = np.asarray(network.target_axon[first : first + cores_at_once]).reshape(-1)
        rows = network.crossbar[target_core, target_axon]
        bits = np.unpackbits(rows, axis=1, count=network.core_neurons, bitorder="little")
        types = network.axon_types[target_core, target_axon]
        assert int(types.max(initial=0)) < n_types
        if uniform and weight is not None:
            bits[np.asarray(agreed)[types] != weight] = 0
        source, neuron = np.nonzero(bits)
        added = agreed[types[source]] if uniform else network.weights[target_core[source], neuron, types[source]]
        post = target_core[source] * np.int32(network.core_neurons) + neuron.astype(np.int32)
        pre = source.astype(np.int32) + np.int32(first * network.core_neurons)
        if weight is not None and not uniform:
            kept = added == weight
            pre, post, added = pre[kept], post[kept], added[kept]
        yield pre, post, added


def _common(name: str, values: NDArray[Any]) -> int:
    first = int(values.flat[0])
    if (values != first).any():
        raise Unsuitable(f"{name}: differs between neurons")
    return first
