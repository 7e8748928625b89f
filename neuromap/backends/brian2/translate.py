"""Translation of a Brian2 network to a float network, and whitelist: what is not on it is refused by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import brian2
import numpy as np
import sympy
from brian2.core.functions import Function
from brian2.core.variables import ArrayVariable, Subexpression
from brian2.equations.equations import DIFFERENTIAL_EQUATION, PARAMETER
from brian2.equations.unitcheck import check_units_statements
from brian2.groups.group import CodeRunner
from brian2.groups.neurongroup import Resetter, StateUpdater, SubexpressionUpdater, Thresholder
from brian2.monitors.spikemonitor import EventMonitor
from brian2.parsing.expressions import parse_expression_dimensions
from brian2.parsing.statements import parse_statement
from brian2.parsing.sympytools import str_to_sympy
from brian2.synapses.synapses import SummedVariableUpdater, SynapticPathway
from brian2.units import second
from brian2.units.fundamentalunits import Quantity
from brian2.utils.stringtools import get_identifiers
from sympy.logic.boolalg import BooleanAtom, BooleanFunction

from neuromap.arrays.array_types import Floats, Ints
from neuromap.errors import NotSupportedError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.spiking_neuron import CurrentNeuron
from neuromap.quantise.float_network import FloatNetwork, FloatNeuron, FloatSynapses

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


# Analysis of a NeuronGroup as float neurons: equations, threshold, reset and refractoriness.

_EXACT = ("exact", "linear")
# Methods that are exact if dv/dt is constant.
_EXACT_WITHOUT_DECAY = ("euler", "heun", "rk2", "rk4", "exponential_euler")


class NeuronModel(NamedTuple):
    """Parameters of a group, from its equations."""

    v: str  # the variable of threshold and reset
    currents: tuple[str, ...]  # variables that decay independently and feed v
    given: Mapping[str, Any]  # arguments of :class:`FloatNeuron`, without those of pulses

    def neuron(self, size: int, pulses: bool) -> FloatNeuron:
        """Make the float neurons, with a further current for pulses onto v, if any."""
        further = {"synapse_taus": 0.0, "gains": 1.0, "currents": 0.0} if pulses or not self.currents else {}
        more = {name: (*self.given[name], np.array(value)) for name, value in further.items()}
        return FloatNeuron(size, **{**self.given, **more})


def neuron_model(group: Any, namespace: Mapping[str, Any], chip: ChipSpec) -> NeuronModel:
    """Analyse a NeuronGroup."""
    return _Analysis(group, namespace, chip).model()


class _Analysis:
    """A NeuronGroup under analysis; quotes and refuses what the chip does not compute."""

    def __init__(self, group: Any, namespace: Mapping[str, Any], chip: ChipSpec) -> None:
        self._group, self._chip, self._equations = group, chip, group.user_equations
        fixed = (n for n, eq in self._equations.items() if eq.type == PARAMETER and "linked" not in eq.flags)
        self._constants = Constants(group, namespace, tuple(fixed))

    def model(self) -> NeuronModel:
        rows, equations = self._linear_rows(), self._equations
        v, threshold = self._threshold()
        is_held = self._group._refractory is not False
        for name in equations.diff_eq_names:
            goes_on = name != v and "unless refractory" in equations[name].flags and is_held
            self._refuse_if(goes_on, self._quote(name), "currents of the chip go on while a neuron rests")
        of_v, quoted = rows[v][0], self._quote(v)
        tau, drive = self._membrane(v, *rows[v])
        currents = tuple(sorted((name for name in rows if name != v), key=lambda name: (name not in of_v, name)))
        taus = tuple(self._current(name, v, of_v, *rows[name]) for name in currents)
        gains = tuple(self._constants.of_sympy(of_v.get(name, 0), quoted) for name in currents)
        has_leak = np.isfinite(tau)
        variables = self._group.variables
        voltage, *initial = (np.array(variables[name].get_value(), np.float64) for name in (v, *currents))
        given = {
            "threshold": threshold,
            "reset": self._reset(v),
            "tau": tau,
            "rest": np.where(has_leak, drive * np.where(has_leak, tau, 1.0), 0.0),
            "drive": np.where(has_leak, 0.0, drive),
            "refractory": self._refractory(v),
            "voltage": voltage,
            "synapse_taus": taus,
            "gains": gains,
            "currents": tuple(initial),
        }
        return NeuronModel(v, currents, given)

    def _refuse_if(self, wrong: Any, what: str, why: str, remedy: str = INSIDE) -> None:
        refuse_if(wrong, self._group.name, what, why, remedy)

    def _quote(self, name: str) -> str:
        equation = self._equations[name]
        flags = f" ({', '.join(equation.flags)})" if equation.flags else ""
        left = f"d{name}/dt" if equation.type == DIFFERENTIAL_EQUATION else name
        return f"{left} = {equation.expr.code}{flags}"

    def _linear_rows(self) -> dict[str, tuple[dict[str, Any], Any]]:
        """Split every differential equation into coefficients of its variables, and a constant."""
        equations = self._equations
        names = sorted(equations.diff_eq_names)
        if equations.is_stochastic:
            noisy = [n for n in names if equations[n].stochastic_variables] or names
            raise refused(self._group.name, self._quote(noisy[0]), "noise (xi) is not computed")
        found = dict(equations.get_substituted_expressions(self._group.variables))
        symbols = {name: sympy.Symbol(name, real=True) for name in equations.diff_eq_names}
        rows = {}
        for name in names:
            expression, quoted = str_to_sympy(found[name].code).expand(), self._quote(name)
            is_bent = expression.has(sympy.Rel, BooleanFunction, BooleanAtom)
            self._refuse_if(is_bent, quoted, "it has a condition, and is not linear")
            factors = {other: expression.diff(symbol) for other, symbol in symbols.items()}
            constant = expression.subs(dict.fromkeys(symbols.values(), 0))
            for other, factor in factors.items():
                is_bent = factor.free_symbols & set(symbols.values()) or factor.has(sympy.Derivative)
                self._refuse_if(is_bent, quoted, f"it is not linear in {other}")
            rows[name] = ({other: factor for other, factor in factors.items() if factor != 0}, constant)
        return rows

    def _threshold(self) -> tuple[str, Floats]:
        events = self._group.events
        extra = [event for event in events if event != "spike"]
        what = f"events {', '.join(extra)}" if extra else "NeuronGroup without threshold"
        why = "neurons of the chip spike at a threshold, and have no other events"
        self._refuse_if("spike" not in events or extra, what, why)
        text = events["spike"]
        quoted = f"threshold {text!r}"
        try:
            relation = str_to_sympy(text)
        except SyntaxError:
            relation = None
        if isinstance(relation, (sympy.StrictLessThan, sympy.LessThan)):
            relation = relation.reversed
        if isinstance(relation, sympy.GreaterThan):
            why = "neurons of the chip spike above their threshold, and it has a grid of its own"
            remedy = f"write {relation.lhs} > a value between the last that does not spike and {relation.rhs}"
            raise refused(self._group.name, quoted, why, remedy)
        if not isinstance(relation, sympy.StrictGreaterThan) or str(relation.lhs) not in self._equations.diff_eq_names:
            raise refused(self._group.name, quoted, "it does not compare a differential variable with a constant")
        self._constants.check_units(f"_cond = {text}")
        return str(relation.lhs), self._constants.of_sympy(relation.rhs, quoted)

    def _reset(self, v: str) -> Floats:
        text = self._group.event_codes.get("spike")
        self._refuse_if(text is None, "NeuronGroup without reset", "neurons of the chip reset when they spike")
        lines = [line.strip() for line in text.replace(";", "\n").split("\n") if line.strip()]
        quoted = f"reset {'; '.join(lines)!r}"
        variable, operation, expression = statement(self._group.name, lines[0] if lines else "", quoted)
        is_other = len(lines) != 1 or variable != v or operation != "="
        self._refuse_if(is_other, quoted, f"the chip sets {v} to a constant when it spikes, and nothing else")
        self._constants.check_units(text)
        return self._constants.of_text(expression, quoted)

    def _refractory(self, v: str) -> Floats:
        given = self._group._refractory
        if given is False:
            return np.array(0.0)
        quoted = f"refractory={given}"
        if isinstance(given, Quantity) and given.ndim == 0 and given.dim is second.dim:
            time = np.asarray(given, np.float64)
        elif isinstance(given, str) and self._constants.dimensions(given) is second.dim:
            time = self._constants.of_text(given, quoted)
        else:
            raise refused(self._group.name, quoted, "it is not a constant time")
        why = f"with {quoted} the chip holds {v}; write (unless refractory) at the equation"
        self._refuse_if("unless refractory" not in self._equations[v].flags, self._quote(v), why)
        return time

    def _membrane(self, v: str, factors: dict[str, Any], constant: Any) -> tuple[Floats, Floats]:
        quoted = self._quote(v)
        leak = self._constants.of_sympy(factors.get(v, 0), quoted)
        why = "it is not finite, a parameter in it is 0"
        self._refuse_if(not np.isfinite(leak).all(), quoted, why, "set it before the first run")
        why = f"{v} would grow by itself; voltages of the chip decay or stay"
        self._refuse_if((leak > 0).any(), quoted, why)
        if (leak < 0).any():
            self._require_decay(quoted)
        leak, drive = np.broadcast_arrays(leak, self._constants.of_sympy(constant, quoted))
        return np.where(leak < 0, -1 / np.where(leak < 0, leak, 1.0), np.inf), drive

    def _current(self, name: str, v: str, of_v: dict[str, Any], factors: dict[str, Any], constant: Any) -> Floats:
        quoted, of_sympy = self._quote(name), self._constants.of_sympy
        others = [other for other in factors if other != name]
        why = f"a current of the chip decays by itself, this one depends on {', '.join(others[:1])}"
        self._refuse_if(others, quoted, why)
        is_driven = of_sympy(constant, quoted).any()
        self._refuse_if(is_driven, quoted, "a current of the chip decays to 0, this one does not")
        why = f"{v} does not depend on {name}, and the chip has variables only for that"
        self._refuse_if(name not in of_v, quoted, why)
        rate = of_sympy(factors.get(name, 0), quoted)
        is_decay = (rate < 0).all()
        self._refuse_if(not is_decay, quoted, "a current of the chip decays exponentially, this one does not")
        self._require_decay(quoted)
        return -1 / rate

    def _require_decay(self, quoted: str) -> None:
        why = f"a neuron of {self._chip.name} adds a constant leak"
        self._refuse_if(not self._chip.kind.computes(CurrentNeuron), quoted, why, "loihi1 computes it")


def check_method(group: Any, model: NeuronModel) -> None:
    """Refuse inexact integration methods: the chip follows the exact solution."""
    decays = bool(model.currents) or np.isfinite(model.given["tau"]).any()
    choice = group.state_updater.method_choice
    first = choice[0] if isinstance(choice, (tuple, list)) and choice else choice
    told = first if isinstance(first, str) else getattr(first, "__name__", type(first).__name__)
    is_inexact = first not in _EXACT and (decays or first not in _EXACT_WITHOUT_DECAY)
    why = "the chip follows the exact solution of the equations"
    refuse_if(is_inexact, group.name, f"method={told!r}", why, "take method='exact'")


class Translated(NamedTuple):
    """A Brian2 network translated for the chip."""

    network: FloatNetwork  # in SI units, with the names of Brian2's objects
    models: Mapping[str, NeuronModel]  # of every group on the chip
    groups: Mapping[str, Any]  # NeuronGroups on the chip
    sources: Mapping[str, Any]  # groups whose spikes the host sends
    synapses: tuple[Any, ...]  # synapses on the chip
    labels: tuple[str, ...]  # of all synapses of the network: object and pathway of origin


def translate(objects: Iterable[Any], namespace: Mapping[str, Any], chip: ChipSpec, name: str = "brian2") -> Translated:
    """Translate objects of Brian2."""
    ordered = check_objects(objects)
    groups = {thing.name: thing for thing in ordered if isinstance(thing, brian2.NeuronGroup)}
    sources = {thing.name: thing for thing in ordered if isinstance(thing, SOURCES)}
    synapses = tuple(thing for thing in ordered if isinstance(thing, brian2.Synapses))
    refuse_if(not groups, name, "network", "it has no NeuronGroup")
    dt = _one_dt([*groups.values(), *sources.values()])
    models = {key: neuron_model(group, namespace, chip) for key, group in groups.items()}
    for thing in synapses:
        _check_ends(thing, {**groups, **sources}, models)
    statements = [part for thing in synapses for part in synapse_statements(thing, namespace, models)]
    for key, group in groups.items():  # last, because errors about equations are more specific
        check_method(group, models[key])
    check_monitors(ordered)
    parts = tuple(part for _, part in statements)
    pulsed = {part.target for part in parts if part.current == len(models[part.target].currents)}
    nodes = {key: models[key].neuron(len(group), key in pulsed) for key, group in groups.items()}
    network = FloatNetwork(name, dt, {key: len(group) for key, group in sources.items()}, nodes, parts)
    return Translated(network, models, groups, sources, synapses, tuple(label for label, _ in statements))


def _one_dt(groups: list[Any]) -> float:
    steps = {float(group.clock.dt_): group.name for group in groups}
    told = ", ".join(f"{name} {1e3 * dt:g} ms" for dt, name in steps.items())
    why = "the chip has one tick for all"
    refuse_if(len(steps) > 1, groups[0].name, f"dt of {told}", why, "give all groups one dt")
    (dt,) = steps
    return dt


def _names(synapses: Any) -> tuple[str, str]:
    """Return the names of the source and target groups."""
    return str(whole_group(synapses.source).name), str(whole_group(synapses.target).name)


def _check_ends(synapses: Any, known: Mapping[str, Any], models: Mapping[str, NeuronModel]) -> None:
    ends = _names(synapses)
    for end in ends:
        refuse_if(end not in known, synapses.name, " -> ".join(ends), f"{end} is not in the network", "add it")
    why = f"{ends[1]} stays on the host"
    refuse_if(ends[1] not in models, synapses.name, " -> ".join(ends), why, "end at a NeuronGroup")


# Analysis of Synapses as float synapses: statements that add a constant, each with its weights and delays.


def synapse_statements(
    synapses: Any, namespace: Mapping[str, Any], models: Mapping[str, NeuronModel]
) -> list[tuple[str, FloatSynapses]]:
    """Analyse Synapses: statements ``variable += weight``, each with the names of object and pathway."""
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
        is_post, is_other = pathway.prepost == "post", pathway.event != "spike"
        refuse_if(is_post, name, f"on_post={pathway.code!r}", "weights of the chip do not change in a run")
        refuse_if(is_other, name, f"on_event={pathway.event!r}", "synapses of the chip act on spikes")
        _check_number(synapses, pathway)
        lines = [line.strip() for line in pathway.code.replace(";", "\n").split("\n") if line.strip()]
        additions = [_addition(synapses, line) for line in lines]  # first refuses variables that the code itself makes
        constants = _constants(synapses, namespace)
        constants.check_units(pathway.code)
        label = f"{name}.{pathway.objname}"
        found += [(label, _synapses_of(synapses, pathway, addition, constants, models)) for addition in additions]
    return found


def _addition(synapses: Any, line: str) -> tuple[str, str, float, str]:
    """Split a statement into the variable that changes, the expression, its sign, and what errors quote."""
    quoted = f"on_pre={line!r}"
    variable, operation, expression = statement(synapses.name, line, quoted)
    is_other = variable in synapses.equations or variable.endswith("_pre")
    refuse_if(is_other, synapses.name, quoted, "only variables of the target may change")
    refuse_if(operation not in ("+=", "-="), synapses.name, quoted, "a spike adds a weight")
    return variable, expression, -1.0 if operation == "-=" else 1.0, quoted


def _synapses_of(
    synapses: Any,
    pathway: Any,
    addition: tuple[str, str, float, str],
    constants: Constants,
    models: Mapping[str, NeuronModel],
) -> FloatSynapses:
    variable, expression, sign, quoted = addition
    i, j = _ends(synapses)
    weight = sign * constants.of_text(expression, quoted)
    delay = np.asarray(pathway.variables["delay"].get_value(), np.float64)
    delay = delay[0] if delay.shape == (1,) and pathway.variables["delay"].scalar else delay
    source, target, changed = *_names(synapses), variable.removesuffix("_post")
    model = models[target]
    variables, why = (*model.currents, model.v), f"{changed} is neither {model.v} nor a current of it"
    refuse_if(changed not in variables, f"{source} -> {target}", quoted, why)
    current = variables.index(changed)
    weight, delay = np.broadcast_to(weight, i.shape), np.broadcast_to(delay, i.shape)
    return FloatSynapses(source, target, i, j, weight, delay, current)


def _check_number(synapses: Any, pathway: Any) -> None:
    """Refuse weights and delays that do not match the number of synapses, as after restoring a different state."""
    mine = [synapses.variables[name] for name, part in synapses.equations.items() if part.type == PARAMETER]
    wanted = len(_ends(synapses)[0])
    for variable in (*mine, pathway.variables["delay"], synapses.variables["_synaptic_post"]):
        count = wanted if variable.scalar else len(variable.get_value())
        why = f"{variable.name} has {count} values, which restore leaves so"
        refuse_if(count != wanted, synapses.name, f"{wanted} synapses", why, "connect all synapses before store")


def _ends(synapses: Any) -> tuple[Ints, Ints]:
    """Return sources and targets as indices in the whole groups."""
    first, second = (synapses.variables[f"_synaptic_{end}"].get_value() for end in ("pre", "post"))
    return np.array(first, np.int64), np.array(second, np.int64)


def _constants(synapses: Any, namespace: Mapping[str, Any]) -> Constants:
    """Return the values known to each synapse: its own parameters, and those of source and target."""
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
