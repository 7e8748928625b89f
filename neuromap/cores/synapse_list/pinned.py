"""Neurons that users pin: tables of cores, nodes spread over cores of their own, regions of the board."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.value import Value
from neuromap.cores.synapse_list.list_network import ListNetwork, NeuronGroups
from neuromap.errors import InputError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.options.infeasibility import Limit, Remedy, refuse
from neuromap.mapping.options.options import Pins
from neuromap.mapping.place.board import Region


@dataclass(frozen=True, eq=False)
class Fixed(ReadOnly, Value):
    """Pins of neurons."""

    label: Ints  # (neurons of all populations,): equal for those that share a core, different for others; -1 if free
    region: Mapping[int, Region]  # of the board, by label; absent where the placer may choose


def fixed_by(pins: Pins, lists: ListNetwork, chip: ChipSpec) -> Fixed | None:
    """Convert pins to labels of neurons; None if nothing is pinned."""
    if not pins:
        return None
    label, own = np.full(lists.n_somas, -1, np.int64), chip.n_cores
    region: dict[int, Region] = {}
    for number, population in enumerate(lists.network.populations):
        name, at = population.name, slice(int(lists.offset[number]), int(lists.offset[number + 1]))
        if population.is_relay:
            continue
        if name in pins.neurons:
            label[at] = pins.neurons[name]
            cores = np.unique(np.asarray(pins.neurons[name])).tolist()
            region |= {c: (c % chip.columns, c // chip.columns) * 2 for c in cores}
            _require_inside(pins, name, region, cores)
        elif name in pins.cores:
            size = len(population.neurons)
            label[at] = own + np.arange(size) * pins.cores[name] // size
            if name in pins.regions:
                region |= dict.fromkeys(range(own, own + pins.cores[name]), pins.regions[name])
            own += pins.cores[name]
        elif name in pins.regions:
            raise InputError(
                f"pins: regions.{name}: its neurons may share cores with those of other nodes; pin its cores too, as "
                f"in cores.{name} = 4"
            )
    return Fixed(label, region)


def _require_inside(pins: Pins, name: str, region: dict[int, Region], cores: list[int]) -> None:
    x0, y0, x1, y1 = pins.regions.get(name, (0, 0, 2**31, 2**31))
    outside = [c for c in cores if not (x0 <= region[c][0] <= x1 and y0 <= region[c][1] <= y1)]
    if outside:
        raise InputError(
            f"pins: neurons.{name}: core {outside[0]} lies at {list(region[outside[0]][:2])}, outside of "
            f"regions.{name} = {list(pins.regions[name])}; leave one of them out"
        )


def free_groups(groups: NeuronGroups, is_free: Bools) -> NeuronGroups:
    """Select the free groups; signals of others count as the host's."""
    mine = np.flatnonzero(is_free)
    number = np.full(len(groups), -1, np.int64)
    number[mine] = np.arange(len(mine))
    degree = np.diff(groups.start)[mine]
    return replace(
        groups,
        neuron=groups.neuron[mine],
        start=np.append(0, np.cumsum(degree)),
        signal=groups.read_by(mine),
        load=groups.load[mine],
        synapses=groups.synapses[mine],
        sender=np.where(groups.sender >= 0, number[groups.sender], -1),
    )


def require_held(core: Ints, label: Ints, groups: NeuronGroups, lists: ListNetwork, chip: ChipSpec) -> None:
    """Refuse a core that holds more than fits; memory is checked once its lists are known."""
    # shapes: core, label (g,)
    signal, reader = groups.read_in(core)
    sender = groups.sender[signal]
    n_cores = int(core.max(initial=0)) + 1
    counts: tuple[tuple[Limit, str, Ints, int], ...] = (
        ("neuron", "neurons", np.bincount(core, groups.load, n_cores).astype(np.int64), chip.neurons),
        ("axons", "axons", np.bincount(reader, minlength=n_cores), chip.axons),
        (
            "output_axons",
            "output axons",
            np.bincount(core[sender[sender >= 0]], minlength=n_cores),
            chip.lists.output_axons,
        ),
    )
    for limit, what, found, most in counts:
        if (found > most).any():
            one = int(np.argmax(found))
            first = int(np.flatnonzero(core == one)[0])
            demand = int(found[one])
            place = f"core {label[first]}" if label[first] < chip.n_cores else "a core"
            text = f"the pins put {demand} {what} into {place}, one of {chip.name} has {most}"
            advice = Remedy("pins.neurons", None, "spread these neurons over more cores")
            raise refuse(limit, lists.node_of(int(groups.neuron[first])), demand, most, text, [advice])
