"""What neurons of a crossbar compute: lemmas of ``docs/theorems/program-proofs.md``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
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
    """Return each neuron's least spiking sum, and why it does not forget, 0 if it does (Lemma 3)."""
    neurons = program.neurons
    alpha, beta, leak, reset = (
        table[core].astype(np.int64)
        for table in (neurons.threshold, neurons.negative_threshold, neurons.leak, neurons.reset)
    )
    gamma, kappa = neurons.reset_mode[core], neurons.saturate_negative[core]
    least, most = low + leak, high + leak
    # greatest potential that counts as below the negative threshold
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


def _only(low: Ints, high: Ints, value: Ints) -> Bools:
    """Whether no number but ``value`` lies between two bounds, both included."""
    only: Bools = (low > high) | ((low == high) & (low == value))
    return only


def _random(program: Program, core: int) -> Bools:
    neurons = program.neurons
    random = np.zeros(program.shape[1], np.bool_)
    for table in (neurons.stochastic_weight, neurons.stochastic_leak, neurons.noise_bits):
        if table is not None:
            random |= table[core].reshape(len(random), -1).any(axis=1)
    return random


def remembering(
    program: Program, core: int, wanted: Mapping[str, Ints], part: Ints, power: Ints, low: Ints, high: Ints
) -> Codes:
    """Return why each neuron is not the network's neuron with these parameters; 0 if it is (Lemma 7)."""
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
    """A deterministic neuron: its behaviour is a function of its potential."""

    potential: int
    leak: int
    threshold: int
    below: int  # greatest potential that counts as below the negative threshold
    after_spike: int  # potential after a spike if gamma is 0, else its change
    after_below: int
    gamma: int
    kappa: bool

    def step(self, total: Ints) -> tuple[Ints, Bools]:
        """Return potentials after a tick, and spikes, given potentials that include all arrivals."""
        total = total + self.leak
        spikes = total >= self.threshold
        below = ~spikes & (total <= self.below)
        kept = np.zeros_like(total) if self.gamma == 0 else total
        after = np.where(spikes, kept + self.after_spike, total)
        return np.where(below, (0 if self.kappa else kept) + self.after_below, after), spikes


def counting(program: Program, core: int, neuron: int) -> Counting | None:
    """Read a deterministic neuron; None if it draws at random, or its leak takes the sign of its potential."""
    neurons = program.neurons
    names = ("potential", "leak", "threshold", "negative_threshold", "reset", "reset_mode")
    potential, leak, alpha, beta, reset, gamma = (int(getattr(neurons, name)[core, neuron]) for name in names)
    if _random(program, core)[neuron] or (neurons.leak_reversal[core, neuron] and leak):
        return None
    kappa = bool(neurons.saturate_negative[core, neuron])
    under = -beta if program.chip.rules.negative_comparison == "<=" else -beta - 1
    after_spike, after_below = {0: (reset, -reset), 1: (-alpha, beta)}.get(gamma, (0, 0))
    return Counting(potential, leak, alpha, under, after_spike, -beta if kappa else after_below, gamma, kappa)


def _meets_rails(program: Program, of: Mapping[str, Ints], low: Ints, high: Ints) -> Bools:
    """Whether the potential of a neuron with a leak and a floor may meet the chip's rails."""
    # From below the threshold a tick adds at most ``high``; where that exceeds a threshold that spikes subtract, the
    # potential grows without bound.
    start = np.maximum(of["threshold"] - 1, of["potential"])
    gain = np.maximum(high + np.maximum(of["leak"], 0), 0)
    grows = (of["subtract"] == 1) & (gain > of["threshold"])
    rails = program.chip.potential_range
    deepest = np.minimum(-of["floor"], of["potential"]) + low + np.minimum(of["leak"], 0)
    meets: Bools = grows | (start + gain > rails[1]) | (deepest < rails[0])
    return meets


# Reasons why a neuron is not a :class:`~neuromap.network.spiking_neuron.LeakNeuron`.
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
    """Find the network neurons that these are; ``clock`` arrives in every tick, not counted in ``low`` and ``high``."""
    neurons = program.neurons
    least, most = low + np.minimum(clock, 0), high + np.maximum(clock, 0)
    reaches, code = forgetting(program, core, least, most)
    mine = _values_of(program, core)
    # A potential that never gets below 0 needs neither kappa and the negative threshold nor a floor.
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
    for k in range(len(causes), 0, -1):  # the first that applies is reported
        wrong[causes[k - 1]] = k
    # A neuron that forgets is 1 where its sum is ``reaches`` or more: V = sum + 1 - reaches is 1 or more then, else
    # 0 or less.
    forgets = code == 0
    takes = (wrong > 0) & forgets
    values = {name: np.where(takes, EITHER[name], mine[name]) for name in mine}
    values["leak"] = np.where(takes, 1 - reaches, mine["leak"]) + clock
    return LiftedNeurons(values, forgets, reaches - clock, np.where(takes, 0, wrong).astype(np.uint8))


def either(program: Program) -> tuple[dict[str, int], int]:
    """Return the neuron that is 1 if anything arrives, and the most that may arrive."""
    return dict(EITHER), 2**31 - 1
