"""A network of Brian2 as a float network: which objects go onto the chip, and which stay on the host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import brian2

from neuromap.arrays.value import Value
from neuromap.backends.brian2.neuron_model import NeuronModel, neuron_model
from neuromap.backends.brian2.refused import refused
from neuromap.backends.brian2.synapse_model import SynapseStatement, synapse_statements
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.quantise.float_network import FloatNetwork, FloatSynapses

__all__ = ["Translated", "translate"]

_MONITORS = (brian2.SpikeMonitor, brian2.EventMonitor, brian2.StateMonitor, brian2.PopulationRateMonitor)
_SOURCES = (brian2.PoissonGroup, brian2.SpikeGeneratorGroup)


@dataclass(frozen=True, eq=False)
class Translated(Value):
    """A network of Brian2 in the terms of the chip.

    Attributes
    ----------
    network : FloatNetwork
        In SI units; names are those of Brian2's objects.
    models : mapping of str to NeuronModel
        Of every group on the chip.
    groups : mapping of str to object
        NeuronGroups on the chip.
    sources : mapping of str to object
        Groups whose spikes the host sends.
    synapses : tuple of object
        Synapses on the chip.
    """

    network: FloatNetwork
    models: Mapping[str, NeuronModel]
    groups: Mapping[str, Any]
    sources: Mapping[str, Any]
    synapses: tuple[Any, ...]


def translate(objects: Iterable[Any], namespace: Mapping[str, Any], chip: ChipSpec, name: str = "brian2") -> Translated:
    """Translate objects of Brian2.

    Parameters
    ----------
    objects : iterable of brian2.BrianObject
        Of a network, without what they contain.
    namespace : mapping
        Names of the script that runs it.
    chip : ChipSpec
        What it is for.
    name : str
        Of the network.

    Returns
    -------
    Translated

    Raises
    ------
    NotSupportedError
        If something is outside the supported class; one line that quotes it.
    """
    given = list(objects)
    contained = {id(part) for thing in given for part in thing.contained_objects}
    ordered = sorted((thing for thing in given if id(thing) not in contained), key=lambda thing: str(thing.name))
    for thing in ordered:
        _check_kind(thing)
    groups = {thing.name: thing for thing in ordered if isinstance(thing, brian2.NeuronGroup)}
    sources = {thing.name: thing for thing in ordered if isinstance(thing, _SOURCES)}
    synapses = tuple(thing for thing in ordered if isinstance(thing, brian2.Synapses))
    if not groups:
        raise refused(name, "network", "it has no NeuronGroup")
    dt = _one_dt([*groups.values(), *sources.values()])
    models = {key: neuron_model(group, namespace, chip) for key, group in groups.items()}
    statements = [part for thing in synapses for part in synapse_statements(thing, namespace)]
    known = {**groups, **sources}
    for thing in synapses:
        _check_ends(thing, statements, known)
    pulsed = {part.target for part in statements if part.variable == models[part.target].v}
    nodes = {key: models[key].neuron(len(group), key in pulsed) for key, group in groups.items()}
    network = FloatNetwork(
        name,
        dt,
        {key: len(group) for key, group in sources.items()},
        nodes,
        tuple(_float_synapses(part, models[part.target], dt) for part in statements),
    )
    return Translated(network, models, groups, sources, synapses)


def _check_kind(thing: Any) -> None:
    kind = type(thing).__name__
    if isinstance(thing, (brian2.Synapses, *_MONITORS, *_SOURCES)):
        return _check_contents(thing)
    if isinstance(thing, brian2.PoissonInput):
        raise refused(thing.name, f"PoissonInput onto {thing._target_var!r}", "the chip draws no numbers", _POISSON)
    if isinstance(thing, brian2.SpatialNeuron):
        raise refused(
            thing.name, f"Im = {thing.equations['Im'].expr.code}", "neurons of the chip are points, no cables"
        )
    if type(thing) is not brian2.NeuronGroup and not isinstance(thing, brian2.Subgroup):
        raise refused(thing.name, kind, "it has no counterpart on the chip")
    return _check_contents(thing)


_POISSON = "a PoissonGroup and Synapses do the same"


def _check_contents(thing: Any) -> None:
    """Refuse what acts on neurons of the chip beside their equations."""
    for part in thing.contained_objects if isinstance(thing, brian2.NeuronGroup) else ():
        kind = type(part).__name__
        if kind not in ("StateUpdater", "Thresholder", "Resetter", "SubexpressionUpdater", "ChipStep"):
            code = getattr(part, "abstract_code", None) or kind
            raise refused(thing.name, f"run_regularly {code!r}", "nothing changes neurons of the chip from outside")


def _one_dt(groups: list[Any]) -> float:
    steps = {float(group.clock.dt_): group.name for group in groups}
    if len(steps) > 1:
        told = ", ".join(f"{name} {1e3 * dt:g} ms" for dt, name in steps.items())
        raise refused(groups[0].name, f"dt of {told}", "the chip has one tick for all", "give all groups one dt")
    (dt,) = steps
    return dt


def _check_ends(synapses: Any, statements: list[SynapseStatement], known: Mapping[str, Any]) -> None:
    for part in statements:
        for end in (part.source, part.target):
            if end not in known:
                raise refused(
                    synapses.name, f"{part.source} -> {part.target}", f"{end} is not in the network", "add it"
                )


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
