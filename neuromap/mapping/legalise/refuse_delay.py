"""Why a delay cannot be given: no legs make it up, or its relays alone are more than the chip holds."""

from __future__ import annotations

from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.refused.infeasible import Remedy, count_cores, refuse
from neuromap.network.edge import EdgeKey

__all__ = ["refuse_chain", "refuse_delay"]


def refuse_delay(edge: EdgeKey, delay: int, ticks_per_step: int, enough: int, chip: ChipSpec) -> DoesNotFitError:
    """Refuse a delay that no legs can give."""
    # delay: its delay in ticks
    least, greatest = chip.delay
    text = (
        f"edge {edge[0]} -> {edge[1]} has a delay of {delay} tick{'s' * (delay != 1)} at {ticks_per_step} per step, "
        f"a {chip.name} neuron delays its spikes by {least} to {greatest}"
    )
    remedy = Remedy("ticks_per_step", enough, f"ticks_per_step = {enough} would do")
    legs = -(-delay // greatest)
    return refuse("delay", edge[1], legs * least, delay, text, [remedy])


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
