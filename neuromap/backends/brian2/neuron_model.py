"""A NeuronGroup of Brian2 as float neurons: its equations, threshold, reset and refractoriness, analysed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from brian2.equations.equations import DIFFERENTIAL_EQUATION, PARAMETER
from brian2.parsing.sympytools import str_to_sympy
from brian2.units import second
from brian2.units.fundamentalunits import Quantity
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.backends.brian2.constants import Constants, statement
from neuromap.backends.brian2.refused import refused
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.quantise.float_neuron import FloatNeuron

__all__ = ["NeuronModel", "check_method", "neuron_model"]

Floats = NDArray[np.float64]

_EXACT = ("exact", "linear")
_EXACT_WITHOUT_DECAY = ("euler", "heun", "rk2", "rk4", "exponential_euler")
"""Methods that make no error where dv/dt is constant."""


@dataclass(frozen=True, eq=False)
class NeuronModel(Value):
    """What a group's equations say."""

    v: str  # the variable of threshold and reset
    currents: tuple[str, ...]  # variables that decay by themselves and feed v
    # taus, gains: of the currents
    taus: tuple[Floats, ...]
    gains: tuple[Floats, ...]
    values: Mapping[str, Floats]  # of :class:`FloatNeuron`: threshold, reset, rest, tau, drive, refractory
    initial: Mapping[str, Floats]  # of v and the currents at the beginning of the run

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def neuron(self, size: int, pulses: bool) -> FloatNeuron:
        """Make the float neurons, with a further current for pulses onto v where there are any."""
        taus, gains = list(self.taus), list(self.gains)
        initial = [self.initial[name] for name in self.currents]
        if pulses or not taus:
            taus, gains, initial = [*taus, np.array(0.0)], [*gains, np.array(1.0)], [*initial, np.array(0.0)]
        return FloatNeuron(
            size,
            synapse_taus=tuple(taus),
            gains=tuple(gains),
            currents=tuple(initial),
            voltage=self.initial[self.v],
            **self.values,
        )


def neuron_model(group: Any, namespace: Mapping[str, Any], chip: ChipSpec) -> NeuronModel:
    """Analyse a NeuronGroup."""
    equations = group.user_equations
    fixed = tuple(name for name, eq in equations.items() if eq.type == PARAMETER and "linked" not in eq.flags)
    constants = Constants(group, namespace, fixed)
    rows = _linear_rows(group)
    v, threshold = _threshold(group, constants)
    _check_flags(group, v)
    tau, drive = _membrane(group, v, rows, constants, chip)
    currents = tuple(sorted((name for name in rows if name != v), key=lambda name: (name not in rows[v][0], name)))
    taus = tuple(_current(group, name, v, rows, constants, chip) for name in currents)
    gains = tuple(constants.of_sympy(rows[v][0].get(name, 0), _quote(group, v)) for name in currents)
    has_leak = np.isfinite(tau)
    values = {
        "threshold": threshold,
        "reset": _reset(group, v, constants),
        "tau": tau,
        "rest": np.where(has_leak, drive * np.where(has_leak, tau, 1.0), 0.0),
        "drive": np.where(has_leak, 0.0, drive),
        "refractory": _refractory(group, v, constants),
    }
    initial = {name: np.array(group.variables[name].get_value(), np.float64) for name in (v, *currents)}
    return NeuronModel(v, currents, taus, gains, values, initial)


def _quote(group: Any, name: str) -> str:
    equation = group.user_equations[name]
    flags = f" ({', '.join(equation.flags)})" if equation.flags else ""
    left = f"d{name}/dt" if equation.type == DIFFERENTIAL_EQUATION else name
    return f"{left} = {equation.expr.code}{flags}"


def _linear_rows(group: Any) -> dict[str, tuple[dict[str, Any], Any]]:
    """Split every differential equation into coefficients of its variables and a constant."""
    equations = group.user_equations
    if equations.is_stochastic:
        noisy = [n for n in equations.diff_eq_names if equations[n].stochastic_variables]
        raise refused(
            group.name, _quote(group, sorted(noisy or equations.diff_eq_names)[0]), "noise (xi) is not computed"
        )
    found = dict(equations.get_substituted_expressions(group.variables))
    symbols = {name: sympy.Symbol(name, real=True) for name in equations.diff_eq_names}
    rows = {}
    for name in sorted(equations.diff_eq_names):
        expression = str_to_sympy(found[name].code).expand()
        factors = {other: expression.diff(symbol) for other, symbol in symbols.items()}
        constant = expression.subs(dict.fromkeys(symbols.values(), 0))
        for other, factor in factors.items():
            if factor.free_symbols & set(symbols.values()) or factor.has(sympy.Derivative):
                raise refused(group.name, _quote(group, name), f"it is not linear in {other}")
        factors = {other: factor for other, factor in factors.items() if factor != 0}
        rows[name] = (factors, constant)
    return rows


