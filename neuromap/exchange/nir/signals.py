"""What arrives at a node: spikes of sources through matrices and delays, and a constant."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from neuromap.errors import NotSupportedError
from neuromap.exchange.nir.windows import MAX_WEIGHTS

__all__ = ["Filter", "Signal", "Term", "merged", "through", "times"]

Floats = NDArray[np.float64]


class Filter(NamedTuple):
    """A leaky integrator on the way: q := kept q + spikes, once per step."""

    name: str  # the node
    tau: Floats  # (n,): seconds, for each value


class Term(NamedTuple):
    """Spikes of one source."""

    source: str  # an input or a node with neurons
    matrix: csr_array  # (n, n_source): what each value takes of them
    delay: float = 0.0  # seconds
    filter: Filter | None = None  # what they pass behind the matrix
    via: tuple[str, ...] | None = ()  # nodes on the way, in order; ``None`` where several ways were added up


class Signal(NamedTuple):
    """Values on their way."""

    shape: tuple[int, ...]  # of NIR
    terms: tuple[Term, ...]  # no two of the same source, delay and filter
    constant: Floats  # (n,): what is added in every step


def merged(terms: list[Term]) -> tuple[Term, ...]:
    """Add up terms that share source, delay and filter; ways multiply, sums do not."""
    found: dict[tuple[str, float, str], Term] = {}
    for term in terms:
        key = (term.source, term.delay, term.filter.name if term.filter else "")
        known = found.get(key)
        if known is not None and not term.matrix.nnz:
            continue
        if known is not None and known.matrix.nnz:
            term = known._replace(matrix=csr_array(known.matrix + term.matrix), via=None)
        found[key] = term
    return tuple(found.values())


def times(name: str, matrix: csr_array, other: csr_array) -> csr_array:
    """Multiply matrices of bounded work."""
    products = int(np.bincount(matrix.indices, minlength=matrix.shape[1]) @ np.diff(other.indptr))
    if products > MAX_WEIGHTS:
        raise NotSupportedError(
            f"node {name}: joined with the maps before it, takes {products} products; at most {MAX_WEIGHTS} are "
            "allowed, put neurons between them"
        )
    return csr_array(matrix @ other)


def through(name: str, matrix: csr_array, signal: Signal, shape: tuple[int, ...]) -> Signal:
    """Send values through a matrix."""
    # shapes: matrix (n, n_signal)
    terms = []
    for term in signal.terms:
        passed = term.filter
        if passed is not None:
            if np.ptp(passed.tau) > 0:
                raise NotSupportedError(
                    f"node {passed.name}: tau dv/dt = v_leak - v + r I of several time constants feeds node {name}, "
                    "which mixes its values; no neuron of a chip sums currents of that kind, give it one tau"
                )
            passed = Filter(passed.name, np.full(matrix.shape[0], passed.tau[:1].max(initial=0.0)))
        via = None if term.via is None else (*term.via, name)
        terms.append(Term(term.source, times(name, matrix, term.matrix), term.delay, passed, via))
    return Signal(shape, tuple(terms), matrix @ signal.constant)
