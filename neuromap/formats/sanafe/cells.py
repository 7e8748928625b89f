"""A whole program, inputs and delays included, as neurons and synapses for a simulator that has no axons.

A *cell* is whatever spikes in SANA-FE: the program's neurons, then *buffers*, then *generators*. A spike that takes d
ticks to its axon passes d - 1 buffers, each of which repeats in the next tick what it hears. They sit in the core of
the axon, so that a spike's hops are those of the chip. A generator stands for a row of the host table, in the core that
it feeds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.cores.crossbar.program import Program
from neuromap.errors import NotSupportedError, ProgramError
from neuromap.files.argument_checks import needs
from neuromap.files.messages import show_name
from neuromap.hardware.checker import require_legal
from neuromap.hardware.program.chip_program import ChipProgram, HostSpikes
from neuromap.render.value import Card

HARD, SOFT, NONE = range(3)
"""Resets: to a value, by the threshold, none."""

_Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SanafeCells(Card):
    """K neurons on C cores, B buffers, G generators; cell numbers run through them in this order.

    A neuron adds what it hears and its leak to V. With ``V >= threshold`` it spikes and is reset; with ``V <= lower``
    it is reset too. V is 0 at first, and a neuron that hears nothing stays at 0.

    Attributes
    ----------
    n_ticks : int
        Ticks to run.
    coordinates : ndarray of int64, shape (C, 2)
        x and y of every core, from 0.
    core, row : ndarray of int64, shape (K,)
        Where each neuron is on the chip.
    leak, threshold, reset_to, lower, lower_reset_to : ndarray of int64, shape (K,)
        Parameters.
    reset, lower_reset : ndarray of int64, shape (K,)
        ``HARD``, ``SOFT`` or ``NONE``; the lower one is never ``SOFT``.
    buffer_core : ndarray of int64, shape (B,)
        Buffers have threshold 1 and hear 1.
    generator_core : ndarray of int64, shape (G,)
        Core that each generator feeds.
    fed_tick, fed_generator : ndarray of int64, shape (E,)
        Spikes from the host, by the tick in which they are integrated.
    pre, post, weight : ndarray of int64, shape (S,)
        Synapses between cells: a spike of tick t is integrated in tick t + 1, one of a generator in its own tick.
    """

    n_ticks: int
    coordinates: _Ints
    core: _Ints
    row: _Ints
    leak: _Ints
    threshold: _Ints
    reset: _Ints
    reset_to: _Ints
    lower: _Ints
    lower_reset: _Ints
    lower_reset_to: _Ints
    buffer_core: _Ints
    generator_core: _Ints
    fed_tick: _Ints
    fed_generator: _Ints
    pre: _Ints
    post: _Ints
    weight: _Ints

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def n_neurons(self) -> int:
        """Neurons of the program that SANA-FE is given."""
        return len(self.core)


def sanafe_cells(program: ChipProgram, spikes: HostSpikes) -> SanafeCells:
    """Turn a program and what the host delivers into cells and synapses.

    Parameters
    ----------
    program : ChipProgram
        Of crossbars: one source per axon, nothing stochastic, neurons that rest at 0. Potentials that reach their rails
        are not looked for: mapped programs have none (rule ``potential-width`` of the checker).
    spikes : HostSpikes
        As :func:`~neuromap.hardware.program.chip_program.host_spikes` lists them.

    Returns
    -------
    SanafeCells

    Raises
    ------
    ProgramError
        If the program breaks a rule of its chip.
    NotSupportedError
        If SANA-FE has not what the program asks for.
    """
    needs("sanafe_cells", program, ChipProgram, ProgramError)
    require_legal(program)
    if not isinstance(program, Program):
        raise NotSupportedError(
            f"program {show_name(program.name)}: its cores ({program.chip.name}) keep lists of synapses; cells for "
            "SANA-FE are made of crossbars: map the network onto truenorth or ranc"
        )
    used = program.neuron_node >= 0
    core, row = (index.astype(np.int64) for index in np.nonzero(used))
    parameters = _parameters(program, core, row)
    number = np.full(used.shape, -1)
    number[core, row] = np.arange(len(core))
    if (program.target_core[~used] >= 0).any():
        raise _lacks(program, "a neuron without a label feeds an axon", "label it")

    sends = program.target_core[core, row] >= 0
    source = np.flatnonzero(sends)
    to_core, to_axon = (
        table[core, row][sends].astype(np.int64) for table in (program.target_core, program.target_axon)
    )
    hops = program.delay[core, row][sends].astype(np.int64) - 1  # buffers on the way
    axons = np.concatenate([to_core, program.host.core]).astype(np.int64) * program.axon_types.shape[1]
    axons += np.concatenate([to_axon, program.host.axon])
    if len(np.unique(axons)) != len(axons):
        raise _lacks(
            program,
            "an axon has two sources, whose spikes a chip merges and SANA-FE adds",
            "give each an axon of its own",
        )

    # A chain source -> buffer -> ... -> axon, all buffers of one chain with numbers in a row.
    first = len(core) + np.cumsum(hops) - hops
    buffers = len(core) + np.arange(hops.sum())
    before = buffers - 1
    before[first[hops > 0] - len(core)] = source[hops > 0]
    last = np.where(hops > 0, first + hops - 1, source)
    generators = len(core) + len(buffers) + np.arange(len(program.host))
    pre, post, weight = _synapses(program, axons, np.concatenate([last, generators]), number)
    return SanafeCells(
        n_ticks=spikes.n_ticks,
        coordinates=program.coordinates.astype(np.int64) - program.coordinates.min(axis=0, initial=2**31 - 1),
        core=core,
        row=row,
        **parameters,
        buffer_core=np.repeat(to_core, hops),
        generator_core=program.host.core.astype(np.int64),
        fed_tick=spikes.tick,
        fed_generator=spikes.row,
        pre=np.concatenate([before, pre]),
        post=np.concatenate([buffers, post]),
        weight=np.concatenate([np.ones(len(buffers), np.int64), weight]),
    )


def _parameters(program: Program, core: _Ints, row: _Ints) -> dict[str, _Ints]:
    """Say the neuron's rules in terms of ``SanafeCells``."""
    table = program.neurons
    stochastic = (table.stochastic_weight, table.stochastic_leak, table.noise_bits)
    if any(mode is not None and mode[core, row].any() for mode in stochastic):
        raise _lacks(program, "a neuron has a stochastic mode", "map with deterministic neurons")
    names = ("leak", "leak_reversal", "threshold", "negative_threshold", "reset", "reset_mode", "potential")
    of = {name: getattr(table, name)[core, row].astype(np.int64) for name in names}
    saturates = table.saturate_negative[core, row]
    if of["leak_reversal"].any() or of["potential"].any():
        raise _lacks(program, "a neuron has leak reversal, or a potential before the first tick", "start it at 0")
    if (~saturates & (of["reset_mode"] == 1)).any():
        raise _lacks(
            program, "a neuron has a linear reset at the negative threshold", "let its potential stop there (saturate)"
        )
    # V < -beta is V <= -beta - 1, since all is integer.
    lower = -of["negative_threshold"] - (program.chip.rules.negative_comparison == "<")
    hard = saturates | (of["reset_mode"] == 0)
    lower_reset_to = np.where(saturates, -of["negative_threshold"], np.where(hard, -of["reset"], 0))
    rest = np.where(of["leak"] <= lower, np.where(hard, lower_reset_to, of["leak"]), of["leak"])
    if ((of["leak"] >= of["threshold"]) | (rest != 0)).any():
        raise _lacks(
            program, "a neuron that hears nothing does not stay at 0", "give it a leak that a reset takes back"
        )
    return {
        "leak": of["leak"],
        "threshold": of["threshold"],
        "reset": np.array([HARD, SOFT, NONE])[of["reset_mode"]],
        "reset_to": of["reset"],
        "lower": lower,
        "lower_reset": np.where(hard, HARD, NONE),
        "lower_reset_to": lower_reset_to,
    }


