"""Whitelist of Brian2 objects, parts and settings that the chip supports; everything else is refused by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import brian2
import numpy as np
import sympy
from brian2.core.functions import Function
from brian2.core.variables import ArrayVariable, Subexpression
from brian2.equations.unitcheck import check_units_statements
from brian2.groups.group import CodeRunner
from brian2.groups.neurongroup import Resetter, StateUpdater, SubexpressionUpdater, Thresholder
from brian2.monitors.spikemonitor import EventMonitor
from brian2.parsing.expressions import parse_expression_dimensions
from brian2.parsing.statements import parse_statement
from brian2.parsing.sympytools import str_to_sympy
from brian2.synapses.synapses import SummedVariableUpdater, SynapticPathway
from brian2.utils.stringtools import get_identifiers

from neuromap.arrays.array_types import Floats
from neuromap.errors import NotSupportedError

# Brian2 functions whose results do not depend on time.
_FUNCTIONS = (
    *("exp", "expm1", "log", "log10", "sqrt", "abs", "sign", "clip"),
    *("sin", "cos", "tan", "sinh", "cosh", "tanh"),
)
# Constant variables that Brian2 creates.
_CLOCKS = ("dt", "N", "i", "j")


class Constants:
    """Values of names in the scope of a Brian2 object."""

    def __init__(self, group: Any, namespace: Mapping[str, Any], fixed: tuple[str, ...], take: Any = None) -> None:
        self._group, self._namespace = group, namespace
        self._fixed, self._take = {*fixed, *_CLOCKS}, take or (lambda name, values: values)

    def of_text(self, text: str, quoted: str) -> Floats:
        """Return the value of an expression in SI units; errors quote ``quoted``."""
        return self.of_sympy(str_to_sympy(text), quoted)

    def of_sympy(self, expression: Any, quoted: str) -> Floats:
        """Return the value of a sympy expression in SI units, shape () or that of the variables."""
        expression = sympy.sympify(expression)
        for call in expression.atoms(sympy.Function):
            name = str(call.func.__name__).lower()
            refuse_if(name not in _FUNCTIONS, self._group.name, quoted, f"{name}() may change in a run")
        symbols = sorted(expression.free_symbols, key=str)
        values = [self._value(str(symbol), quoted) for symbol in symbols]
        found = sympy.lambdify(symbols, expression, "numpy")(*values)
        return np.asarray(found, np.float64)

    def dimensions(self, text: str) -> Any:
        """Return the physical dimensions of an expression."""
        return parse_expression_dimensions(text, self._known(text))

    def check_units(self, code: str) -> None:
        """Let Brian2 refuse statements with inconsistent units, as it would before running them itself."""
        known = self._known(code)
        for name in _CLOCKS:  # Brian2 would replace them by names that these checks do not know
            is_counted = isinstance(known.get(name), Subexpression)
            refuse_if(
                is_counted, self._group.name, code, f"{name} counts within a subgroup here", "connect whole groups"
            )
        check_units_statements(code, known)

    def _known(self, text: str) -> Any:
        known: dict[str, Any] = {}
        names = get_identifiers(text) - {"_cond"}
        while names:  # and of subexpressions, as far down as they go
            found = self._group.resolve_all(names, self._namespace, user_identifiers=names)
            known |= found
            inner = [get_identifiers(x.expr) for x in found.values() if isinstance(x, Subexpression)]
            names = set().union(*inner) - known.keys()
        return known

    def _value(self, name: str, quoted: str) -> Floats:
        own = self._group.name
        refuse_if(name in ("t", "t_in_timesteps"), own, quoted, "it depends on the time t")
        variable = self._group.resolve_all([name], self._namespace)[name]
        refuse_if(isinstance(variable, Function), own, quoted, f"{name}() may change in a run")
        if isinstance(variable, Subexpression):
            return self.of_text(variable.expr, quoted)
        changes = isinstance(variable, ArrayVariable) and name in self._group.variables and name not in self._fixed
        refuse_if(changes, own, quoted, f"{name} changes in a run")
        values = np.asarray(variable.get_value(), np.float64)
        return np.asarray(self._take(name, values[0] if values.shape == (1,) and variable.scalar else values))


def statement(name: str, line: str, quoted: str) -> tuple[str, str, str]:
    """Split a statement into variable, operation and expression; ``name`` is the object's."""
    try:
        variable, operation, expression, _ = parse_statement(line)
    except ValueError:
        raise refused(name, quoted, "it is not a statement that sets a variable") from None
    return str(variable), str(operation), str(expression)


# Objects and settings allowed in a Brian2 network on the chip; anything not listed here is refused.
#
# In Brian2, objects can contain others, and each can be switched off, moved to another slot or given another order.
# The translation reads equations and statements only, so everything else must be as Brian2 creates it.


