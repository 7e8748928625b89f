"""How every edge on the chip is given its delay: by the source alone, over a splitter, or over relays."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.legalise.delay_legs import legs_of_delay, shared_legs
from neuromap.mapping.legalise.legalised import Matrix
from neuromap.mapping.legalise.refuse_delay import refuse_chain, refuse_delay
from neuromap.mapping.legalise.ticks_per_step import fewest_ticks_per_step
from neuromap.network.edge import EdgeKey
from neuromap.rollout.schedule.execution import chosen_period
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["legs_of_edges"]

Matrices = Mapping[EdgeKey, Matrix]


def legs_of_edges(
    rollout: Rollout,
    chip: ChipSpec,
    ticks_per_step: int,
    split: frozenset[EdgeKey],
    matrices: Matrices,
    leads: Mapping[str, int],
) -> dict[EdgeKey, tuple[int, ...]]:
    """Say in which legs every edge on the chip that has weights is given its delay."""
    # split: edges whose spikes go over splitters. Their delay must have room for two legs
    least, greatest = chip.delay
    inputs = set(rollout.network.inputs)
    on_chip = {e: d for e, d in rollout.delays.items() if e[0] not in inputs and matrices[e].nnz}
    delays = {e: d * ticks_per_step - leads[e[1]] for e, d in on_chip.items()}
    for edge, delay in delays.items():
        if legs_of_delay(delay, least, greatest) is None:
            raise refuse_delay(edge, delay, ticks_per_step, fewest_ticks_per_step(rollout, chip), chip)
    long = {edge: delay for edge, delay in delays.items() if delay > greatest}
    _require_room(long, matrices, chip, is_chosen=chosen_period(rollout.execution) is not None)
    long_of_source: dict[str, set[int]] = {}
    for (source, _), delay in long.items():
        long_of_source.setdefault(source, set()).add(delay)
    shared = {source: shared_legs(some, least, greatest) for source, some in long_of_source.items()}
    legs: dict[EdgeKey, tuple[int, ...]] = {}
    for edge, delay in delays.items():
        if edge in long:
            legs[edge] = shared[edge[0]][delay]
        elif edge in split:
            legs[edge] = (least, delay - least)
        else:
            legs[edge] = (delay,)
    return legs


def _require_room(long: Mapping[EdgeKey, int], matrices: Matrices, chip: ChipSpec, *, is_chosen: bool) -> None:
    """Raise the refusal of the edge whose relays there is least room for, if there is one."""
    refused = []
    for edge, delay in long.items():
        sources = len(np.unique(matrices[edge].indices))
        refusal = refuse_chain(edge, delay, sources, chip, is_chosen=is_chosen)
        if refusal is not None:
            refused.append(refusal)
    if refused:
        raise min(refused, key=lambda refusal: refusal.infeasibility.bound)
