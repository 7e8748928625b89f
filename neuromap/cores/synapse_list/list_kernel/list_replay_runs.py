"""Many runs in one call: what the kernel for synapse lists does between two of them."""

from __future__ import annotations

from numba import njit

from neuromap.cores.synapse_list.list_kernel.list_layout import ListState, ListTeam
from neuromap.simulation.engine.kernel.emission import INLINED
from neuromap.simulation.engine.kernel.words import clear_values, copy_values

inlined = njit(**INLINED)


@inlined
def begin_list_run(state: ListState, start: ListState, team: ListTeam) -> None:
    """Bring a state back to the one that runs start from, in which nothing is under way; count from 0."""
    copy_values(state.current, start.current, 0, len(start.current))
    copy_values(state.voltage, start.voltage, 0, len(start.voltage))
    copy_values(state.resting, start.resting, 0, len(start.resting))
    copy_values(state.busy, start.busy, 0, len(start.busy))
    copy_values(state.rests, start.rests, 0, len(start.rests))
    copy_values(state.awake, start.awake, 0, len(start.awake))
    clear_values(state.due)
    clear_values(state.reached)
    clear_values(state.fed)
    clear_values(state.extra)
    clear_values(state.words)
    clear_values(team.totals)