# Groups that stay on the host.
SOURCES = (brian2.PoissonGroup, brian2.SpikeGeneratorGroup)
_EVENT_MONITORS = (brian2.SpikeMonitor, EventMonitor, brian2.PopulationRateMonitor)
_SCHEDULE = ["start", "groups", "thresholds", "synapses", "resets", "end"]
_AFTER_SPIKES = {"after_thresholds", "before_synapses", "synapses", "after_synapses"}
_AFTER_RESETS = {"after_resets", "before_end", "end", "after_end"}
_BEFORE_UPDATES = {"before_start", "start", "after_start", "before_groups"}
_RESETS = {"before_resets", "resets"}
_LEAVE = "leave it as Brian2 makes it"
_OUTSIDE = "nothing changes neurons of the chip from outside"
_NO_OTHER = "leave it out, or run it with set_device('runtime')"
_POISSON = "a PoissonGroup and Synapses do the same"


def check_network(net: Any) -> None:
    """Refuse unsupported settings of a whole network: the schedule of a step, and preferences about timing."""
    name = "brian2" if type(net) is brian2.MagicNetwork else str(net.name)
    why = "a tick of the chip updates, compares, delivers and resets in this order"
    refuse_if(net.schedule != _SCHEDULE, name, f"schedule {net.schedule}", why, f"take {_SCHEDULE}")
    is_legacy, what = brian2.prefs.legacy.refractory_timing, "prefs.legacy.refractory_timing = True"
    refuse_if(is_legacy, name, what, "the chip counts whole ticks of rest", "set it to False")


def check_objects(objects: Iterable[Any]) -> list[Any]:
    """Refuse objects, parts and settings that the translation does not read; return top-level objects by name."""
    given = list(objects)
    contained = {id(part) for thing in given for part in thing.contained_objects}
    ordered = sorted((thing for thing in given if id(thing) not in contained), key=lambda thing: str(thing.name))
    for thing in ordered:
        _check_object(thing)
    return ordered


def check_monitors(objects: Iterable[Any]) -> None:
    """Refuse monitors that would record something other than with Brian2's own groups."""
    for thing in objects:
        if type(thing) in _EVENT_MONITORS:
            _check_event_monitor(thing)
        elif type(thing) is brian2.StateMonitor:
            _check_state_monitor(thing)


def whole_group(group: Any) -> Any:
    """Return the group that a subgroup is part of, or the group itself."""
    return getattr(group, "source", group) if type(group).__name__ == "Subgroup" else group


def _check_object(thing: Any) -> None:
    kind = type(thing)
    if kind is brian2.NeuronGroup:
        return _check_neurons(thing)
    if kind is brian2.Synapses:
        return _check_synapses(thing)
    if kind in SOURCES:
        return _check_source(thing)
    if kind in (*_EVENT_MONITORS, brian2.StateMonitor, brian2.Subgroup):
        if thing.contained_objects:
            raise _foreign_part(thing, thing.contained_objects[0])
        return None
    if isinstance(thing, brian2.PoissonInput):
        raise refused(thing.name, f"PoissonInput onto {thing._target_var!r}", "the chip draws no numbers", _POISSON)
    if isinstance(thing, brian2.SpatialNeuron):
        equation = f"Im = {thing.equations['Im'].expr.code}"
        raise refused(thing.name, equation, "neurons of the chip are points, no cables")
    raise refused(thing.name, kind.__name__, "it has no counterpart on the chip")


def _check_neurons(group: Any) -> None:
    own = [
        ("state_updater", group.state_updater, StateUpdater, "groups"),
        *(("thresholder", part, Thresholder, "thresholds") for part in group.thresholder.values()),
        *(("resetter", part, Resetter, "resets") for part in group.resetter.values()),
    ]
    for part in group.contained_objects:
        if not any(part is mine for _, mine, _, _ in own):
            raise _foreign_part(group, part)
    remedy = "set it True, or leave the group out"
    refuse_if(not group.active, group.name, "active = False", "all neurons of the chip run", remedy)
    for what, part, kind, when in own:
        if getattr(part, "event", "spike") != "spike":
            continue  # the translation reports custom events
        is_own = type(part) is kind and any(part is mine for mine in group.contained_objects)
        refuse_if(not is_own, group.name, f"{what} {type(part).__name__}", "it is not Brian2's own", _LEAVE)
        _check_part(group, what, part, when, 0)
    options = group.state_updater.method_options
    refuse_if(options, group.name, f"method_options={options}", "the chip has none", "leave them out")


def _check_part(thing: Any, what: str, part: Any, when: str, order: int) -> None:
    name = thing.name
    refuse_if(not part.active, name, f"{what}.active = False", "all neurons of the chip run", "set it True")
    clock = part.source.clock if type(part) is SynapticPathway else thing.clock  # that of its source's spikes
    why = "all parts of the chip tick together"
    refuse_if(part.clock.dt_ != clock.dt_, name, f"{what}.clock.dt = {part.clock.dt}", why, _LEAVE)
    why = f"a tick of the chip does it in {when!r}"
    refuse_if(part.when != when, name, f"{what}.when = {part.when!r}", why, _LEAVE)
    why = "all parts of the chip are at the same point"
    refuse_if(part.order != order, name, f"{what}.order = {part.order}", why, f"take {order}")
    for further in part.contained_objects:
        raise _foreign_part(thing, further)


