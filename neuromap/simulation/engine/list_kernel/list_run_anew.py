"""Many runs in one call: what the kernel for synapse lists does between two of them."""

from __future__ import annotations

from numba import njit

from neuromap.simulation.engine.kernel.run_anew import clear_values, copy_values
from neuromap.simulation.engine.kernel.vectors.lanes import INLINED
from neuromap.simulation.engine.list_kernel.list_layout import ListState, ListTeam

__all__ = ["begin_list_run"]

inlined = njit(**INLINED)


@inlined
def begin_list_run(state: ListState, start: ListState, team: ListTeam) -> None:
    """Bring a state back to the one that runs start from, in which nothing is under way; count from 0."""
    copy_values(state.current, start.current)
    copy_values(state.voltage, start.voltage)
    copy_values(state.resting, start.resting)
    copy_values(state.busy, start.busy)
    copy_values(state.rests, start.rests)
    copy_values(state.awake, start.awake)
    clear_values(state.due)
    clear_values(state.reached)
    clear_values(state.fed)
    clear_values(state.extra)
    clear_values(state.words)
    clear_values(team.totals)
