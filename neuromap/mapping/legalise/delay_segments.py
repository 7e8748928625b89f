"""How every edge on the chip is given its delay: by the source alone, over a splitter, or over relays."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.legalise.legalised import Matrix
from neuromap.mapping.options.infeasibility import Remedy, count_cores, refuse
from neuromap.network.edge import EdgeKey
from neuromap.rollout.schedule.execution import chosen_period
from neuromap.rollout.schedule.rollout import Rollout

Matrices = Mapping[EdgeKey, Matrix]


def segments_of_edges(
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
        if segments_of_delay(delay, least, greatest) is None:
            raise refuse_delay(edge, delay, ticks_per_step, fewest_ticks_per_step(rollout, chip), chip)
    long = {edge: delay for edge, delay in delays.items() if delay > greatest}
    _require_room(long, matrices, chip, is_chosen=chosen_period(rollout.execution) is not None)
    long_of_source: dict[str, set[int]] = {}
    for (source, _), delay in long.items():
        long_of_source.setdefault(source, set()).add(delay)
    shared = {source: shared_segments(some, least, greatest) for source, some in long_of_source.items()}
    segments: dict[EdgeKey, tuple[int, ...]] = {}
    for edge, delay in delays.items():
        if edge in long:
            segments[edge] = shared[edge[0]][delay]
        elif edge in split:
            segments[edge] = (least, delay - least)
        else:
            segments[edge] = (delay,)
    return segments


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


# Why a delay cannot be given: no legs make it up, or its relays alone are more than the chip holds.
def refuse_delay(edge: EdgeKey, delay: int, ticks_per_step: int, enough: int, chip: ChipSpec) -> DoesNotFitError:
    """Refuse a delay that no legs can give."""
    # delay: its delay in ticks
    least, greatest = chip.delay
    text = (
        f"edge {edge[0]} -> {edge[1]} has a delay of {delay} tick{'s' * (delay != 1)} at {ticks_per_step} per step, "
        f"a {chip.name} neuron delays its spikes by {least} to {greatest}"
    )
    remedy = Remedy("ticks_per_step", enough, f"ticks_per_step = {enough} would do")
    segments = -(-delay // greatest)
    return refuse("delay", edge[1], segments * least, delay, text, [remedy])


def refuse_chain(edge: EdgeKey, delay: int, sources: int, chip: ChipSpec, *, is_chosen: bool) -> DoesNotFitError | None:
    """Refuse an edge whose relays alone are more than the chip holds, before any of them is made."""
    # delay: its delay in ticks
    # is_chosen: whether the frame period was chosen, so that a shorter one may be
    # gives for the caller to raise: limit ``delay``, its bound the longest delay whose relays all cores could hold;
    # ``None`` where they may fit
    greatest, room = chip.delay[1], min(chip.neurons, chip.axons)
    longest = greatest * (chip.n_usable_cores * room // sources + 1)
    if delay <= longest:
        return None
    per_source = -(-delay // greatest) - 1
    cores = -(-per_source * sources // room)
    text = (
        f"edge {edge[0]} -> {edge[1]} has a delay of {delay} ticks, whose {per_source} relays for each of {sources} "
        f"neurons need {count_cores(cores)}; {chip.name} has {chip.n_usable_cores}, enough for {longest} ticks"
    )
    remedies = [Remedy("chip.cores", None, f"a chip or board of more than {count_cores(cores)} may do")]
    if is_chosen:
        remedies.insert(0, Remedy("execution", None, "a shorter frame period takes fewer relays"))
    return refuse("delay", edge[1], delay, longest, text, remedies)


# How many ticks an update step takes at least.
def fewest_ticks_per_step(rollout: Rollout, chip: ChipSpec) -> int:
    """Find the fewest ticks of an update step with which every edge's delay can be given in legs."""
    # Edges from inputs are free: the host delivers (docs/mapping.md). The chip's least delay always works. A step of a
    # spiking network is one tick whatever the chip gives: its delays are part of what it computes.
    # rollout: its delays, in update steps or ticks
    if rollout.network.is_spiking:
        return 1
    least, greatest = chip.delay
    inputs = set(rollout.network.inputs)
    delays = {d for (u, _), d in rollout.delays.items() if u not in inputs}
    for ticks in range(1, least):
        if all(segments_of_delay(d * ticks, least, greatest) for d in delays):
            return ticks
    return least


# How long delays are given: in legs over relays, each within the range of one neuron.


def segments_of_delay(delay: int, least: int, greatest: int) -> tuple[int, ...] | None:
    """Split a delay into as few legal legs as possible, full ones first."""
    # gives ticks of the legs; ``None`` where no split is legal
    count = -(-delay // greatest)
    if count * least > delay:
        return None
    segments = [greatest] * (count - 1) + [delay - greatest * (count - 1)]
    lender = count - 2
    while segments[-1] < least:  # borrow from the full legs; each can lend greatest - least
        lent = min(least - segments[-1], greatest - least)
        segments[lender] -= lent
        segments[-1] += lent
        lender -= 1
    return tuple(segments)


def shared_segments(delays: Collection[int], least: int, greatest: int) -> dict[int, tuple[int, ...]]:
    """Split the long delays of one source so that they share as few relays as possible."""
    # A delay D needs a relay at an offset from D - greatest to D - least behind the source. Offsets are chosen in
    # rising order, each as late as the next unserved delay and the leg before it allow: the greedy rule for piercing
    # intervals, which is optimal where no leg has to be lengthened (least = 1).
    # least, greatest: range of one neuron in ticks
    segments_of: dict[int, tuple[int, ...]] = {}
    chain: list[int] = []
    offset = 0
    for delay in sorted(delays):
        while offset < delay - greatest:
            step = min(greatest, delay - least - offset)
            chain.append(step)
            offset += step
        segments_of[delay] = (*chain, delay - offset)
    if all(least <= segment <= greatest for segments in segments_of.values() for segment in segments):
        return segments_of
    alone = {delay: segments_of_delay(delay, least, greatest) for delay in delays}
    return {delay: segments for delay, segments in alone.items() if segments is not None}
