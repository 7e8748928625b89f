"""The characterisation network: a whole chip of neurons that fire at one rate, to measure engines.

All cores have the same statistics, so the cost of a tick depends only on cores, rate and synapses. Each neuron feeds
one axon, by a random permutation over the chip; each axon has an equal number of synapses at random places; half of
the axons excite and half inhibit. So the input of a neuron is noise without drift, and the leak alone carries it to
its threshold: it fires every threshold / leak ticks, or a few per cent later, because a potential that jumps over the
threshold loses the excess in its reset (Wald's identity: mean interval = (threshold + mean excess) / leak). Source:
the recurrent networks with which TrueNorth was characterised, Merolla et al. (Science 2014), in the form of
``docs/bench.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations, islice
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import adopted
from neuromap.cores.crossbar.program import NeuronTable, Program
from neuromap.errors import InputError
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.ports import HostTable, NodePort, OutputTable
from neuromap.hardware.program.program_bytes import MAX_NODE_SIZE
from neuromap.options import keywords_of

# The drive of the characterisation network: leak and threshold for a firing rate.
# Least threshold, far above the noise of one tick, so that the leak sets the rate.
_THRESHOLD = 50


class Drive(NamedTuple):
    """Leak and threshold of a neuron, and the resulting rate."""

    # leak, threshold: lambda and alpha
    leak: int
    threshold: int
    rate_hz: float  # leak / threshold in spikes per second: the exact rate without the excess at the threshold


def drive_for(rate_hz: float, chip: ChipSpec) -> Drive:
    """Choose leak and threshold for a rate."""
    # rate_hz: spikes per second and neuron, above 0, at most one per tick
    tick = chip.tick_seconds
    greatest = min(chip.threshold_range[1], chip.potential_range[1])
    slowest, fastest = 1 / (greatest * tick), min(1.0, chip.leak_range[1] / min(_THRESHOLD, greatest)) / tick
    if not slowest <= rate_hz <= fastest * (1 + 1e-12):  # NaN is refused too
        raise InputError(f"rate {rate_hz:g} Hz: chip {chip.name} allows {slowest:.3g} to {fastest:.6g} Hz here")
    per_tick = rate_hz * tick
    first = max(1, math.ceil(per_tick * min(_THRESHOLD, greatest) - 1e-9))
    best, least_error = Drive(0, 1, 0.0), math.inf
    for leak in range(first, min(4 * first, chip.leak_range[1]) + 1):
        threshold = min(max(leak, round(leak / per_tick)), greatest)
        error = abs(leak / threshold / per_tick - 1)
        if error < least_error - 1e-12:
            best, least_error = Drive(leak, threshold, leak / threshold / tick), error
        if least_error <= 1e-3:
            break
    return best


_T = TypeVar("_T", bound=np.generic)
# Most crossbar rows drawn at once; bounds the memory besides the program itself.
_ROWS = 1 << 14
# Independent streams of random bits: none depends on how much the others draw.
_CROSSBAR, _PERMUTATION, _DELAYS, _POTENTIALS, _SIGNS, _SCALES, _OFFSETS = range(7)


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What is asked of a network; explained at :func:`characterisation_program`."""

    rate_hz: float = 20.0
    synapses: int = 128
    delay: int | tuple[int, int] = 1
    at_rest: float = 0.0
    heterogeneous: bool = False
    chip: ChipSpec | str | Path | None = None
    seed: int = 0
    progress: Callable[[int, int], object] | None = None


class _Request(NamedTuple):
    """Checked arguments."""

    n_cores: int
    synapses: int
    delay: tuple[int, int]
    resting: NDArray[np.bool_]
    heterogeneous: bool
    chip: ChipSpec
    drive: Drive
    seed: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_cores, self.chip.neurons


