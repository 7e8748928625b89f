"""What neurons of a synapse-list core compute: lemmas of ``docs/theorems/program-proofs.md``."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.cores.synapse_list.program import ListProgram
from neuromap.proof.codes import ABSENT, PARAMETERS, RAILS, REST, LiftedNeurons

Codes = NDArray[np.uint8]
_VALUES = ("current_decay", "voltage_decay", "threshold", "bias", "refractory", "current", "voltage")
_OPTIONS = {"reset": 0, "floor": 2**31 - 1, "subtract": 0}
_WIDTHS = ("decay_bits", "current_bits", "voltage_bits", "accumulator_bits", "sum_wraps")
_SCALED = ("threshold", "bias", "current", "voltage", "reset")


def _values_of(program: ListProgram, core: int) -> dict[str, Ints]:
    """Read the parameters of a core's neurons; options that no neuron has get neutral values."""
    values = {}
    for name in (*_VALUES, *_OPTIONS):
        table = getattr(program.neurons, name)
        values[name] = np.full(program.shape[1], _OPTIONS[name]) if table is None else table[core].astype(np.int64)
    return values


def forgetting(program: ListProgram, core: int, low: Ints, high: Ints) -> tuple[Ints, Codes]:
    """Return each neuron's least spiking sum, and why it does not forget, 0 if it does (Lemma 3)."""
    neurons, lists = program.neurons, program.chip.lists
    whole = 1 << lists.decay_bits
    threshold, bias = neurons.threshold[core].astype(np.int64), neurons.bias[core].astype(np.int64)
    found = np.zeros(len(threshold), np.uint8)
    forgets = (neurons.current_decay[core] == whole) & (neurons.voltage_decay[core] == whole)
    forgets &= (neurons.refractory[core] == 0) & (threshold >= 0)
    if neurons.joined is not None:
        joined = neurons.joined[core]
        forgets &= joined < 0
        forgets[joined[joined >= 0]] = False
    if neurons.floor is not None:
        forgets &= neurons.floor[core] >= 0
    found[~forgets] = REST
    bound = lists.greatest_sum
    least, most = low + np.minimum(bias, 0), high + np.maximum(bias, 0)
    found[(low < -bound) | (high > bound) | (lists.sum_wraps & ((least < -bound) | (most > bound)))] = RAILS
    rail = (1 << program.chip.potential_bits - 1) - 1
    # A voltage stops at the rail, so a threshold at or above it is never passed.
    return np.where(threshold >= rail, most + 1, threshold + 1 - bias), found


def remembering(
    program: ListProgram, core: int, wanted: Mapping[str, Ints], part: Ints, power: Ints, low: Ints, high: Ints
) -> Codes:
    """Return why each neuron is not the network's neuron with these parameters; 0 if it is (Lemmas 7 and 8)."""
    chip = program.chip
    found = np.zeros(program.shape[1], np.uint8)
    if not wanted.keys() >= {*_VALUES, *_OPTIONS, *_WIDTHS}:
        return np.full_like(found, PARAMETERS)
    widths = {"current_bits": chip.lists.current_bits, "voltage_bits": chip.potential_bits}
    rail = (1 << wanted["voltage_bits"] - 1) - 1
    differs = wanted["decay_bits"] != chip.lists.decay_bits
    differs |= wanted["sum_wraps"] != int(chip.lists.sum_wraps)
    for name, value in _values_of(program, core).items():
        right = wanted[name] << power if name in _SCALED else wanted[name]
        if name == "floor":  # a floor at the rail or below is none
            right = np.minimum(((right + 1) << power) - 1, rail_of(chip.potential_bits))
            value = np.minimum(value, rail_of(chip.potential_bits))
        differs |= value != right
    narrower = wanted["current_bits"] + power == widths["current_bits"]
    narrower &= wanted["voltage_bits"] + power == widths["voltage_bits"]
    sums = np.minimum(wanted["accumulator_bits"], wanted["current_bits"])
    narrower &= sums + power == min(chip.lists.accumulator_bits, chip.lists.current_bits)
    decays = [wanted[name] for name in wanted if "decay" in name and name != "decay_bits"]
    whole = 1 << chip.lists.decay_bits
    commutes = np.all([(decay == 0) | (decay == whole) | (decay == ABSENT) for decay in decays], axis=0)
    exact = narrower & ((power == 0) | (commutes & (wanted["subtract"] == 0) & (wanted["threshold"] < rail)))
    inside = commutes & _inside(wanted, power, low, high, min(chip.lists.greatest_sum, rail_of(chip.potential_bits)))
    found[~exact & ~inside] = RAILS
    return np.where(differs | _currents_differ(program, core, wanted, part), PARAMETERS, found).astype(np.uint8)


# Reasons why a neuron is not a :class:`~neuromap.network.spiking_neuron.CurrentNeuron`.
NO_NEURON = (
    "",
    "has a threshold below 0",
    "has a further current that does not start at 0",
    "adds what the host feeds in every tick to a current that lasts or may wrap",
)


