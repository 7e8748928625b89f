"""Expressions of Brian2 whose value does not change in a run, as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy
from brian2.core.functions import Function
from brian2.core.variables import ArrayVariable, Subexpression
from brian2.equations.unitcheck import check_units_statements
from brian2.parsing.expressions import parse_expression_dimensions
from brian2.parsing.statements import parse_statement
from brian2.parsing.sympytools import str_to_sympy
from brian2.utils.stringtools import get_identifiers
from numpy.typing import NDArray

from neuromap.backends.brian2.refused import refused

__all__ = ["Constants", "statement"]

Floats = NDArray[np.float64]

_FUNCTIONS = (
    "exp",
    "expm1",
    "log",
    "log10",
    "sqrt",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "abs",
    "sign",
    "clip",
)
"""Functions of Brian2 that give the same at any time."""
_CLOCKS = ("dt", "N", "i", "j")
"""Variables that Brian2 makes itself and that do not change."""


class Constants:
    """Values of names as an object of Brian2 knows them."""

    def __init__(self, group: Any, namespace: Mapping[str, Any], fixed: tuple[str, ...], take: Any = None) -> None:
        self._group, self._namespace = group, namespace
        self._fixed, self._take = {*fixed, *_CLOCKS}, take or (lambda name, values: values)

    def of_text(self, text: str, quoted: str) -> Floats:
        """Give the value of an expression, SI units; ``quoted`` is what an error quotes."""
        return self.of_sympy(str_to_sympy(text), quoted)

    def of_sympy(self, expression: Any, quoted: str) -> Floats:
        """Give the value of an expression of sympy, SI units, shape () or that of the variables."""
        expression = sympy.sympify(expression)
        for call in expression.atoms(sympy.Function):
            self._check_function(str(call.func.__name__).lower(), quoted)
        symbols = sorted(expression.free_symbols, key=str)
        values = [self._value(str(symbol), quoted) for symbol in symbols]
        found = sympy.lambdify(symbols, expression, "numpy")(*values)
        return np.asarray(found, np.float64)

    def dimensions(self, text: str) -> Any:
        """Give the physical dimensions of an expression."""
        return parse_expression_dimensions(text, self._known(text))

    def check_units(self, code: str) -> None:
        """Let Brian2 refuse statements whose units do not fit, which it would do before it ran them itself."""
        known = self._known(code)
        for name in _CLOCKS:  # which Brian2 would replace by names that these checks do not know
            if isinstance(known.get(name), Subexpression):
                raise refused(self._group.name, code, f"{name} counts within a subgroup here", "connect whole groups")
        check_units_statements(code, known)

    def _known(self, text: str) -> Any:
        names = get_identifiers(text) - {"_cond"}
        return self._group.resolve_all(names, self._namespace, user_identifiers=names)

    def _check_function(self, name: str, quoted: str) -> None:
        if name not in _FUNCTIONS:
            raise refused(self._group.name, quoted, f"{name}() may change in a run")

    def _value(self, name: str, quoted: str) -> Floats:
        if name in ("t", "t_in_timesteps"):
            raise refused(self._group.name, quoted, "it depends on the time t")
        variable = self._group.resolve_all([name], self._namespace)[name]
        if isinstance(variable, Function):
            raise refused(self._group.name, quoted, f"{name}() may change in a run")
        if isinstance(variable, Subexpression):
            return self.of_text(variable.expr, quoted)
        if isinstance(variable, ArrayVariable) and name in self._group.variables and not self._is_fixed(name):
            raise refused(self._group.name, quoted, f"{name} changes in a run")
        values = np.asarray(variable.get_value(), np.float64)
        return np.asarray(self._take(name, values[0] if values.shape == (1,) and variable.scalar else values))

    def _is_fixed(self, name: str) -> bool:
        return name in self._fixed


def statement(name: str, line: str, quoted: str) -> tuple[str, str, str]:
    """Take a statement apart into variable, operation and expression; ``name`` is the object's."""
    try:
        variable, operation, expression, _ = parse_statement(line)
    except ValueError:
        raise refused(name, quoted, "it is no statement that sets a variable") from None
    return str(variable), str(operation), str(expression)
