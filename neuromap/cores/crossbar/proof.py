"""What a neuron of a crossbar computes: lemmas of ``docs/theorems/program-proofs.md``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.cores.crossbar.program import Program
from neuromap.proof.codes import PARAMETERS, RAILS, RANDOM, REST, LiftedNeurons

Codes = NDArray[np.uint8]


# Parameters of a :class:`~neuromap.network.spiking_neuron.LeakNeuron`, and the tables that hold them.
_TABLES = {
    "threshold": "threshold",
    "leak": "leak",
    "floor": "negative_threshold",
    "potential": "potential",
    "subtract": "reset_mode",
}


def _values_of(program: Program, core: int) -> dict[str, Ints]:
    return {name: getattr(program.neurons, table)[core].astype(np.int64) for name, table in _TABLES.items()}


def forgetting(program: Program, core: int, low: Ints, high: Ints) -> tuple[Ints, Codes]:
    """Give the sum from which each neuron spikes, and why it is no neuron that forgets; 0 where it is (Lemma 3)."""
    neurons = program.neurons
    alpha, beta, leak, reset = (
        table[core].astype(np.int64)
        for table in (neurons.threshold, neurons.negative_threshold, neurons.leak, neurons.reset)
    )
    gamma, kappa = neurons.reset_mode[core], neurons.saturate_negative[core]
    least, most = low + leak, high + leak
    # from which potential on it is below the negative threshold
    under = -beta if program.chip.rules.negative_comparison == "<=" else -beta - 1
    # Every potential that a tick can leave must be 0: after a spike, below the negative threshold, and in between.
    spike_leaves = np.where(
        gamma == 0, reset == 0, _only(np.maximum(alpha, least), most, np.where(gamma == 1, alpha, 0))
    )
    below = np.minimum(under, np.minimum(most, alpha - 1))
    below_leaves = np.where(
        kappa, beta == 0, np.where(gamma == 0, reset == 0, _only(least, below, np.where(gamma == 1, -beta, 0)))
    )
    between = _only(np.maximum(under + 1, least), np.minimum(alpha - 1, most), np.zeros_like(alpha))
    forgets = (spike_leaves | (most < alpha)) & (below_leaves | (least > below)) & between
    found = np.zeros(len(alpha), np.uint8)
    found[~forgets | (neurons.potential[core] != 0) | (neurons.leak_reversal[core] & (leak != 0))] = REST
    rails = program.chip.potential_range
    found[(low < rails[0]) | (high > rails[1]) | (least < rails[0]) | (most > rails[1])] = RAILS
    found[_random(program, core)] = RANDOM
    return alpha - leak, found


def _only(low: Ints, high: Ints, value: Ints) -> NDArray[np.bool_]:
    """Whether nothing but a value lies between two bounds."""
    only: NDArray[np.bool_] = (low > high) | ((low == high) & (low == value))
    return only


def _random(program: Program, core: int) -> NDArray[np.bool_]:
    neurons = program.neurons
    random = np.zeros(program.shape[1], np.bool_)
    for table in (neurons.stochastic_weight, neurons.stochastic_leak, neurons.noise_bits):
        if table is not None:
            random |= table[core].reshape(len(random), -1).any(axis=1)
    return random


def remembering(
    program: Program, core: int, wanted: Mapping[str, Ints], part: Ints, power: Ints, low: Ints, high: Ints
) -> Codes:
    """Say why each neuron is not the network's neuron of these parameters; 0 where it is (Lemma 7)."""
    neurons, found = program.neurons, np.zeros(program.shape[1], np.uint8)
    has = _values_of(program, core)
    if set(has) != set(wanted):
        return np.full_like(found, PARAMETERS)
    differs = (power != 0) | (part != 0) | ~neurons.saturate_negative[core] | (neurons.reset[core] != 0)
    differs |= neurons.leak_reversal[core] & (neurons.leak[core] != 0)
    for name, values in has.items():
        differs |= values != wanted[name]
    found[_meets_rails(program, wanted, low, high)] = RAILS
    found[differs] = PARAMETERS
    found[_random(program, core)] = RANDOM
    return found


