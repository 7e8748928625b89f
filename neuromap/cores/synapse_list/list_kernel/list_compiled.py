"""The compiled entry point for synapse lists, cached on disk under a stamp of everything that it is made of."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from neuromap.compiling import cached
from neuromap.cores.synapse_list.list_kernel.list_replay_runs import begin_list_run
from neuromap.cores.synapse_list.list_kernel.list_tick import run_list_ticks
from neuromap.simulation.engine.kernel.compiled import compiled, kernel_stamp
from neuromap.simulation.engine.kernel.replay_runs import record_from


@cache
def list_kernel() -> Any:
    """:func:`~neuromap.cores.synapse_list.list_kernel.list_tick.run_list_ticks`, without the interpreter's lock."""
    # Once, or ``n_runs`` times, each from the state ``start``.
    compiled()  # refuses where nothing may be compiled, and gives kernels the operating system's sleep

    def run(  # type: ignore[no-untyped-def]
        image, state, start, team, me, first_tick, n_ticks, n_runs, epoch, events, event_tick, record
    ):
        for k in range(max(n_runs, 1)):
            if n_runs > 0:
                begin_list_run(state, start, team)
            kept = record_from(record, image.shape.lanes // 32, k * n_ticks)
            run_list_ticks(image, state, team, me, first_tick, n_ticks, epoch, events, event_tick + k * n_ticks, kept)

    run.__qualname__ = f"run_lists_{_stamp()[:20]}"  # Numba names its files so
    return cached(run, _nrt=False)


def _stamp() -> str:
    """Digest of these files and of what they are built on."""
    digest = hashlib.sha256(kernel_stamp().encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
