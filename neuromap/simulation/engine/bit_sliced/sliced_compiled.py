"""The compiled entry points of bit-sliced batches, cached on disk under a stamp of everything that they are made of.

They are compiled once for all sizes of cores.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from neuromap.compiling import cached
from neuromap.simulation.engine.bit_sliced.between import keep_fired
from neuromap.simulation.engine.bit_sliced.sliced_tick import run_sliced_ticks
from neuromap.simulation.engine.bit_sliced.synapse_lists import fill_lists, weigh_synapses
from neuromap.simulation.engine.bit_sliced.transposed import list_planes, make_planes
from neuromap.simulation.engine.kernel.compiled import compiled, kernel_stamp


class SlicedKernel(NamedTuple):
    """Numba dispatchers, all without the interpreter's lock; they take what the functions of their names take."""

    weigh_synapses: Any
    fill_lists: Any
    make_planes: Any
    run_ticks: Any
    keep_fired: Any
    list_planes: Any


@cache
def sliced_kernel() -> SlicedKernel:
    """Entry points for this machine."""
    compiled()  # refuses where nothing may be compiled
    functions = (weigh_synapses, fill_lists, make_planes, run_sliced_ticks, keep_fired, list_planes)
    stamp = _stamp()
    return SlicedKernel(*(_entry(function.py_func, stamp) for function in functions))


def _entry(function: Callable[..., Any], stamp: str) -> Any:
    function.__qualname__ = f"{function.__name__}_{stamp[:20]}"  # Numba names its files so
    return cached(function, _nrt=False)


def _stamp() -> str:
    """Digest of these files and of what they are built on."""
    digest = hashlib.sha256(kernel_stamp().encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
