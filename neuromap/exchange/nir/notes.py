"""What an import from NIR says of what it kept, approximated and refused."""

from __future__ import annotations

from collections import Counter

import numpy as np

from neuromap.exchange.imported import Note
from neuromap.exchange.nir.floats.float_network import Parts, early_spikes, late_starts
from neuromap.files.messages import counted
from neuromap.forms.numbers import seconds
from neuromap.network.network import Network

__all__ = ["notes_of"]


def notes_of(
    parts: Parts, names: dict[str, str], network: Network, delay_error: float
) -> tuple[tuple[Note, ...], tuple[Note, ...], tuple[Note, ...]]:
    """Give the notes on a graph of float neurons."""
    # delay_error: greatest error of a delay in seconds
    return _kept(parts, names, network), _approximated(parts, names, delay_error), _refused(parts, names)


def _kept(parts: Parts, names: dict[str, str], network: Network) -> tuple[Note, ...]:
    graph, how = parts.graph, parts.how
    kinds = Counter(neurons.node.kind for neurons in graph.neurons.values())
    maps = sum(node.kind not in (*kinds, "Input", "Output", "Joint") for node in graph.nodes.values())
    said = [
        Note(
            "graph",
            f"{', '.join(f'{n} {kind}' for kind, n in kinds.items())} as nodes; {counted(maps, 'other primitive')} "
            "as their edges",
        )
    ]
    phases = {names[name]: phase for name, phase in parts.ticks.phases.items() if name in graph.neurons and phase}
    if phases:
        told = ", ".join(f"{name} {phase}" for name, phase in list(phases.items())[:8])
        more = f" and {len(phases) - 8} more" if len(phases) > 8 else ""
        said.append(Note("time", f"spikes of step n of the source come in frame n plus: {told}{more} (ticks)"))
    renamed = [f"{old} as {new}" for old, new in names.items() if old != new and new in network.nodes]
    if renamed:
        more = f" and {len(renamed) - 4} more" if len(renamed) > 4 else ""
        said.append(Note("names", ", ".join(renamed[:4]) + more))
    step = f"{seconds(how.dt)} of the source's time constants"
    said.append(Note("step", f"a tick is {step}, solved by the scheme {how.scheme}; initial voltages are the resets"))
    return tuple(said)


def _approximated(parts: Parts, names: dict[str, str], delay_error: float) -> tuple[Note, ...]:
    how = parts.how
    said = [Note("inputs", "values are spikes, 0 or 1 in every step; code others as spikes on the host")]
    other = "euler" if how.scheme == "exponential" else "exponential"
    for name, found in parts.neurons.items():
        if found.scheme_error > 1e-12:
            text = f"the scheme {other}, which other tools may use, leaves another part of v or I after a tick"
            said.append(Note(names[name], text, error=found.scheme_error, unit="of v or I"))
    for cycle in parts.ticks.cycles:
        text = (
            f"read each other: each of their edges takes a tick, so a way around takes {len(cycle)} ticks or fewer; "
            "tools that compute them one after the other within a step take fewer"
        )
        said.append(Note(", ".join(names[name] for name in cycle[:6]), text))
    if delay_error > 1e-9 * how.dt:
        said.append(Note("delays", "are whole ticks", error=delay_error, unit="s"))
    for name, count in early_spikes(parts).items():
        text = f"{counted(count, 'neuron')} fire without input, and do so in the ticks before step 1 too"
        said.append(Note(names[name], text))
    for name, distance in late_starts(parts).items():
        text = "begins step 1 beside its reset, as no voltage so many ticks earlier leads to it"
        said.append(Note(names[name], text, error=distance, unit="of the threshold"))
    hint = _hint(parts)
    return (*said, hint) if hint else tuple(said)


def _hint(parts: Parts) -> Note | None:
    """Say which step makes weights jump onto v as they are, as in tools that write tau / r for it."""
    steps = []
    for neurons in parts.graph.neurons.values():
        if neurons.node.kind in ("LIF", "CubaLIF"):
            node = neurons.node.parameters
            tau, r = node["tau" if neurons.node.kind == "LIF" else "tau_mem"], node["r"]
            if not (r > 0).all():
                return None
            steps += np.unique(tau / r).tolist()
    if not steps or max(steps) - min(steps) > 1e-4 * max(steps) or abs(steps[0] / parts.how.dt - 1) < 1e-3:
        return None
    if all((n.node.parameters["r"] == 1).all() for n in parts.graph.neurons.values() if "r" in n.node.parameters):
        return None
    text = f"tau / r is {seconds(steps[0])} in all neurons, as tools write it that add weights to v in a step of this"
    return Note("step", text, remedy=f"dt = {steps[0]:g} takes that step")


def _refused(parts: Parts, names: dict[str, str]) -> tuple[Note, ...]:
    said = []
    for readout in parts.graph.readouts:
        sources = ", ".join(names[name] for name in readout.sources[:6])
        text = f"{readout.kind} behind the last spikes is left out: an output of a chip is a spike"
        said.append(Note(readout.name, text, remedy=f"compute it on the host from the spikes of {sources or 'none'}"))
    used = {term.source for neurons in parts.graph.neurons.values() for term in neurons.signal.terms}
    said += [
        Note(names[name], "feeds no neuron and is left out", remedy="connect it to one")
        for name in parts.graph.inputs
        if name not in used
    ]
    return tuple(said)
