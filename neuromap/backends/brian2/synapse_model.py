"""Synapses of Brian2 as float synapses: statements that add a constant, with weights and delays of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from brian2.equations.equations import DIFFERENTIAL_EQUATION, PARAMETER
from numpy.typing import NDArray

from neuromap.backends.brian2.constants import Constants, statement
from neuromap.backends.brian2.refused import refused
from neuromap.backends.brian2.whitelist import whole_group

__all__ = ["SynapseStatement", "synapse_statements"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class SynapseStatement(NamedTuple):
    """A statement ``variable += weight`` of a pathway, for all its synapses."""

    label: str  # object and pathway
    # source, target: names of the groups
    source: str
    target: str
    variable: str  # of the target
    # source_neuron, target_neuron: (s,): numbers in the whole groups
    source_neuron: Ints
    target_neuron: Ints
    # weight, delay: (s,): SI units
    weight: Floats
    delay: Floats
    quoted: str  # the statement


def synapse_statements(synapses: Any, namespace: Mapping[str, Any]) -> list[SynapseStatement]:
    """Analyse an object Synapses."""
    name = synapses.name
    if not any(part.active for part in synapses.contained_objects):
        return []
    for variable, equation in [*synapses.equations.items(), *(synapses.event_driven or {}).items()]:
        if equation.type == DIFFERENTIAL_EQUATION:
            raise refused(name, f"d{variable}/dt = {equation.expr.code}", "synapses of the chip are constant weights")
    for updater in synapses.summed_updaters.values():
        quoted = f"{updater.target_varname} = {updater.expression.code} (summed)"
        raise refused(name, quoted, "synapses of the chip send spikes only")
    found = []
    for pathway in synapses._pathways:
        if not pathway.active:
            continue
        if pathway.prepost == "post":
            raise refused(name, f"on_post={pathway.code!r}", "weights of the chip do not change in a run")
        if pathway.event != "spike":
            raise refused(name, f"on_event={pathway.event!r}", "synapses of the chip act on spikes")
        _check_number(synapses, pathway)
        constants = _constants(synapses, namespace)
        constants.check_units(pathway.code)
        lines = [line.strip() for line in pathway.code.replace(";", "\n").split("\n") if line.strip()]
        found += [_statement(synapses, pathway, line, constants) for line in lines]
    return found


def _statement(synapses: Any, pathway: Any, line: str, constants: Constants) -> SynapseStatement:
    quoted = f"on_pre={line!r}"
    variable, operation, expression = statement(synapses.name, line, quoted)
    target = variable.removesuffix("_post")
    if variable in synapses.equations or variable.endswith("_pre"):
        raise refused(synapses.name, quoted, "only variables of the target may change")
    if operation not in ("+=", "-="):
        raise refused(synapses.name, quoted, "a spike adds a weight")
    i, j = _ends(synapses)
    sign = -1.0 if operation == "-=" else 1.0
    weight = sign * constants.of_text(expression, quoted)
    delay = np.asarray(pathway.variables["delay"].get_value(), np.float64)
    delay = delay[0] if delay.shape == (1,) and pathway.variables["delay"].scalar else delay
    return SynapseStatement(
        f"{synapses.name}.{pathway.objname}",
        whole_group(synapses.source).name,
        whole_group(synapses.target).name,
        target,
        i,
        j,
        np.broadcast_to(weight, i.shape),
        np.broadcast_to(delay, i.shape),
        quoted,
    )


def _check_number(synapses: Any, pathway: Any) -> None:
    """Refuse weights and delays of another number: Brian2 leaves them if a state of other synapses is restored."""
    mine = [synapses.variables[name] for name, part in synapses.equations.items() if part.type == PARAMETER]
    for variable in (*mine, pathway.variables["delay"], synapses.variables["_synaptic_post"]):
        if not variable.scalar and len(variable.get_value()) != len(_ends(synapses)[0]):
            raise refused(
                synapses.name,
                f"{len(_ends(synapses)[0])} synapses",
                f"{variable.name} has {len(variable.get_value())} values, which restore leaves so",
                "connect all synapses before store",
            )


def _ends(synapses: Any) -> tuple[Ints, Ints]:
    """Give sources and targets, numbers in the whole groups."""
    first, second = (synapses.variables[f"_synaptic_{end}"].get_value() for end in ("pre", "post"))
    return np.array(first, np.int64), np.array(second, np.int64)


def _constants(synapses: Any, namespace: Mapping[str, Any]) -> Constants:
    """Values for each synapse: its own parameters, and parameters of source and target."""
    i, j = _ends(synapses)
    fixed = [name for name, equation in synapses.equations.items() if equation.type == PARAMETER]
    ends = ((whole_group(synapses.source), "_pre", i), (whole_group(synapses.target), "_post", j))
    numbers: dict[str, Ints] = {}
    for group, suffix, which in ends:
        for name, equation in getattr(group, "user_equations", {}).items():
            if equation.type == PARAMETER:
                numbers |= {f"{name}{suffix}": which, **({name: which} if suffix == "_post" else {})}
    numbers = {name: which for name, which in numbers.items() if name not in fixed}

    def take(name: str, values: Floats) -> Floats:
        return values[numbers[name]] if name in numbers and values.ndim else values

    return Constants(synapses, namespace, (*fixed, *numbers), take)
