"""Whether the weights of a list are ones that the chip can hold: mantissas times one power of 2."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.lists.fill_cores import ListPartition
from neuromap.mapping.refused.infeasible import Remedy, refuse

__all__ = ["require_weights_held"]

Ints = NDArray[np.int64]


def require_weights_held(parts: ListPartition, chip: ChipSpec) -> None:
    """Refuse weights that no list of the chip holds, and drives that overflow a frame neuron."""
    lists = parts.lists
    target = lists.target
    pair = parts.core[target] * lists.n_signals + lists.signal
    _, number = np.unique(pair, return_inverse=True)
    size = int(number.max(initial=-1)) + 1
    most, rest = np.zeros(size, np.int64), np.zeros(size, np.int64)
    has_plus, has_minus = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    np.maximum.at(most, number, np.abs(lists.weight))
    np.bitwise_or.at(rest, number, np.abs(lists.weight))
    has_plus[number[lists.weight > 0]] = True
    has_minus[number[lists.weight < 0]] = True
    least, greatest = chip.lists.weight_shifts
    low_zeros = np.where(rest > 0, np.bitwise_count((rest & -rest) - 1), greatest).astype(np.int64)
    step = np.where(has_plus & has_minus, chip.lists.mixed_sign_step.bit_length() - 1, 0)
    shift = np.clip(low_zeros - step, least, greatest)
    held = (most >> shift <= chip.weight_range[1]) & (low_zeros >= shift + step)
    if not held.all():
        wrong = int(number[np.argmin(held[number])])
        unit, signs = int(low_zeros[wrong]), int(step[wrong])
        mixed = " of both signs" if signs else ""
        head = f"weights{mixed} up to {most[wrong]}, multiples of {1 << unit}, lie in one list; {chip.name} holds"
        if unit < least + signs:
            demand, bound = 1 << (least + signs), 1 << unit
            text = f"{head} such as are multiples of {demand}"
        else:
            demand = int(most[wrong] >> (unit - signs)).bit_length()
            bound = int(chip.weight_range[1]).bit_length()
            text = f"{head} {bound} bits and the sign times one power of 2, up to 2^{greatest}, and they take {demand}"
        node = lists.node_of(int(target[np.argmin(held[number])]))
        remedy = Remedy("weights", None, "round the weights of each source to fewer bits")
        raise refuse("weights", node, max(demand, bound + 1), bound, text, [remedy])
    _require_drives_held(parts, chip)


def _require_drives_held(parts: ListPartition, chip: ChipSpec) -> None:
    """Frame neurons are exact only where neither current nor voltage meets its rails."""
    lists = parts.lists
    pairs = zip(lists.neurons, lists.network.populations, strict=True)
    is_frame = np.concatenate([np.full(len(n.bias), p.neuron is None) for n, p in pairs])[lists.soma]
    drive = np.zeros(lists.n_neurons, np.int64)
    np.add.at(drive, lists.target, np.abs(lists.weight))
    bound = min(chip.lists.current_range[1], chip.potential_range[1])
    too_great = np.flatnonzero(is_frame & (drive > bound))
    if len(too_great):
        demand = int(drive[too_great[0]])
        text = (
            f"the weights of one neuron sum up to {demand} in units of its current, which holds {bound} in {chip.name}"
        )
        remedy = Remedy("chip.potential_bits", demand.bit_length() + 1, "wider currents and voltages would hold it")
        raise refuse("potential", lists.node_of(int(too_great[0])), demand, bound, text, [remedy])
