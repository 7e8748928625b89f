"""A network of Brian2 as a float network: which objects go onto the chip, and which stay on the host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import brian2

from neuromap.arrays.value import Value
from neuromap.backends.brian2.neuron_model import NeuronModel, check_method, neuron_model
from neuromap.backends.brian2.refused import refused
from neuromap.backends.brian2.synapse_model import SynapseStatement, synapse_statements
from neuromap.backends.brian2.whitelist import SOURCES, check_monitors, check_objects, whole_group
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.quantise.float_network import FloatNetwork, FloatSynapses

__all__ = ["Translated", "translate"]


@dataclass(frozen=True, eq=False)
class Translated(Value):
    """A network of Brian2 in the terms of the chip."""

    network: FloatNetwork  # in SI units; names are those of Brian2's objects
    models: Mapping[str, NeuronModel]  # of every group on the chip
    groups: Mapping[str, Any]  # neuronGroups on the chip
    sources: Mapping[str, Any]  # groups whose spikes the host sends
    synapses: tuple[Any, ...]  # synapses on the chip
    labels: tuple[str, ...]  # of all synapses of the network: object and pathway that they come from


def translate(objects: Iterable[Any], namespace: Mapping[str, Any], chip: ChipSpec, name: str = "brian2") -> Translated:
    """Translate objects of Brian2."""
    ordered = check_objects(objects)
    groups = {thing.name: thing for thing in ordered if isinstance(thing, brian2.NeuronGroup)}
    sources = {thing.name: thing for thing in ordered if isinstance(thing, SOURCES)}
    synapses = tuple(thing for thing in ordered if isinstance(thing, brian2.Synapses))
    if not groups:
        raise refused(name, "network", "it has no NeuronGroup")
    dt = _one_dt([*groups.values(), *sources.values()])
    models = {key: neuron_model(group, namespace, chip) for key, group in groups.items()}
    for thing in synapses:
        _check_ends(thing, {**groups, **sources}, models)
    statements = [part for thing in synapses for part in synapse_statements(thing, namespace)]
    for key, group in groups.items():  # last, as an equation that is refused says more
        check_method(group, models[key])
    check_monitors(ordered)
    pulsed = {part.target for part in statements if part.variable == models[part.target].v}
    nodes = {key: models[key].neuron(len(group), key in pulsed) for key, group in groups.items()}
    network = FloatNetwork(
        name,
        dt,
        {key: len(group) for key, group in sources.items()},
        nodes,
        tuple(_float_synapses(part, models[part.target], dt) for part in statements),
    )
    return Translated(network, models, groups, sources, synapses, tuple(part.label for part in statements))


def _one_dt(groups: list[Any]) -> float:
    steps = {float(group.clock.dt_): group.name for group in groups}
    if len(steps) > 1:
        told = ", ".join(f"{name} {1e3 * dt:g} ms" for dt, name in steps.items())
        raise refused(groups[0].name, f"dt of {told}", "the chip has one tick for all", "give all groups one dt")
    (dt,) = steps
    return dt


def _check_ends(synapses: Any, known: Mapping[str, Any], models: Mapping[str, NeuronModel]) -> None:
    ends = [str(whole_group(end).name) for end in (synapses.source, synapses.target)]
    for end in ends:
        if end not in known:
            raise refused(synapses.name, " -> ".join(ends), f"{end} is not in the network", "add it")
    if ends[1] not in models:
        raise refused(synapses.name, " -> ".join(ends), f"{ends[1]} stays on the host", "end at a NeuronGroup")


def _float_synapses(part: SynapseStatement, model: NeuronModel, dt: float) -> FloatSynapses:
    names = model.currents
    if part.variable not in (*names, model.v):
        raise refused(
            f"{part.source} -> {part.target}", part.quoted, f"{part.variable} is neither {model.v} nor a current of it"
        )
    current = names.index(part.variable) if part.variable in names else len(names)
    return FloatSynapses(
        part.source, part.target, part.source_neuron, part.target_neuron, part.weight, part.delay, current
    )