def _foreign_part(thing: Any, part: Any) -> Exception:
    """Return the error for a contained object that Brian2 did not create itself."""
    inside = [inner for inner in part.contained_objects if type(inner) is CodeRunner]
    if isinstance(part, (brian2.Subgroup, brian2.Synapses)) and inside:  # Brian2 adds both to their source in this case
        return _foreign_part(part, inside[0])
    if isinstance(part, SubexpressionUpdater):
        code = getattr(part, "abstract_code", None) or getattr(part, "code", "")
        return refused(thing.name, f"{code!r} (constant over dt)", "the chip follows its equations in every instant")
    if type(part) is CodeRunner and part.template == "stateupdate":
        code = part.abstract_code or getattr(part, "code", "")
        return refused(thing.name, f"run_regularly {code!r}", _OUTSIDE)
    return refused(thing.name, f"contained object {type(part).__name__} {part.name!r}", _OUTSIDE, _NO_OTHER)


def _check_synapses(synapses: Any) -> None:
    """Refuse parts of synapses other than pathways; the translation reports differential and summed equations."""
    if not any(part.active for part in synapses.contained_objects):
        return
    for part in synapses.contained_objects:
        is_pathway = type(part) is SynapticPathway and any(part is mine for mine in synapses._pathways)
        if not is_pathway and not isinstance(part, SummedVariableUpdater) and part is not synapses.state_updater:
            raise _foreign_part(synapses, part)
    for pathway in synapses._pathways:
        is_there = any(pathway is part for part in synapses.contained_objects)
        refuse_if(not is_there, synapses.name, f"no pathway {pathway.objname!r} in it", "synapses are whole", _LEAVE)
        if pathway.active:
            _check_part(synapses, pathway.objname, pathway, "synapses", -1 if pathway.prepost == "pre" else 1)
            is_empty, remedy = (
                not len(synapses) and not synapses._connect_called,
                "call connect, or set active to False",
            )
            refuse_if(is_empty, synapses.name, "no connect", "it has no synapses", remedy)


def _check_source(source: Any) -> None:
    """Refuse sources whose spikes are not ready when the chip reads them; Brian2 runs them otherwise unchanged."""
    for part in source.contained_objects:
        if type(part) not in (Thresholder, CodeRunner, brian2.Subgroup):
            raise _foreign_part(source, part)
        for inner in part.contained_objects:
            if type(inner) is not CodeRunner:  # synapses of a subgroup, which the network does not list
                raise _foreign_part(source, inner)
    sender = source.thresholder["spike"] if type(source) is brian2.PoissonGroup else source
    is_late, what = sender.when != "thresholds" or sender.order > 0, f"when = {sender.when!r}, order = {sender.order}"
    why = "the chip takes spikes of the host in slot 'thresholds', after order 0"
    refuse_if(is_late, source.name, what, why, "leave both as they are")


def _check_event_monitor(monitor: Any) -> None:
    source = whole_group(monitor.source)
    if type(source) in SOURCES:  # Brian2 computes all their variables
        return
    is_after = monitor.when in _AFTER_SPIKES | _RESETS | _AFTER_RESETS or (
        monitor.when == "thresholds" and monitor.order >= 1
    )
    why = "the chip tells its spikes in slot 'thresholds' before order 1"
    what = f"when = {monitor.when!r}, order = {monitor.order}"
    refuse_if(not is_after, monitor.name, what, why, "leave both as they are")
    equations = getattr(source, "user_equations", {})
    why = "the chip shows what its neurons hold after the reset, a monitor of spikes what they held before it"
    for name in sorted(getattr(monitor, "record_variables", ())):
        is_constant = name in ("i", "t") or (name in equations and equations[name].type == "parameter")
        refuse_if(not is_constant, monitor.name, f"variables={name!r}", why, f"record {name} with a StateMonitor")


def _check_state_monitor(monitor: Any) -> None:
    if type(whole_group(monitor.source)) not in SOURCES:
        is_amid = monitor.when not in _BEFORE_UPDATES | _AFTER_RESETS
        why = "the chip shows its state between two ticks only"
        refuse_if(is_amid, monitor.name, f"when = {monitor.when!r}", why, "take when='start' or when='end'")


# Errors about things that the chip does not compute: one line with the object, the equation and a remedy.
# The supported class in one line.
INSIDE = (
    "inside are dv/dt linear in v and in currents that decay exponentially, constant threshold and reset, "
    "refractoriness, and synapses that add to them"
)


def refused(name: str, what: str, why: str, remedy: str = INSIDE) -> NotSupportedError:
    """Return the error for something outside the supported class."""
    quoted = " ".join(str(what).split())
    return NotSupportedError(f"{name}: {quoted}: {why}; {remedy}")


def refuse_if(wrong: Any, name: str, what: str, why: str, remedy: str = INSIDE) -> None:
    """Refuse what is wrong of an object; see :func:`refused`."""
    if wrong:
        raise refused(name, what, why, remedy)
