r"""Random numbers of the stochastic modes: a counter-based generator.

TrueNorth's neurons compare with a random byte rho (Cassidy et al., "Cognitive computing building block", IJCNN
2013). How the silicon draws it is unpublished, so results can be reproducible, not bit-exact to silicon. Here rho is
a function of the seed, the tick, the core, what it is for and the neuron, and of nothing else: no state, hence the
same values in any order of cores, threads and engines. All arithmetic is modulo 2^64, or 2^32 from ``key`` on::

    mix(z)  z ^= z >> 30; z *= 0xBF58476D1CE4E5B9; z ^= z >> 27; z *= 0x94D049BB133111EB; z ^= z >> 31
    stream  mix(mix(mix(seed + 0x9E3779B97F4A7C15) ^ tick) ^ core)
    key     upper 32 bits of mix(stream ^ purpose)
    x       key + neuron * 0x9E3779B9
            x ^= x >> 16; x *= 0x7FEB352D; x ^= x >> 15; x *= 0x846CA68B; x ^= x >> 16
    rho     upper 8 bits of x

``mix`` is the finaliser of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA
2014, with the constants of D. Stafford's variant 13); the last three lines are lowbias32 of C. Wellons ("Prospecting
for hash functions", 2018), which needs no products wider than a lane of 32 bits. ``core`` is the core's place on the
board, y * columns + x. ``purpose`` is the axon for an event of a stochastic synapse, ``LEAK`` or ``THRESHOLD``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Words
from neuromap.cores.crossbar.program import Program
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine_choice import check_seed

LEAK = 2**32
"""Purpose of the numbers that decide on the stochastic leak; axons are below."""

THRESHOLD = 2**32 + 1
"""Purpose of the numbers that are added to the thresholds."""


def mix(words: Words) -> Words:
    """Hash 64-bit words one by one: the finaliser of SplitMix64."""
    z = words.copy()
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def streams(seed: int, tick: int, cores: NDArray[np.int64]) -> Words:
    """Name the noise of cores in one tick by a word each."""
    of_seed = mix(np.array([(seed + 0x9E3779B97F4A7C15) % 2**64], dtype=np.uint64))
    return mix(mix(of_seed ^ np.uint64(tick)) ^ cores.astype(np.uint64))


def keys(stream: Words, purposes: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Name the noise of cores for one purpose each; shapes broadcast."""
    return (mix(stream ^ purposes.astype(np.uint64)) >> np.uint64(32)).astype(np.uint32)


def rho(key: NDArray[np.uint32], neurons: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Draw the random bytes of neurons; shapes broadcast."""
    x = np.atleast_1d(key + neurons.astype(np.uint32) * np.uint32(0x9E3779B9))
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x7FEB352D)
    x ^= x >> np.uint32(15)
    x *= np.uint32(0x846CA68B)
    x ^= x >> np.uint32(16)
    return (x >> np.uint32(24)).astype(np.uint8)


def core_numbers(program: ChipProgram) -> NDArray[np.int64]:
    """Return the places of a program's cores on the board, y * columns + x: they do not depend on the order of rows."""
    # shapes: returns (C,)
    places: NDArray[np.int64] = program.coordinates.astype(np.int64) @ np.array([1, program.chip.columns])
    return places


class Noise:
    """Random bytes for the cores of one program."""

    def __init__(self, program: Program, seed: int) -> None:
        self.seed = check_seed(seed)
        self._places = core_numbers(program)
        self._neurons = np.arange(program.chip.neurons, dtype=np.int64)

    def draw(
        self,
        tick: int,
        cores: NDArray[np.int64],
        purposes: NDArray[np.int64] | int,
        neurons: NDArray[np.int64] | None = None,
    ) -> NDArray[np.uint8]:
        """Draw rho for some cores, each for one purpose."""
        # shapes: cores (k,); purposes (k,); neurons (n,); returns (k, n)
        key = keys(streams(self.seed, tick, self._places[cores]), np.asarray(purposes, dtype=np.int64))
        return rho(key[:, None], self._neurons if neurons is None else neurons)
