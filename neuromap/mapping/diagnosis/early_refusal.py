"""Refuse before anything is tiled: where even the lower bound on cores exceeds the board."""

from __future__ import annotations

from collections.abc import Iterable

from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_file import list_chips
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.lower_bounds import core_bound
from neuromap.mapping.diagnosis.apply_remedy import Request
from neuromap.mapping.diagnosis.node_demands import NodeDemand, demands_of
from neuromap.mapping.legalise.legalise import legalise
from neuromap.mapping.options.budget import Budget
from neuromap.mapping.options.infeasible import Remedy, count_cores, refuse

__all__ = ["is_held", "may_change_schedule", "refuse_early"]

EARLY = 0.15
"""Part of the seconds asked for that the bound may take."""


def refuse_early(request: Request) -> DoesNotFitError | None:
    """Make the refusal of a network that no mapping brings onto the board."""
    # gives ``None`` where only the mapper can tell: also where a delay or a neuron does not fit, which it says better,
    # and where splitters, chosen or pinned, or other phases may change the schedule, on which the bound depends
    chip, options = request.chip, request.options
    if may_change_schedule(request):
        return None
    try:
        network = legalise(request.rollout, chip, ticks_per_step=options.ticks_per_step)
    except DoesNotFitError:
        return None
    if not is_held(demands_of(network, chip), chip):
        return None
    budget = Budget(None if options.seconds is None else EARLY * options.seconds)
    bound = core_bound(network, chip, proven=True, budget=budget)
    room = chip.n_usable_cores
    if bound.total <= room:
        return None
    alike = (c for c in list_chips() if c.core_model == chip.core_model and c.name != chip.name)
    enough = [c for c in alike if c.n_usable_cores >= bound.total]
    remedies = [
        Remedy("chip", c.name, f"chip {c.name} has {count_cores(c.n_usable_cores)}")
        for c in sorted(enough, key=lambda c: (c.n_cores, c.name))[:1]
    ]
    remedies.append(Remedy("chip.cores", None, f"a chip or board of {count_cores(bound.total)} at least is needed"))
    text = f"any mapping of the network needs at least {count_cores(bound.total)}, for its {bound.by}, {chip.name} has"
    return refuse("cores", None, bound.total, room, f"{text} {room}", remedies)


def may_change_schedule(request: Request) -> bool:
    """Whether the mapper may change the schedule: for splitters, chosen or pinned, for phases, or as it is in ticks."""
    options = request.options
    splits = request.chip.core_model == "crossbar" and (options.splitters == "anywhere" or options.pins.splitters)
    return bool(splits) or options.phases != "least" or request.rollout.is_tick_level


def is_held(nodes: Iterable[NodeDemand], chip: ChipSpec) -> bool:
    """Whether a core has the axons for each single neuron of these nodes: only then a bound on cores says something."""
    return all(node.axons is not None and node.axons <= chip.axons for node in nodes)