def _synapses(program: Program, axons: _Ints, feeder: _Ints, number: _Ints) -> tuple[_Ints, _Ints, _Ints]:
    """List the synapses of the axons that have a source; ``feeder`` is the cell that spikes last on the way to each."""
    n_neurons, n_axons = number.shape[1], program.axon_types.shape[1]
    found = [np.zeros((3, 0), np.int64)]
    for core in range(len(number)):
        mine = axons // n_axons == core
        axon = axons[mine] % n_axons
        bits = np.unpackbits(program.crossbar[core, axon], axis=1, count=n_neurons, bitorder="little").astype(bool)
        bits &= number[core] >= 0
        if not bits.any(axis=1).all():
            raise _lacks(
                program,
                "an axon that is fed has no synapse, so that SANA-FE would not send its spikes",
                "do not feed it",
            )
        at, neuron = np.nonzero(bits)
        weight = program.neurons.weights[core, neuron, program.axon_types[core, axon[at]]]
        found.append(np.stack([feeder[mine][at], number[core, neuron], weight.astype(np.int64)]))
    pre, post, weight = np.concatenate(found, axis=1)
    return pre, post, weight


def _lacks(program: Program, what: str, way: str) -> NotSupportedError:
    return NotSupportedError(f"program {show_name(program.name)}: {what}; SANA-FE has not that: {way}")
