"""A barrier for threads that run compiled code, and the atomic operations it is built from."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types, uint64
from numba.extending import intrinsic

from neuromap.simulation.engine.kernel.lanes import INLINED, INT32, WORD, call_llvm, element, made

inlined = njit(**INLINED)

# Words of the barrier, each on its own cache line.
_ARRIVED, _SENSE, ABORT, BARRIER_WORDS = 0, 16, 32, 48
# Polls before the thread yields the processor, and further polls before it sleeps in between.
_PAUSES, _YIELDS = 4000, 200
# Microseconds of one sleep.
_NAP = 50


@inlined
def wait(barrier: Any, n_threads: int, sense: int) -> bool:
    """Wait for all threads; return False if the run was called off."""
    # Spins, then yields, then sleeps: a waiting thread does not keep a shared machine busy.
    if atomic_add(barrier, _ARRIVED) == uint64(n_threads - 1):
        atomic_store(barrier, _ARRIVED, uint64(0))
        atomic_store(barrier, _SENSE, sense)
        return True
    looks = 0
    while atomic_load(barrier, _SENSE) != sense:
        if atomic_load(barrier, ABORT) != uint64(0):
            return False
        looks += 1
        rest(looks)
    return True


@inlined
def rest(looks: int) -> None:
    """Pause, yield or sleep between two polls, depending on their number so far."""
    if looks < _PAUSES:
        pause()
    elif looks < _PAUSES + _YIELDS:
        sleep(0)
    else:
        sleep(_NAP)


@intrinsic
def atomic_add(typing_context: Any, array: Any, index: Any) -> Any:
    """Add 1 to a word; return its old value."""

    def emit(builder: Any, data: Any, index: Any) -> Any:
        return builder.atomic_rmw("add", element(builder, data, index), WORD(1), "seq_cst")

    return made(emit, types.uint64, array, types.intp)


@intrinsic
def atomic_load(typing_context: Any, array: Any, index: Any) -> Any:
    """Load a word with acquire ordering: before everything that follows."""

    def emit(builder: Any, data: Any, index: Any) -> Any:
        return builder.load_atomic(element(builder, data, index), "acquire", 8)

    return made(emit, types.uint64, array, types.intp)


@intrinsic
def atomic_store(typing_context: Any, array: Any, index: Any, word: Any) -> Any:
    """Store a word with release ordering: after everything before."""

    def emit(builder: Any, data: Any, index: Any, word: Any) -> None:
        builder.store_atomic(word, element(builder, data, index), "release", 8)

    return made(emit, types.void, array, types.intp, types.uint64)


@intrinsic
def atomic_or(typing_context: Any, array: Any, index: Any, word: Any) -> Any:
    """Set bits of a word in which other threads may set bits at the same time."""

    def emit(builder: Any, data: Any, index: Any, word: Any) -> None:
        builder.atomic_rmw("or", element(builder, data, index), word, "monotonic")

    return made(emit, types.void, array, types.intp, types.uint64)


@intrinsic
def pause(typing_context: Any) -> Any:
    """Hint to the processor that this is a spin loop; nothing on processors other than x86."""

    def emit(builder: Any) -> None:
        if builder.module.triple.startswith(("x86_64", "i686")):
            call_llvm(builder, "llvm.x86.sse2.pause", ir.VoidType(), [])

    return made(emit, types.void)


@intrinsic
def sleep(typing_context: Any, microseconds: Any) -> Any:
    """Sleep to let other threads run (``neuromap_sleep``, see ``kernel/compiled.py``)."""

    def emit(builder: Any, microseconds: Any) -> None:
        call_llvm(builder, "neuromap_sleep", INT32, [builder.trunc(microseconds, INT32)])

    return made(emit, types.void, types.intp)
