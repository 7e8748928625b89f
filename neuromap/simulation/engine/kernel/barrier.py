"""A barrier for threads that run compiled code, and the atomic words that it is made of."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types, uint64
from numba.extending import intrinsic

from neuromap.simulation.engine.kernel.emission import INLINED, INT32, WORD, address, call_llvm

inlined = njit(**INLINED)

# Words of the barrier, each on a cache line of its own.
_ARRIVED, _SENSE, ABORT, BARRIER_WORDS = 0, 16, 32, 48
# Looks at the barrier before the processor is offered to others, and before the thread sleeps between looks.
_PAUSES, _YIELDS = 4000, 200
# Microseconds of such a sleep.
_NAP = 50


@inlined
def wait(barrier: Any, n_threads: int, sense: int) -> bool:
    """Wait for all threads; False if the run was called off."""
    # It looks a while, then lets others run, then sleeps: a waiting thread does not keep a shared machine busy.
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
    """Rest between two looks at something, after so many of them."""
    if looks < _PAUSES:
        pause()
    elif looks < _PAUSES + _YIELDS:
        sleep(0)
    else:
        sleep(_NAP)


@intrinsic
def atomic_add(typing_context: Any, array: Any, index: Any) -> Any:
    """Add 1 to a word; the value before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.atomic_rmw("add", address(context, builder, array, *arguments), WORD(1), "seq_cst")

    return types.uint64(array, types.intp), generate


@intrinsic
def atomic_load(typing_context: Any, array: Any, index: Any) -> Any:
    """Read a word before anything that follows."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(address(context, builder, array, *arguments), "acquire", 8)

    return types.uint64(array, types.intp), generate


@intrinsic
def atomic_store(typing_context: Any, array: Any, index: Any, word: Any) -> Any:
    """Write a word after everything that came before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store_atomic(arguments[2], address(context, builder, array, *arguments[:2]), "release", 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.uint64), generate


@intrinsic
def atomic_or(typing_context: Any, array: Any, index: Any, word: Any) -> Any:
    """Set bits of a word that other threads may set bits of too."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.atomic_rmw("or", address(context, builder, array, *arguments[:2]), arguments[2], "monotonic")
        return context.get_dummy_value()

    return types.void(array, types.intp, types.uint64), generate


@intrinsic
def pause(typing_context: Any) -> Any:
    """Tell the processor that this is a waiting loop; nothing where it has no such instruction."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if builder.module.triple.startswith(("x86_64", "i686")):
            call_llvm(builder, "llvm.x86.sse2.pause", ir.VoidType(), [])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def sleep(typing_context: Any, microseconds: Any) -> Any:
    """Let other threads run for some time (``neuromap_sleep``, see ``kernel/compiled.py``)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        call_llvm(builder, "neuromap_sleep", INT32, [builder.trunc(arguments[0], INT32)])
        return context.get_dummy_value()

    return types.void(types.intp), generate
