"""Translation of a Brian2 network to a float network, and which objects run on the chip or stay on the host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import brian2
import numpy as np
import sympy
from brian2.equations.equations import DIFFERENTIAL_EQUATION, PARAMETER
from brian2.parsing.sympytools import str_to_sympy
from brian2.units import second
from brian2.units.fundamentalunits import Quantity
from sympy.logic.boolalg import BooleanAtom, BooleanFunction

from neuromap.arrays.array_types import Floats, Ints
from neuromap.backends.brian2.whitelist import (
    INSIDE,
    SOURCES,
    Constants,
    check_monitors,
    check_objects,
    refuse_if,
    refused,
    statement,
    whole_group,
)
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.spiking_neuron import CurrentNeuron
from neuromap.quantise.float_network import FloatNetwork, FloatNeuron, FloatSynapses

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
