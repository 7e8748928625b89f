"""The hand-written C kernel as an engine for programs of one class: the yardstick that neuromap's own is held to.

The class is what the characterisation network needs and no more, so that the C stays short: 256 x 256 cores, at
most 4 axon types, weights and leaks of 8 bits, no noise, no leak reversal, resets to a value or by subtraction,
delays 1 to 15, and potentials that stay within 16 bits of their threshold. Within the class nothing is assumed:
every neuron's weights, leak, reset and target are read from memory.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from benchmarks.engine.c_kernel.build import Instructions, compile_library
from neuromap.cores.crossbar.program import Program
from neuromap.errors import NotSupportedError

__all__ = ["CKernel", "require_supported"]

_SIZE = 256
_TYPES = 4
_SLOTS = 16
_REACH = 32767  # |V - threshold| that 16 bits hold on both sides
_HUGE_PAGE = 1 << 21

_CORE = np.dtype(
    [
        ("state", np.int16, _SIZE),
        ("leak", np.int8, _SIZE),
        ("weights", np.int8, (_TYPES, _SIZE)),
        ("axon_types", np.uint8, _SIZE // 4),
    ]
)
_SUMMARY = np.dtype(
    [
        ("bound", np.int32),
        ("largest_weight", np.int16),
        ("largest_leak", np.int16),
        ("largest_reset", np.int16),
        ("has_leak", np.uint8),
        ("quiet", np.uint8),
    ]
)
_RECORD = np.dtype([("target", np.uint32), ("keep", np.int16), ("add", np.int16)])


class _Chip(ctypes.Structure):
    """``chip_t`` of kernel.c."""

    _fields_ = [
        ("n_cores", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("cores", "summaries", "crossbar", "records", "due")),
    ]


class CKernel:
    """A chip that runs a program in C.

    Parameters
    ----------
    program : Program
        What is loaded; not changed.
    threads : int
        Threads, each with an equal share of the cores; results do not depend on it.
    instructions : {"native", "avx2"}
        Instruction set of the C.
    defines : tuple of str
        Macros of kernel.c, to tune it.

    Attributes
    ----------
    tick : int
        The tick that runs next; the first is 0.
    spike_counts : ndarray of int64, shape (tick,)
        Neurons that fired in every tick so far.
    axon_events : int
        Axons that were due so far, counted once per tick.

    Raises
    ------
    NotSupportedError
        If the program lies outside the class, or the C cannot be compiled.
    """

    def __init__(
        self,
        program: Program,
        threads: int = 1,
        *,
        instructions: Instructions = "native",
        defines: tuple[str, ...] = (),
    ) -> None:
        require_supported(program)
        if not 1 <= threads <= 64:
            raise NotSupportedError(f"C kernel: {threads} threads; 1 to 64 are supported")
        self._library = compile_library("kernel", instructions, defines)
        self._library.run_ticks.restype = ctypes.c_int64
        self.program = program
        self.threads = threads
        self.tick = 0
        self.axon_events = 0
        self.spike_counts = np.zeros(0, np.int64)
        self._arrays = {
            "cores": _cores(program),
            "summaries": _summaries(program),
            "crossbar": _crossbar(program),
            "records": _records(program),
            "due": _in_huge_pages((_SLOTS, program.n_cores, _SIZE // 64), np.uint64),
        }
        self._chip = _Chip(program.n_cores, *(array.ctypes.data for array in self._arrays.values()))

    def feed(self, cores: ArrayLike, axons: ArrayLike) -> None:
        """Make axons due in the next tick, as the host does.

        Parameters
        ----------
        cores, axons : array_like of int, shape (n,)
            The axons.
        """
        cores, axons = np.asarray(cores, np.int64), np.asarray(axons, np.int64)
        bits = np.uint64(1) << (axons % 64).astype(np.uint64)
        np.bitwise_or.at(self._arrays["due"][self.tick % _SLOTS], (cores, axons // 64), bits)

    def run(self, n_ticks: int, *, record: bool = False) -> NDArray[np.uint8] | None:
        """Run some ticks.

        Parameters
        ----------
        n_ticks : int
            How many.
        record : bool
            Whether to return which neurons fired.

        Returns
        -------
        ndarray of uint8, shape (n_ticks, C, 32), or None
            The spikes, neuron n at bit n % 8 (little bit order) of byte n // 8.

        Raises
        ------
        NotSupportedError
            If a potential might have left 16 bits around its threshold; then the run is void.
        """
        counts = np.zeros((n_ticks, self.threads), np.int64)
        recorded = np.zeros((n_ticks, self.program.n_cores, _SIZE // 8), np.uint8) if record else None
        events = ctypes.c_int64(0)
        result = self._library.run_ticks(
            ctypes.byref(self._chip),
            ctypes.c_int(self.threads),
            ctypes.c_int64(self.tick),
            ctypes.c_int64(n_ticks),
            ctypes.c_void_p(counts.ctypes.data),
            ctypes.c_void_p(None if recorded is None else recorded.ctypes.data),
            ctypes.byref(events),
        )
        if result == -2:
            raise NotSupportedError(f"C kernel: no memory or threads left for {self.threads} threads; use fewer")
        if result >= 0:
            raise NotSupportedError(
                f"C kernel: a potential of core {result} may lie more than {_REACH} from its threshold "
                f"before tick {self.tick + n_ticks}; the run is void, use an engine of neuromap"
            )
        self.tick += n_ticks
        self.axon_events += events.value
        self.spike_counts = np.concatenate([self.spike_counts, counts.sum(axis=1)])
        return recorded

    @property
    def potentials(self) -> NDArray[np.int64]:
        """Potentials V of all neurons after the last tick, a copy, shape (C, 256)."""
        return self._arrays["cores"]["state"].astype(np.int64) + self.program.neurons.threshold

    @property
    def pending(self) -> NDArray[np.int64]:
        """Spikes under way as sorted rows (tick at which it is due, core, axon), shape (n, 3)."""
        due = np.unpackbits(self._arrays["due"].view(np.uint8), axis=2, bitorder="little")
        ahead, core, axon = np.nonzero(np.roll(due, -(self.tick % _SLOTS), axis=0))
        return np.stack([self.tick + ahead, core, axon], axis=1)

    @property
    def hot_bytes(self) -> int:
        """Bytes that the kernel may touch, all arrays together."""
        return sum(array.nbytes for array in self._arrays.values())


def require_supported(program: Program) -> None:
    """Refuse programs outside the class of the C kernel.

    Parameters
    ----------
    program : Program
        Any well-formed program.

    Raises
    ------
    NotSupportedError
        Names the first property that is outside.
    """
    chip, neurons = program.chip, program.neurons
    noise = ("stochastic_weight", "stochastic_leak", "noise_bits")
    low, high = chip.potential_range
    threshold = neurons.threshold.astype(np.int64)
    reset_to = np.where(neurons.reset_mode == 0, neurons.reset - threshold, 0)
    start = neurons.potential - threshold
    lowest = (threshold - _REACH).min(initial=0)

    def outside(values: NDArray[Any], least: int, most: int) -> str:
        """Say which values are outside their bounds; empty if none is."""
        wrong = values[(values < least) | (values > most)]
        return f"{wrong[0]} is outside {least} to {most}" if len(wrong) else ""

    reasons = {
        "cores": "" if program.axon_types.shape[1:] == threshold.shape[1:] == (_SIZE,) else "are not 256 x 256",
        "axon types": outside(program.axon_types, 0, _TYPES - 1),
        "weights": outside(neurons.weights, -128, 127),
        "leaks": outside(neurons.leak, -128, 127),
        "noise": "is used" if any(_is_set(getattr(neurons, name, None)) for name in noise) else "",
        "leak reversal": "is used" if neurons.leak_reversal.any() else "",
        "thresholds": outside(threshold, 0, _REACH),
        "reset modes": outside(neurons.reset_mode, 0, 1),
        "resets, from the threshold,": outside(reset_to, -_REACH, _REACH),
        "potentials at the start, from the threshold,": outside(start, -_REACH, _REACH),
        "negative thresholds": outside(-neurons.negative_threshold.astype(np.int64), -(2**40), int(lowest) - 1),
        "rails": "" if low <= lowest and threshold.max(initial=0) + _REACH <= high else "are too near",
        "delays": outside(program.delay[program.target_core >= 0], 1, _SLOTS - 1),
        "number of cores": outside(np.array([program.n_cores]), 1, 1 << 20),
    }
    for what, reason in reasons.items():
        if reason:
            raise NotSupportedError(f"C kernel: {what} {reason}; use an engine of neuromap for this program")


def _is_set(mode: NDArray[Any] | None) -> bool:
    """Whether a stochastic mode is used by any neuron."""
    return mode is not None and bool(mode.any())


def _in_huge_pages(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Zeros at the start of a huge page: random access to 4 KiB pages would spend its time in page tables."""
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = mmap.mmap(-1, n_bytes + _HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # shared ones get none
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    plain = np.frombuffer(memory, np.uint8)
    start = -plain.ctypes.data % _HUGE_PAGE
    memory_of_array: NDArray[Any] = plain[start : start + n_bytes].view(dtype)
    return memory_of_array.reshape(shape)


def _cores(program: Program) -> NDArray[Any]:
    """``core_t`` of kernel.c, shape (C,)."""
    neurons = program.neurons
    cores = _in_huge_pages((program.n_cores,), _CORE)
    cores["state"] = neurons.potential - neurons.threshold
    cores["leak"] = neurons.leak
    cores["weights"][:, : neurons.weights.shape[2]] = neurons.weights.transpose(0, 2, 1)
    for place in range(4):
        cores["axon_types"] |= program.axon_types[:, place::4] << 2 * place
    return cores


def _summaries(program: Program) -> NDArray[Any]:
    """``summary_t`` of kernel.c, shape (C,)."""
    neurons = program.neurons
    summaries = _in_huge_pages((program.n_cores,), _SUMMARY)
    reset = np.abs(_reset_addend(program)).max(axis=1)
    summaries["largest_weight"] = np.abs(neurons.weights).max(axis=(1, 2))
    summaries["largest_leak"] = np.abs(neurons.leak).max(axis=1)
    summaries["largest_reset"] = reset
    summaries["has_leak"] = neurons.leak.any(axis=1)
    summaries["bound"] = np.maximum(reset, np.abs(neurons.potential - neurons.threshold).max(axis=1))
    return summaries


def _crossbar(program: Program) -> NDArray[np.uint8]:
    """Rows of synapse bits, shape (C, 256, 32): a copy in huge pages."""
    crossbar = _in_huge_pages(program.crossbar.shape, np.uint8)
    crossbar[:] = program.crossbar
    return crossbar


def _records(program: Program) -> NDArray[Any]:
    """``record_t`` of kernel.c, shape (C, 256)."""
    records = _in_huge_pages(program.target_core.shape, _RECORD)
    target = program.target_core.astype(np.int64) << 12 | program.target_axon << 4 | program.delay
    records["target"] = np.where(program.target_core >= 0, target, 0)
    records["keep"] = -(program.neurons.reset_mode == 1).astype(np.int16)
    records["add"] = _reset_addend(program)
    return records


def _reset_addend(program: Program) -> NDArray[np.int32]:
    """Give what a reset adds to the kept part of U = V - threshold: R - threshold, or -threshold by subtraction."""
    neurons = program.neurons
    return np.where(neurons.reset_mode == 1, 0, neurons.reset) - neurons.threshold