def _threshold(group: Any, constants: Constants) -> tuple[str, Floats]:
    extra = [event for event in group.events if event != "spike"]
    if "spike" not in group.events or extra:
        what = f"events {', '.join(extra)}" if extra else "NeuronGroup without threshold"
        raise refused(group.name, what, "neurons of the chip spike at a threshold, and have no other events")
    text = group.events["spike"]
    quoted = f"threshold {text!r}"
    try:
        relation = str_to_sympy(text)
    except SyntaxError:
        relation = None
    if isinstance(relation, (sympy.StrictLessThan, sympy.LessThan)):
        relation = relation.reversed
    is_above = isinstance(relation, sympy.StrictGreaterThan)
    if isinstance(relation, sympy.GreaterThan):
        raise refused(
            group.name,
            quoted,
            "neurons of the chip spike above their threshold, and it has a grid of its own",
            f"write {relation.lhs} > a value between the last that does not spike and {relation.rhs}",
        )
    if not is_above or str(relation.lhs) not in group.user_equations.diff_eq_names:
        raise refused(group.name, quoted, "it does not compare a differential variable with a constant")
    constants.check_units(f"_cond = {text}")
    return str(relation.lhs), constants.of_sympy(relation.rhs, quoted)


def _reset(group: Any, v: str, constants: Constants) -> Floats:
    text = group.event_codes.get("spike")
    if text is None:
        raise refused(group.name, "NeuronGroup without reset", "neurons of the chip reset when they spike")
    lines = [line for line in text.replace(";", "\n").split("\n") if line.strip()]
    quoted = f"reset {'; '.join(line.strip() for line in lines)!r}"
    variable, operation, expression = statement(group.name, lines[0].strip() if lines else "", quoted)
    if len(lines) != 1 or variable != v or operation != "=":
        raise refused(group.name, quoted, f"the chip sets {v} to a constant when it spikes, and nothing else")
    constants.check_units(text)
    return constants.of_text(expression, quoted)


def _refractory(group: Any, v: str, constants: Constants) -> Floats:
    given = group._refractory
    if given is False:
        return np.array(0.0)
    quoted = f"refractory={given}"
    if isinstance(given, Quantity) and given.ndim == 0 and given.dim is second.dim:
        time = np.asarray(given, np.float64)
    elif isinstance(given, str) and constants.dimensions(given) is second.dim:
        time = constants.of_text(given, quoted)
    else:
        raise refused(group.name, quoted, "it is no constant time")
    if "unless refractory" not in group.user_equations[v].flags:
        raise refused(
            group.name, _quote(group, v), f"with {quoted} the chip holds {v}; write (unless refractory) at the equation"
        )
    return time


def _check_flags(group: Any, v: str) -> None:
    for name in group.user_equations.diff_eq_names:
        if name != v and "unless refractory" in group.user_equations[name].flags and group._refractory is not False:
            raise refused(group.name, _quote(group, name), "currents of the chip go on while a neuron rests")


def check_method(group: Any, model: NeuronModel) -> None:
    """Refuse methods that come close to the solution of the equations, or not even that: the chip follows it."""
    decays = bool(model.currents) or np.isfinite(model.values["tau"]).any()
    choice = group.state_updater.method_choice
    first = choice[0] if isinstance(choice, (tuple, list)) and choice else choice
    told = first if isinstance(first, str) else getattr(first, "__name__", type(first).__name__)
    if first not in _EXACT and (decays or first not in _EXACT_WITHOUT_DECAY):
        raise refused(
            group.name,
            f"method={told!r}",
            "the chip follows the exact solution of the equations",
            "take method='exact'",
        )


def _membrane(
    group: Any, v: str, rows: Mapping[str, tuple[dict[str, Any], Any]], constants: Constants, chip: ChipSpec
) -> tuple[Floats, Floats]:
    quoted = _quote(group, v)
    factors, constant = rows[v]
    leak = constants.of_sympy(factors.get(v, 0), quoted)
    if not np.isfinite(leak).all():
        raise refused(group.name, quoted, "it is not finite, a parameter in it is 0", "set it before the first run")
    if (leak > 0).any():
        raise refused(group.name, quoted, f"{v} would grow by itself; voltages of the chip decay or stay")
    if (leak < 0).any():
        _require_decay(group, quoted, chip)
    drive = constants.of_sympy(constant, quoted)
    leak, drive = np.broadcast_arrays(leak, drive)
    return np.where(leak < 0, -1 / np.where(leak < 0, leak, 1.0), np.inf), drive


def _current(
    group: Any,
    name: str,
    v: str,
    rows: Mapping[str, tuple[dict[str, Any], Any]],
    constants: Constants,
    chip: ChipSpec,
) -> Floats:
    quoted = _quote(group, name)
    factors, constant = rows[name]
    others = [other for other in factors if other != name]
    if others:
        raise refused(group.name, quoted, f"a current of the chip decays by itself, this one depends on {others[0]}")
    if constants.of_sympy(constant, quoted).any():
        raise refused(group.name, quoted, "a current of the chip decays to 0, this one does not")
    if name not in rows[v][0]:
        raise refused(group.name, quoted, f"{v} does not depend on {name}, and the chip has variables only for that")
    rate = constants.of_sympy(factors.get(name, 0), quoted)
    if not (rate < 0).all():
        raise refused(group.name, quoted, "a current of the chip decays exponentially, this one does not")
    _require_decay(group, quoted, chip)
    return -1 / rate


def _require_decay(group: Any, quoted: str, chip: ChipSpec) -> None:
    if chip.core_model != "synapse-list":
        raise refused(group.name, quoted, f"a neuron of {chip.name} adds a constant leak", "loihi1 computes it")