def board_of(chip: ChipSpec, n_cores: int) -> ChipSpec:
    """Return a chip, or the smallest nearly square board of such chips, with room for ``n_cores`` cores."""
    if chip.n_cores >= n_cores:
        return chip
    needed = -(-n_cores // (chip.cores[0] * chip.cores[1]))
    columns = math.ceil(math.sqrt(needed * chip.cores[1] / chip.cores[0]))
    if chip.reach is not None:
        columns = min(columns, (chip.reach[0] + 1) // chip.cores[0])
    rows = -(-needed // max(1, columns))
    if columns < 1 or (chip.reach is not None and rows * chip.cores[1] > chip.reach[1] + 1):
        assert chip.reach is not None
        most = math.prod((r + 1) // c * c for r, c in zip(chip.reach, chip.cores, strict=True))
        raise InputError(
            f"cores {n_cores}: at most {most} cores of chip {chip.name} reach each other; ask for fewer, or give a "
            "chip without reach"
        )
    return replace(chip, chips=(columns, rows), name=f"{chip.name}_{columns}x{rows}"[:100])


@keywords_of(_Asked)
def characterisation_program(n_cores: int, wanted: _Asked) -> Program:
    """Make the characterisation network, with all neurons and axons of its cores in use.

    Parameters
    ----------
    n_cores : int
        Number of cores. If the chip has fewer, a board of such chips is used.
    rate_hz : float
        Spikes per second and neuron of the active cores; see :func:`neuromap.bench.characterisation.drive_for` for the
        exact rate.
    synapses : int
        Synapses per axon, 0 to all neurons of a core.
    delay : int or tuple of int
        Ticks from a spike to its axon; with a pair (least, greatest), every neuron draws its own.
    at_rest : float
        Fraction of silent cores, 0 to 1, spread evenly: their neurons have no leak, target only silent cores and never
        change. The others target only each other.
    heterogeneous : bool
        By default, every neuron has weight +1 for even axon types and -1 for odd ones. With this, every neuron has its
        own balanced pattern of signs, scale 1 or 2 (of weights, leak and threshold) and offset 0 to 15 (of potential,
        threshold and reset): the rate is unchanged, but no parameter is uniform within a core.
    chip : ChipSpec, str or Path, optional
        A chip, its name or file; TrueNorth by default.
    seed : int
        Zero or more; equal arguments give equal programs on every machine.
    progress : callable, optional
        Called as ``progress(rows drawn, rows in all)`` while crossbars are drawn.

    Returns
    -------
    Program
        Without execution, host rows and output rows; legal on its chip. Nodes "active" and "at_rest" label the
        neurons.

    Raises
    ------
    InputError
        If an argument is out of range, or the chip's cores are unsuitable.
    """
    asked = _request(n_cores, wanted)
    chip = asked.chip
    n_types = chip.axon_types // 2 * 2  # an odd last type stays unused, so that half of the axons excite
    types = np.broadcast_to((np.arange(chip.axons) % n_types).astype(np.uint8), (n_cores, chip.axons))
    target = _targets(asked)
    node = np.where(asked.resting, 1 if not asked.resting.all() else 0, 0).astype(np.int32)
    index = np.empty(n_cores, np.int32)
    for resting in (False, True):
        index[asked.resting == resting] = np.arange(np.count_nonzero(asked.resting == resting))
    none = np.zeros(0, np.int32)
    number = np.arange(n_cores)
    return Program(
        name=f"characterisation, {n_cores} cores, {asked.drive.rate_hz:.4g} Hz, {asked.synapses} synapses",
        chip=chip,
        coordinates=adopted(np.stack([number % chip.columns, number // chip.columns], axis=1).astype(np.int32)),
        axon_types=adopted(types.copy()),
        crossbar=_crossbar(asked, wanted.progress),
        neurons=_neurons(asked, n_types),
        target_core=adopted((target // chip.axons).astype(np.int32)),
        target_axon=adopted((target % chip.axons).astype(np.int32)),
        delay=_delays(asked),
        neuron_node=adopted(np.repeat(node, chip.neurons).reshape(asked.shape)),
        neuron_index=adopted(index[:, None] * np.int32(chip.neurons) + np.arange(chip.neurons, dtype=np.int32)),
        is_relay=adopted(np.zeros(asked.shape, np.bool_)),
        nodes=_nodes(asked),
        period=1,
        ticks_per_step=1,
        host=HostTable(none, none, none, none, np.zeros(0, np.int64), np.zeros(0, np.int8)),
        outputs=OutputTable(none, none, none, none),
    )


def _request(n_cores: int, asked: _Asked) -> _Request:
    chip, synapses, delay = load_chip("truenorth" if asked.chip is None else asked.chip), asked.synapses, asked.delay
    if not chip.axon_types:
        raise InputError(
            f"chip {chip.name}: has {chip.core_model} cores, the network that is measured needs crossbar cores; give a "
            "chip of these, such as truenorth (synapse lists are measured in benchmarks/)"
        )
    if chip.neurons != chip.axons or chip.axon_types < 2:
        raise InputError(
            f"chip {chip.name}: {chip.neurons} neurons, {chip.axons} axons and {chip.axon_types} axon types per core; "
            "needs as many neurons as axons, and 2 types or more"
        )
    most = MAX_NODE_SIZE // chip.neurons
    if not 1 <= n_cores <= most:
        raise InputError(f"cores {n_cores}: must be 1 to {most}")
    if not 0 <= synapses <= chip.neurons:
        raise InputError(f"synapses {synapses}: chip {chip.name} allows 0 to {chip.neurons} per axon")
    least, greatest = delay if isinstance(delay, tuple) else (delay, delay)
    if least > greatest:
        raise InputError(f"delay {least} to {greatest}: must begin with the least; give {greatest} to {least}")
    if not chip.delay[0] <= least <= greatest <= chip.delay[1]:
        raise InputError(f"delay {least} to {greatest}: chip {chip.name} allows {chip.delay[0]} to {chip.delay[1]}")
    if not 0 <= asked.at_rest <= 1:
        raise InputError(f"part of cores at rest {asked.at_rest}: must be 0 to 1")
    if asked.seed < 0:
        raise InputError(f"seed {asked.seed}: must be 0 or more")
    drive = drive_for(asked.rate_hz, chip)
    widest = min(chip.threshold_range[1], chip.potential_range[1], 2**31 - 1)
    if asked.heterogeneous and (2 * drive.threshold + 15 > widest or 2 * drive.leak > chip.leak_range[1]):
        rate = f"rate {asked.rate_hz:g} Hz"
        raise InputError(f"{rate}: twice leak or threshold is too wide for chip {chip.name}; take another")
    edges = np.arange(n_cores + 1, dtype=np.int64) * round(asked.at_rest * n_cores) // n_cores
    resting, board = np.diff(edges) > 0, board_of(chip, n_cores)
    return _Request(n_cores, synapses, (least, greatest), resting, asked.heterogeneous, board, drive, asked.seed)


def _crossbar(asked: _Request, progress: Callable[[int, int], object] | None) -> NDArray[np.uint8]:
    from neuromap.simulation.engine.kernel.layout import aligned_empty

    # what starts on a cache line is read in whole lines
    n_neurons, n_axons, width = asked.chip.neurons, asked.chip.axons, -(-asked.chip.neurons // 8)
    crossbar: NDArray[np.uint8] = aligned_empty(asked.n_cores * n_axons * width, np.uint8)
    crossbar[:] = 0
    rows = crossbar.reshape(-1, width)
    bits = RandomBits(asked.seed, _CROSSBAR)
    for start in range(0, len(rows), _ROWS):
        set_bits(rows[start : start + _ROWS], n_neurons, asked.synapses, bits)
        if progress is not None:
            progress(min(start + _ROWS, len(rows)), len(rows))
    return adopted(crossbar.reshape(asked.n_cores, n_axons, width))


def _targets(asked: _Request) -> NDArray[np.int64]:
    """Return the axon that each neuron feeds, shape (C, N): a permutation within active and within resting cores."""
    targets = np.empty(asked.shape, np.int64)
    bits = RandomBits(asked.seed, _PERMUTATION)
    for resting in (False, True):
        cores = np.flatnonzero(asked.resting == resting)
        axons = (cores[:, None] * asked.chip.axons + np.arange(asked.chip.axons)).reshape(-1)
        shuffled = axons[np.argsort(bits.words(len(axons)))]
        targets[cores] = shuffled.reshape(-1, asked.chip.axons)
    return targets


def _delays(asked: _Request) -> NDArray[np.uint8]:
    least, greatest = asked.delay
    return adopted(_draw(asked, _DELAYS, greatest - least + 1, np.uint8) + np.uint8(least))


def _draw(asked: _Request, stream: int, bound: int, dtype: type[_T]) -> NDArray[_T]:
    """Draw integers from 0 to ``bound - 1`` for every neuron, shape (C, N)."""
    values = np.zeros(asked.n_cores * asked.chip.neurons, dtype)
    bits = RandomBits(asked.seed, stream)
    for start in range(0, len(values) if bound > 1 else 0, 1 << 20):
        part = values[start : start + (1 << 20)]
        part[:] = bits.below(bound, len(part))
    return values.reshape(asked.shape)


def _neurons(asked: _Request, n_types: int) -> NeuronTable:
    chip, drive, active = asked.chip, asked.drive, ~asked.resting[:, None]
    potential = np.where(active, _draw(asked, _POTENTIALS, drive.threshold, np.int32), 0).astype(np.int32)
    leak = np.where(active, drive.leak, 0).astype(np.int16) * np.ones(chip.neurons, np.int16)
    threshold = np.full(asked.shape, drive.threshold, np.int32)
    reset = np.zeros(asked.shape, np.int32)
    weights = np.zeros((*asked.shape, chip.axon_types), np.int16)
    weights[:, :, 0:n_types:2], weights[:, :, 1:n_types:2] = 1, -1
    if asked.heterogeneous:
        # V' = scale V + offset evolves equally for any scale and offset
        signs = _balanced_signs(n_types)
        scale = _draw(asked, _SCALES, 2, np.int32) + np.int32(1)
        offset = _draw(asked, _OFFSETS, 16, np.int32)
        weights[:, :, :n_types] = signs[_draw(asked, _SIGNS, len(signs), np.int64)] * scale[:, :, None]
        leak = (leak * scale).astype(np.int16)
        threshold, potential, reset = threshold * scale + offset, potential * scale + offset, offset
    # greatest beta: noise may lower potentials without limit
    deepest = min(-chip.potential_range[0], 2**31 - 1)
    beta = min(-chip.threshold_range[0] if chip.rules.signed_threshold else chip.threshold_range[1], deepest)
    return NeuronTable(
        weights=adopted(weights),
        leak=adopted(leak),
        leak_reversal=adopted(np.zeros(asked.shape, np.bool_)),
        threshold=adopted(threshold),
        negative_threshold=adopted(np.full(asked.shape, beta, np.int32)),
        reset=adopted(reset),
        reset_mode=adopted(np.zeros(asked.shape, np.uint8)),
        saturate_negative=adopted(np.ones(asked.shape, np.bool_)),
        potential=adopted(potential),
    )


def _balanced_signs(n_types: int) -> NDArray[np.int16]:
    """Return patterns of n signs, half +1 and half -1, shape (patterns, n); at most the first 256."""
    chosen = islice(combinations(range(n_types), n_types // 2), 256)
    return np.array([[1 if axon_type in plus else -1 for axon_type in range(n_types)] for plus in chosen], np.int16)


def _nodes(asked: _Request) -> tuple[NodePort, ...]:
    n_resting = int(np.count_nonzero(asked.resting))
    sizes = {"active": asked.n_cores - n_resting, "at_rest": n_resting}
    return tuple(NodePort(name, n * asked.chip.neurons, "hidden", 0) for name, n in sizes.items() if n)


# Random bits that are equal on every machine and NumPy version, and rows of bits with an exact sum.


class RandomBits:
    """A stream of random bits: the raw output of a PCG64, which NumPy guarantees."""

    def __init__(self, seed: int, stream: int) -> None:
        self._bits = np.random.PCG64(np.random.SeedSequence([seed, stream]))

    def words(self, n: int) -> NDArray[np.uint64]:
        """Draw n words of 64 bits."""
        return np.asarray(self._bits.random_raw(n), dtype=np.uint64)

    def octets(self, n: int) -> NDArray[np.uint8]:
        """Draw n bytes."""
        return self.words(-(-n // 8)).astype("<u8", copy=False).view(np.uint8)[:n]

    def below(self, bound: int, n: int) -> NDArray[np.int64]:
        """Draw n integers from 0 to ``bound - 1``; ``bound`` must be far below 2**32 to avoid bias."""
        halves = self.words(-(-n // 2)).astype("<u8", copy=False).view("<u4")[:n]
        return ((halves.astype(np.uint64) * np.uint64(bound)) >> np.uint64(32)).astype(np.int64)


def set_bits(rows: NDArray[np.uint8], width: int, n_set: int, bits: RandomBits) -> None:
    """Set exactly ``n_set`` of ``width`` bits in every row, all choices equally likely."""
    # First, every bit is set with a probability near ``n_set / width``; then random bits are set or cleared in rows
    # with too few or too many. Neither step favours any place, so the outcome is uniform.
    # shapes: rows (n, ceil(width / 8))
    part = round(256 * n_set / width)
    part = 0 if part < 32 else 256 if part > 224 else part  # far from one half, starting from one end is faster
    if part == 256:
        rows[:] = 255
    started = False
    for place in range(8):  # binary digits of part / 256: AND halves a probability p, OR makes it (1 + p) / 2
        digit = bool(part >> place & 1)
        started |= digit
        if started:
            noise = bits.octets(rows.size).reshape(rows.shape)
            np.bitwise_or(rows, noise, out=rows) if digit else np.bitwise_and(rows, noise, out=rows)
    if width % 8:
        rows[:, -1] &= (1 << width % 8) - 1

    surplus = np.bitwise_count(rows).sum(axis=1, dtype=np.int64) - n_set
    todo = np.flatnonzero(surplus)
    while len(todo):
        place_of = bits.below(width, len(todo))
        bit = np.left_shift(1, place_of & 7).astype(np.uint8)
        is_set = (rows[todo, place_of >> 3] & bit) != 0
        hit = is_set == (surplus[todo] > 0)
        rows[todo[hit], place_of[hit] >> 3] ^= bit[hit]
        surplus[todo[hit]] -= np.where(is_set[hit], 1, -1)
        todo = todo[surplus[todo] != 0]
