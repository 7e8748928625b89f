"""Refuse before anything is tiled: where even the lower bound on cores exceeds the board."""

from __future__ import annotations

from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_file import list_chips
from neuromap.mapping.bounds.lower_bounds import core_bound
from neuromap.mapping.core.core_of import core_of
from neuromap.mapping.legalise.legalise import legalise
from neuromap.mapping.refused.infeasible import Remedy, count_cores, refuse
from neuromap.mapping.remedy.apply_remedy import Request
from neuromap.mapping.remedy.node_demands import NodeDemand, demands_of

__all__ = ["refuse_early"]


def refuse_early(request: Request) -> DoesNotFitError | None:
    """Make the refusal of a network that no mapping brings onto the board.

    Parameters
    ----------
    request : Request
        What should be mapped, how, and onto what.

    Returns
    -------
    DoesNotFitError or None
        ``None`` where only the mapper can tell: also where a delay or a neuron does not fit, which it says better,
        and where splitters, chosen or pinned, may change the schedule, on which the bound depends.

    Raises
    ------
    NetworkError
        If shapes, weights or thresholds are missing.
    """
    chip, options = request.chip, request.options
    if options.splitters == "anywhere" or options.pins.splitters or request.rollout.is_tick_level:
        return None
    try:
        network = legalise(request.rollout, chip, ticks_per_step=options.ticks_per_step)
    except DoesNotFitError:
        return None
    if not all(_is_held(node, chip.axons) for node in demands_of(network, core_of(chip))):
        return None
    bound = core_bound(network, chip, proven=True)
    room = chip.n_usable_cores
    if bound.total <= room:
        return None
    enough = [c for c in list_chips() if c.n_usable_cores >= bound.total and c.name != chip.name]
    remedies = [
        Remedy("chip", c.name, f"chip {c.name} has {count_cores(c.n_usable_cores)}")
        for c in sorted(enough, key=lambda c: (c.n_cores, c.name))[:1]
    ]
    remedies.append(Remedy("chip.cores", None, f"a chip or board of {count_cores(bound.total)} at least is needed"))
    text = f"any mapping of the network needs at least {count_cores(bound.total)}, for its {bound.by}, {chip.name} has"
    return refuse("cores", None, bound.total, room, f"{text} {room}", remedies)


def _is_held(node: NodeDemand, axons: int) -> bool:
    return node.axons is not None and node.axons <= axons