def lifted(program: ListProgram, core: int, low: Ints, high: Ints, clock: Ints) -> LiftedNeurons:
    """Find the network neurons that these are; ``clock`` arrives in every tick, not counted in ``low`` and ``high``."""
    neurons, chip = program.neurons, program.chip
    least, most = low + np.minimum(clock, 0), high + np.maximum(clock, 0)
    reaches, code = forgetting(program, core, least, most)
    values = _values_of(program, core)
    values["reset"] = np.where(values["subtract"] == 1, 0, values["reset"])
    # a floor at the rail or below is none
    values["floor"] = np.where(values["floor"] >= rail_of(chip.potential_bits), _OPTIONS["floor"], values["floor"])
    values["bias"] = values["bias"] + clock
    values |= {
        name: np.full(len(reaches), width) for name, width in chip.lists.neuron_widths(chip.potential_bits).items()
    }
    wrong = np.zeros(len(reaches), np.uint8)
    bound = chip.lists.greatest_sum
    lasts = (values["current_decay"] != 1 << chip.lists.decay_bits) | (least < -bound) | (most > bound)
    wrong[(clock != 0) & lasts] = 3
    if neurons.joined is not None:
        joined = neurons.joined[core]
        mine = np.flatnonzero(joined >= 0)
        wrong[joined[mine[clock[mine] != 0]]] = 3
        # the k-th compartment joined to a neuron holds its current k, from 1
        order = mine[np.argsort(joined[mine], kind="stable")]
        place = np.arange(len(order)) - np.searchsorted(joined[order], joined[order]) + 1
        for k in range(1, int(place.max(initial=0)) + 1):
            values[f"more_current_decays.{k}"] = np.full(len(reaches), 1 << chip.lists.decay_bits)
            values[f"more_current_decays.{k}"][joined[order[place == k]]] = values["current_decay"][order[place == k]]
        wrong[joined[mine[values["current"][mine] != 0]]] = 2
    wrong[values["threshold"] < 0] = 1
    return LiftedNeurons(values, code == 0, reaches - clock, wrong)


def either(program: ListProgram) -> tuple[dict[str, int], int]:
    """Return the neuron that is 1 if anything arrives, and the most that may arrive."""
    lists = program.chip.lists
    whole = 1 << lists.decay_bits
    values = dict.fromkeys(_VALUES, 0) | _OPTIONS | lists.neuron_widths(program.chip.potential_bits)
    values |= {"current_decay": whole, "voltage_decay": whole, "more_current_decays": whole}
    # No sum of it is below 0, so any floor will do; some chips have one for all neurons.
    floor = program.neurons.floor
    if floor is not None and floor.size and floor.min() < rail_of(program.chip.potential_bits):
        values["floor"] = int(floor.min())
    return values, lists.greatest_sum


def rail_of(bits: int) -> int:
    """Return the greatest voltage of a width."""
    return int((1 << bits - 1) - 1)


def _currents_differ(program: ListProgram, core: int, wanted: Mapping[str, Ints], part: Ints) -> Bools:
    """Whether the currents joined to a neuron are not its further ones; those that nothing feeds are 0."""
    if program.neurons.joined is None:
        none: Bools = part != 0
        return none
    joined, neurons = program.neurons.joined[core], program.neurons
    differs: Bools = (joined < 0) & (part != 0)
    held = np.flatnonzero(joined >= 0)
    soma, current = joined[held].astype(np.int64), part[held]
    _, first = np.unique(soma * (int(current.max(initial=0)) + 1) + current, return_index=True)
    right = np.isin(np.arange(len(held)), first) & (neurons.current[core, held] == 0)
    decay = np.full(len(held), ABSENT)
    for k in np.unique(current).tolist():
        if (values := wanted.get(f"more_current_decays.{k}")) is not None:
            decay[current == k] = values[soma[current == k]]
    differs[soma[~right | (decay != neurons.current_decay[core, held])]] = True
    return differs


def _inside(wanted: Mapping[str, Ints], power: Ints, low: Ints, high: Ints, bound: int) -> Bools:
    """Whether no current wraps and no voltage meets a rail, of chip or network, for any input (Lemma 8)."""
    keeps = np.any([wanted[name] == 0 for name in wanted if "current_decay" in name], axis=0)
    endless = keeps & ((low < 0) | (high > 0) | (wanted["current"] != 0))
    adds_up = wanted["voltage_decay"] == 0
    bias, current, voltage = (wanted[name] << power for name in ("bias", "current", "voltage"))
    down = -low + np.maximum(-bias, 0) + np.maximum(-current, 0)
    up = high + np.maximum(bias, 0) + np.maximum(current, 0)
    floor = np.where(wanted["floor"] >= rail_of(32), rail_of(62), (wanted["floor"] + 1) << power)
    endless |= adds_up & (down > 0) & (floor == rail_of(62))
    endless |= adds_up & (wanted["subtract"] == 1) & (up > wanted["threshold"] << power)
    # Drives downward add up, tick by tick, as far as the floor lets them.
    deepest = np.where(adds_up, np.where(down > 0, floor, np.maximum(-voltage, 0)), np.minimum(down, floor))
    top = up + (np.maximum(np.maximum(wanted["threshold"], wanted["voltage"]), wanted["reset"]) << power)
    limit = np.minimum(bound, ((1 << wanted["voltage_bits"] - 1) - 1) << power)
    limit = np.minimum(limit, ((1 << np.minimum(wanted["current_bits"], wanted["accumulator_bits"]) - 1) - 1) << power)
    inside: Bools = ~endless & (np.maximum(deepest, top) <= limit)
    return inside