class Counting(NamedTuple):
    """A neuron of which nothing is random: what it does is a function of its potential."""

    potential: int
    leak: int
    threshold: int
    below: int  # potential from which on it is below the negative threshold
    after_spike: int  # where a spike leaves it, or how much it takes off
    after_below: int
    gamma: int
    kappa: bool

    def step(self, total: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """Give potentials after a tick, and spikes, for potentials to which all has been added that arrives."""
        total = total + self.leak
        spikes = total >= self.threshold
        below = ~spikes & (total <= self.below)
        kept = np.zeros_like(total) if self.gamma == 0 else total
        after = np.where(spikes, kept + self.after_spike, total)
        return np.where(below, (0 if self.kappa else kept) + self.after_below, after), spikes


def counting(program: Program, core: int, neuron: int) -> Counting | None:
    """Read a neuron as one that counts; None where it draws at random, or leaks by the sign of its potential."""
    neurons = program.neurons
    names = ("potential", "leak", "threshold", "negative_threshold", "reset", "reset_mode")
    potential, leak, alpha, beta, reset, gamma = (int(getattr(neurons, name)[core, neuron]) for name in names)
    if _random(program, core)[neuron] or (neurons.leak_reversal[core, neuron] and leak):
        return None
    kappa = bool(neurons.saturate_negative[core, neuron])
    under = -beta if program.chip.rules.negative_comparison == "<=" else -beta - 1
    after_spike, after_below = {0: (reset, -reset), 1: (-alpha, beta)}.get(gamma, (0, 0))
    return Counting(potential, leak, alpha, under, after_spike, -beta if kappa else after_below, gamma, kappa)


def _meets_rails(program: Program, of: Mapping[str, Ints], low: Ints, high: Ints) -> NDArray[np.bool_]:
    """Whether the potential of a neuron with a leak and a floor may leave what the chip holds."""
    # From below the threshold a tick adds at most ``high``; where that exceeds a threshold which spikes take off, the
    # potential grows without end.
    start = np.maximum(of["threshold"] - 1, of["potential"])
    gain = np.maximum(high + np.maximum(of["leak"], 0), 0)
    grows = (of["subtract"] == 1) & (gain > of["threshold"])
    rails = program.chip.potential_range
    deepest = np.minimum(-of["floor"], of["potential"]) + low + np.minimum(of["leak"], 0)
    meets: NDArray[np.bool_] = grows | (start + gain > rails[1]) | (deepest < rails[0])
    return meets


# Why a neuron is no :class:`~neuromap.network.spiking_neuron.LeakNeuron`.
NO_NEURON = (
    "",
    "draws at random",
    "remembers, and its leak takes the sign of its potential",
    "remembers, and leaves its negative threshold again (kappa 0)",
    "keeps its potential when it spikes (gamma 2)",
    "remembers, and spikes set its potential to a value other than 0",
    "remembers, and its threshold is below 1 or its negative threshold above 0",
    "remembers, and starts outside of what a tick leaves",
    "may meet the rails of its potential",
)
EITHER: Mapping[str, int] = {"threshold": 1, "leak": 0, "floor": 0, "potential": 0, "subtract": 0}


def lifted(program: Program, core: int, low: Ints, high: Ints, clock: Ints) -> LiftedNeurons:
    """Say which neurons of networks these are; ``clock`` comes in every tick, and is not in ``low`` and ``high``."""
    neurons = program.neurons
    least, most = low + np.minimum(clock, 0), high + np.maximum(clock, 0)
    reaches, code = forgetting(program, core, least, most)
    mine = _values_of(program, core)
    # What never gets below 0 has no use for kappa and the negative threshold, and for a floor as little.
    inclusive = program.chip.rules.negative_comparison == "<="
    above = (least + np.minimum(mine["leak"], 0) >= 0) & (mine["potential"] >= 0) & (mine["floor"] >= inclusive)
    wrong = np.zeros(len(reaches), np.uint8)
    outside = (mine["potential"] < -mine["floor"]) | (mine["potential"] >= mine["threshold"])
    causes = (
        _random(program, core),
        neurons.leak_reversal[core] & (mine["leak"] != 0),
        ~neurons.saturate_negative[core] & ~above,
        mine["subtract"] == 2,
        (mine["subtract"] == 0) & (neurons.reset[core] != 0),
        (mine["threshold"] < 1) | (mine["floor"] < 0),
        outside,
        _meets_rails(program, mine, least, most),
    )
    for k in range(len(causes), 0, -1):  # the first to apply is the one that is told
        wrong[causes[k - 1]] = k
    # A neuron that forgets is 1 where its sum is: V = sum + 1 - reaches is 1 or more then, and 0 or less else.
    forgets = code == 0
    takes = (wrong > 0) & forgets
    values = {name: np.where(takes, EITHER[name], mine[name]) for name in mine}
    values["leak"] = np.where(takes, 1 - reaches, mine["leak"]) + clock
    return LiftedNeurons(values, forgets, reaches - clock, np.where(takes, 0, wrong).astype(np.uint8))


def either(program: Program) -> tuple[dict[str, int], int]:
    """Give the neuron that is 1 where something arrives, and how many may arrive."""
    return dict(EITHER), 2**31 - 1
