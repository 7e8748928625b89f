"""Rules of synapse lists about values that index something: broken, they would make an engine read past an array.

They are to :class:`~neuromap.hardware.program.program.ListProgram` what
:mod:`neuromap.hardware.check.index_rules` are to crossbars; labels and tables of the host are checked there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.check.violation import Finding, Place, find
from neuromap.hardware.program.program import ListProgram

Ints = NDArray[np.int64]


def starts(program: ListProgram) -> Iterator[Finding]:
    """``list-start``: starts of axons, lists and targets rise from 0 to the number of what they divide."""
    n_axons = max(len(program.synapses.lists) - 1, 0)
    yield _rising("axons", program.synapses.axons, n_axons, lambda i: Place(core=i))
    yield _rising("lists", program.synapses.lists, len(program.synapses.neuron), lambda i: _axon_place(program, i))
    n = program.chip.neurons
    yield _rising(
        "targets", program.targets.start, len(program.targets.core), lambda i: Place(core=i // n, neuron=i % n)
    )


def synapses(program: ListProgram) -> Iterator[Finding]:
    """``synapse-neuron`` and ``synapse-delay``: synapses feed neurons of their core, after delays that ticks have."""
    table, neurons = program.synapses, program.chip.neurons
    greatest = program.chip.delay[1] - program.chip.delay[0]

    def place(s: int) -> Place:
        return _axon_place(program, int(np.searchsorted(table.lists, s, side="right")) - 1)

    yield find(
        "synapse-neuron",
        (table.neuron < 0) | (table.neuron >= neurons),
        lambda s: (place(s), int(table.neuron[s]), f"a neuron 0 to {neurons - 1}", f"neuron of synapse {s}"),
    )
    yield find(
        "synapse-delay",
        table.delay > greatest,
        lambda s: (place(s), int(table.delay[s]), f"0 to {greatest} ticks", f"delay of synapse {s}"),
    )


def list_targets(program: ListProgram) -> Iterator[Finding]:
    """``target-exists``: a target is an axon in use of a core in use."""
    core, axon = program.targets.core, program.targets.axon
    n_axons = np.append(np.diff(program.synapses.axons), 0)
    exists = (core >= 0) & (core < program.n_cores)
    here = n_axons[np.where(exists, core, -1)]
    yield find(
        "target-exists",
        ~exists,
        lambda t: (_source(program, t), int(core[t]), f"a core 0 to {program.n_cores - 1}", "target core"),
    )
    yield find(
        "target-exists",
        exists & ((axon < 0) | (axon >= here)),
        lambda t: (_source(program, t), int(axon[t]), f"an axon in use, 0 to {int(here[t]) - 1}", "target axon"),
    )


def host_axons(program: ListProgram) -> Iterator[Finding]:
    """``host-row``: the host feeds axons in use."""
    core, axon = program.host.core, program.host.axon
    exists = (core >= 0) & (core < program.n_cores)
    here = np.append(np.diff(program.synapses.axons), 0)[np.where(exists, core, -1)]
    yield find(
        "host-row",
        exists & (axon >= here),
        lambda row: (Place(host_row=row), int(axon[row]), f"an axon in use, 0 to {int(here[row]) - 1}", "axon"),
    )


def decays(program: ListProgram) -> Iterator[Finding]:
    """``decay-range``: decays take from nothing to all of a value."""
    whole = 1 << program.chip.lists.decay_bits
    for what in ("current_decay", "voltage_decay"):
        values = getattr(program.neurons, what)
        yield find(
            "decay-range",
            (values < 0) | (values > whole),
            lambda c, n, values=values, what=what: (
                Place(core=c, neuron=n),
                int(values[c, n]),
                f"0 to {whole}",
                what.replace("_", " "),
            ),
        )


def joins(program: ListProgram) -> Iterator[Finding]:
    """``join-exists``: a neuron is joined to one of its core that is not joined itself."""
    joined = program.neurons.joined
    if joined is None:
        return
    inside = (joined >= 0) & (joined < program.chip.neurons)
    of = np.where(inside, joined, 0)
    chained = inside & (np.take_along_axis(joined, of, axis=1) != -1)
    yield find(
        "join-exists",
        (joined < -1) | (joined >= program.chip.neurons) | chained,
        lambda c, n: (
            Place(core=c, neuron=n),
            int(joined[c, n]),
            f"a neuron 0 to {program.chip.neurons - 1} that is not joined itself, or -1 for none",
            "neuron that its current is joined to",
        ),
    )


def refractory_periods(program: ListProgram) -> Iterator[Finding]:
    """``refractory-range``: neurons rest no longer than the chip's counters count."""
    values, greatest = program.neurons.refractory, program.chip.lists.greatest_refractory
    yield find(
        "refractory-range",
        values > greatest,
        lambda c, n: (Place(core=c, neuron=n), int(values[c, n]), f"0 to {greatest} ticks", "refractory period"),
    )


def _rising(what: str, start: Ints, end: int, place: Callable[[int], Place]) -> Finding:
    """Say where starts do not rise from 0 to ``end``; the last one is described as what comes after the rest."""
    wrong = np.zeros(len(start), np.bool_)
    wrong[1:] = start[1:] < start[:-1]
    wrong |= (start < 0) | (start > end)
    wrong[:1] |= start[:1] != 0
    wrong[-1:] |= start[-1:] != end
    bound = f"starts that rise from 0 to {end}"
    return find("list-start", wrong, lambda i: (place(max(i - 1, 0)), int(start[i]), bound, f"start {i} of {what}"))


def _axon_place(program: ListProgram, number: int) -> Place:
    core = int(np.searchsorted(program.synapses.axons, number, side="right")) - 1
    core = min(max(core, 0), max(program.n_cores - 1, 0))
    return Place(core=core, axon=number - int(program.synapses.axons[core]))


def _source(program: ListProgram, target: int) -> Place:
    neuron = int(np.searchsorted(program.targets.start, target, side="right")) - 1
    return Place(core=neuron // program.chip.neurons, neuron=neuron % program.chip.neurons)
