"""Why a network cannot be tiled although every neuron fits a core: copies on cycles, cores."""

from __future__ import annotations

import math
from collections.abc import Mapping

from neuromap.errors import DoesNotFitError
from neuromap.mapping.core.core_model import Cores
from neuromap.mapping.legalise.legalised import Legalised, Population
from neuromap.mapping.options.infeasible import Remedy, count_cores, refuse
from neuromap.mapping.tile.cycle_growth import CycleGrowth

__all__ = ["refuse_circle", "refuse_cores", "refuse_growth"]


def refuse_circle(network: Legalised, worst: int, demand: int, held: int, rounds: int) -> DoesNotFitError:
    """Refuse a cycle on which copies, axons and cores drive each other up."""
    node = _node_of(network, network.populations[worst])
    demand = max(demand, held + 1)  # else the next round would have settled it
    text = (
        f"copies did not settle in {rounds} rounds: its readers ask for {demand}, its cores hold {held}, and on its "
        "cycle every core more asks for more"
    )
    return refuse("copies", node, demand, held, text, [_smaller(node)])


def refuse_growth(network: Legalised, growth: CycleGrowth) -> DoesNotFitError:
    """Refuse a cycle on which every core asks for more copies than it holds, however it is tiled."""
    node = _node_of(network, network.populations[growth.worst])
    demand = max(math.ceil(growth.asked), growth.room + 1)  # as many as it holds, and one to be read
    of_each = growth.asked >= growth.room
    each, has = ("every core asks", "has") if of_each else ("cores ask, on balance,", "have")
    text = (
        f"copies cannot settle: on its cycle {each} for {demand} copies or more and {has} room for "
        f"{growth.room}, so that no number of cores is enough"
    )
    return refuse("copies", node, demand, growth.room, text, [_smaller(node)])


def refuse_cores(
    network: Legalised, used: Mapping[int, int], cores: Cores, *, given_up: bool = False
) -> DoesNotFitError:
    """Refuse a network that takes more cores than there are."""
    largest = max(used, key=lambda i: used[i])
    population, needed = network.populations[largest], sum(used.values())
    part = f"{used[largest]} for its largest part, {population.name}"
    more = "more than " if given_up else ""
    text = f"the network needs {more}{count_cores(needed)} ({part}), {cores.model.name} has {cores.usable}"
    value = None if given_up else needed
    remedy = Remedy("chip.cores", value, f"a chip or board of {more}{count_cores(needed)} would do")
    return refuse("cores", _node_of(network, population), needed, cores.usable, text, [remedy])


def _smaller(node: str) -> Remedy:
    return Remedy("size", None, f"fewer neurons or edges around {node}, or larger cores, may fit")


def _node_of(network: Legalised, population: Population) -> str:
    """Name the node that a population belongs to; of relays and splitters the one whose spikes they carry."""
    return network.ports[population.node].name
