"""What input nodes see at a tick: pictures made into bits, or values, as the network's file asks, with noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.encoding.frames import InputEncoding, encode
from neuromap.encoding.input_tables import input_encodings
from neuromap.errors import NeuromapError, StimulusError
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.network.network import Network
from neuromap.simulation.stimulus import value_ranges
from neuromap.studio.scene.scene import Shown

Bits = NDArray[Any]
"""Booleans; int32 of graded nodes."""
_BEFORE = 2**20
"""Added to ticks where they seed a generator: a frame 0 may be sampled before tick 0."""


class World:
    """Bits, or values, of input nodes, a function of what is shown, the tick and the seed."""

    # shapes: stimulus (n_frames, size)

    def __init__(self, network: Network, stimulus: Mapping[str, Bits] | None = None) -> None:
        self._stimulus = stimulus
        self._sizes = {name: network.nodes[name].size for name in network.inputs}
        self._numbers = {name: k for k, name in enumerate(network.inputs)}
        self._shapes = {name: network.nodes[name].shape for name in network.inputs}
        self._ranges = value_ranges(network) or {}
        self._encodings = _encodings(network)

    def check(self, shown: Shown) -> None:
        """Refuse what cannot be shown to this network."""
        for name in shown.pictures:
            if name not in self._sizes:
                raise StimulusError(f"picture: node {name!r:.40} is not an input; inputs are {', '.join(self._sizes)}")
        if shown.kind == "stimulus" and self._stimulus is None:
            raise StimulusError("stimulus: none was loaded; choose a file of frames")
        for name in self._sizes:
            self.bits(shown, name, 0, 1)

    def takes(self, node: str, shape: tuple[int, int, int]) -> bool:
        """Whether pictures of a shape become frames of a node."""
        encoding = self._encodings.get(node)
        return self._shapes[node] == (shape if encoding is None else encoding.frame_shape(shape))

    def bits(self, shown: Shown, node: str, tick: int, frame: int) -> Bits:
        """Give what a node samples at a tick, shape (size,); ``frame`` is the number of its frame."""
        rng = np.random.default_rng((shown.seed, self._numbers[node], tick + _BEFORE))
        found = self._clear(shown, node, frame, rng)
        if shown.noise:
            struck = rng.random(len(found)) < shown.noise
            found = np.where(struck, self._drawn(node, rng) if node in self._ranges else ~found, found)
        return found

    def _drawn(self, node: str, rng: np.random.Generator) -> Bits:
        """Draw values of a graded node."""
        low, high = self._ranges[node]
        return rng.integers(low, high, self._sizes[node], np.int32, endpoint=True)

    def _clear(self, shown: Shown, node: str, frame: int, rng: np.random.Generator) -> Bits:
        size = self._sizes[node]
        if shown.kind == "random":
            random: Bits = rng.random(size) < shown.density
            return random * self._drawn(node, rng) if node in self._ranges else random
        if shown.kind == "stimulus" and self._stimulus is not None:
            rows = self._stimulus[node]
            row: Bits = rows[frame if frame < len(rows) else 1 + (frame - 1) % (len(rows) - 1)]
            return row
        picture = shown.pictures.get(node)
        if picture is None:
            return np.zeros(size, np.int32 if node in self._ranges else np.bool_)
        intensities = picture.astype(np.float32)[np.newaxis] / np.float32(255)
        encoding = self._encodings.get(node)
        if encoding is not None:
            bits: Bits = encode(encoding, intensities, 1, rng).reshape(-1)
            return bits
        if picture.shape != self._shapes[node]:
            raise StimulusError(f"picture of {node}: has shape {picture.shape}; the node has {self._shapes[node]}")
        drawn: Bits = rng.random(size, np.float32) < intensities.reshape(-1)
        return drawn


class WorldSource:
    """The world as a run samples it: its clock says when."""

    def __init__(self, world: World, program: ChipProgram, shown: Callable[[], Shown]) -> None:
        self._world, self._shown, self._period = world, shown, program.period
        self._ports = [port for port in program.nodes if port.kind == "input"]

    def __call__(self, frame: int) -> dict[str, Bits]:
        """Sample a frame of every input node."""
        shown = self._shown()
        ticks = ((port.name, port.tick(self._period, frame)) for port in self._ports)
        return {name: self._world.bits(shown, name, tick, frame) for name, tick in ticks}


def _encodings(network: Network) -> dict[str, InputEncoding]:
    """Give the encodings that make what a chip takes; a network without shapes or tables has none."""
    try:
        found = input_encodings(network)
    except NeuromapError:
        return {}
    return {name: encoding for name, encoding in found.items() if encoding.is_for_chip}
