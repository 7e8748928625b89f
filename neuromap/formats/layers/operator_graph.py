"""A graph of operators with fewer of them: what is a function of one tensor becomes one function.

Frameworks write ``x * sigmoid(x)`` or a normalisation as many operators, and training with straight-through gradients
leaves ``x + (step(x) - x)`` behind. In a network these are functions of a node, not nodes that read others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.files.messages import show_name
from neuromap.formats.layers.operator import Operator, TensorShape
from neuromap.render.value import Card

_JOINS = ("add", "multiply")
_WITHIN = ("function", "average")
"""Operators of one tensor of which functions are composed; others move or weigh elements."""


def simplified(graph: OperatorGraph) -> OperatorGraph:
    """Join operators that together are a function of one tensor.

    Parameters
    ----------
    graph : OperatorGraph
        As a reader gives it.

    Returns
    -------
    OperatorGraph
        What it computes is the same, but for the rounding of ``x + (y - x)``, which becomes ``y``.
    """
    return _fused(_without_detours(graph))


def _without_detours(graph: OperatorGraph) -> OperatorGraph:
    """Replace ``x + (y - x)`` and ``(y + x) - x`` by ``y``, and drop functions that change nothing."""
    made: dict[str, Operator] = {}
    instead: dict[str, str] = {}
    kept = []
    for found in graph.operators:
        one = replace(found, reads=tuple(instead.get(tensor, tensor) for tensor in found.reads))
        target = _same_as(one, made)
        if target is not None and one.gives not in graph.outputs:
            instead[one.gives] = target
            continue
        if target is not None:
            one = replace(one, kind="function", reads=(target,), settings={"function": "same"}, constants=())
        made[one.gives] = one
        kept.append(one)
    return replace(graph, operators=tuple(kept))


def _same_as(one: Operator, made: dict[str, Operator]) -> str | None:
    """Name the tensor that an operator gives back."""
    if one.kind == "function" and one.setting("function") == "same":
        return one.reads[0]
    terms = dict(_terms(one))
    for tensor in tuple(terms):
        inner = made.get(tensor)
        if inner is not None and inner.kind == "add" and abs(terms.get(tensor, 0)) == 1:
            opened = dict(terms)
            sign = opened.pop(tensor)
            for name, count in _terms(inner):
                opened[name] = opened.get(name, 0) + sign * count
            left = {name: count for name, count in opened.items() if count}
            if len(left) == 1 and len(opened) == 2 and set(left.values()) == {1}:
                return next(iter(left))
    return None


def _terms(one: Operator) -> Iterator[tuple[str, int]]:
    if one.kind == "add" and len(set(one.reads)) == len(one.reads) == 2:
        yield from zip(one.reads, one.setting("signs", (1, 1)), strict=True)


def _fused(graph: OperatorGraph) -> OperatorGraph:
    """Make functions of sums and products whose operands are all functions of one tensor."""
    shapes = {**graph.inputs, **{one.gives: one.shape for one in graph.operators}}
    root: dict[str, str] = {}
    words: dict[str, tuple[str, ...]] = {}
    kept = []
    for one in graph.operators:
        roots = {root.get(tensor, tensor) for tensor in one.reads}
        if one.kind in _JOINS and len(roots) == 1 and shapes[next(iter(roots))] == one.shape:
            within = tuple(dict.fromkeys(word for tensor in one.reads for word in words.get(tensor, ())))
            called = " and ".join([*within, one.called or one.kind][:4])
            one = replace(one, kind="function", reads=tuple(roots), called=called, settings={}, constants=())
        if one.kind in _WITHIN:
            root[one.gives] = root.get(one.reads[0], one.reads[0])
            words[one.gives] = (*words.get(one.reads[0], ()), one.called or one.kind)[-4:]
        kept.append(one)
    return replace(graph, operators=tuple(kept))


# A network as its source computes it: a graph of operators with shapes and multiply-accumulates.


MAX_OPERATORS = 100_000
"""Most operators of one graph."""


@dataclass(frozen=True, eq=False)
class OperatorGraph(Card):
    """Operators in an order in which each can be computed.

    Attributes
    ----------
    name : str
        Of the network.
    inputs : mapping of str to (tuple of int or None)
        Tensors that come from outside, with their shapes, the batch first, which is one frame.
    operators : tuple of Operator
        Each after those whose tensors it reads. Those that no output depends on are left out.
    outputs : tuple of str
        Tensors that leave the network.
    producer : str
        Tool and version that wrote it, where the source says so.
    unread : tuple of str
        What the reader left out or could not read, in clauses.
    scales : mapping of str to float
        What a value of 1 stands for, by node of the graded network that the graph was written of.

    Raises
    ------
    InputError
        If there are too many operators, one reads what is not known before, or gives what is known already.
    """

    name: str
    inputs: Mapping[str, TensorShape | None]
    operators: tuple[Operator, ...]
    outputs: tuple[str, ...]
    producer: str = ""
    unread: tuple[str, ...] = field(default=())
    scales: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", ReadOnlyMapping(self.inputs))
        if len(self.operators) > MAX_OPERATORS:
            raise InputError(
                f"{len(self.operators)} operators: at most {MAX_OPERATORS} are taken; split the network into parts"
            )
        known = set(self.inputs)
        for one in self.operators:
            for tensor in one.reads:
                if tensor not in known:
                    raise InputError(
                        f"operator {show_name(one.name)}: reads {show_name(tensor)}, which no input or earlier "
                        "operator gives; operators come after those that they read, and form no cycle"
                    )
            if one.gives in known:
                raise InputError(
                    f"operator {show_name(one.name)}: gives {show_name(one.gives)}, which is there already; every "
                    "tensor is made once"
                )
            known.add(one.gives)
        for tensor in self.outputs:
            if tensor not in known:
                raise InputError(f"output {show_name(tensor)}: no operator gives it; outputs are tensors of the graph")
        object.__setattr__(self, "operators", needed(self.operators, self.outputs))

    def _facts(self) -> dict[str, object]:
        return {
            "name": self.name,
            "inputs": ", ".join(self.inputs),
            "operators": len(self.operators),
            "outputs": ", ".join(self.outputs),
        }

    @property
    def work(self) -> int | None:
        """Multiply-accumulates of one frame; ``None`` where those of some operator are not known."""
        works = [one.work for one in self.operators]
        return None if None in works else sum(work for work in works if work is not None)


def needed(operators: tuple[Operator, ...], outputs: tuple[str, ...]) -> tuple[Operator, ...]:
    """Keep the operators that some output depends on."""
    wanted, kept = set(outputs), []
    for one in reversed(operators):
        if one.gives in wanted:
            wanted.update(one.reads)
            kept.append(one)
    return tuple(reversed(kept))


# What is known while a source is read, one call of its operators after the other.

Exact = tuple[NDArray[Any], NDArray[Any]] | None
"""Integers and the scale that they are multiplied by."""


class GraphReading:
    """Tensors and operators that are known so far, and the call that is being read."""

    # constants: tensors that no input changes; ``None`` where their numbers are not at hand. It is added to
    # shapes: of tensors, for the whole batch

    def __init__(self, constants: dict[str, Any], shapes: dict[str, TensorShape | None]) -> None:
        self.constants, self.shapes = constants, shapes
        self.operators: list[Operator] = []
        self.unread: list[str] = []
        self.origins: dict[str, str] = {}
        """What constants are called in the source, or those that they are computed from."""
        self.exact: dict[str, tuple[NDArray[Any], NDArray[Any]]] = {}
        """Integers and scale, of one shape, of constants that are their product."""
        self._label = self._word = self._gives = ""

    def begin(self, label: str, word: str, gives: str) -> None:
        """Turn to a call: how it is labelled, what the source calls what it does, the tensor that it gives."""
        self._label, self._word, self._gives = label, word, gives

    def add(
        self,
        kind: str,
        reads: Sequence[str],
        *,
        settings: Mapping[str, Any] | None = None,
        constants: Sequence[NDArray[Any]] = (),
        exact: Sequence[Exact] = (),
        work: int | None = 0,
        gives: str = "",
        shape: TensorShape | None = None,
        called: str = "",
    ) -> str:
        """Take the call over as an operator, and name the tensor that it gives."""
        tensor = gives or self._gives
        if shape is not None:
            self.shapes[tensor] = shape
        whole, word = self.shapes.get(tensor), called or self._word
        found = tuple(constants), tuple(exact)
        self.operators.append(
            Operator(self._label, kind, tuple(reads), tensor, whole, work, word, settings or {}, *found)
        )
        return tensor

    def function(self, source: str, name: str = "", constants: Sequence[NDArray[Any] | None] = ()) -> bool:
        """Take the call over as a function; one whose constants are not at hand has no name: it cannot be computed."""
        known = [array for array in constants if array is not None]
        settings = {"function": name} if name and len(known) == len(constants) else {}
        self.add("function", [source], settings=settings, constants=known if settings else ())
        return True

    def to_reals(
        self, source: str, scale: NDArray[Any], zero: NDArray[Any] | None, gives: str = "", **more: Any
    ) -> str:
        """Take the call, or a part of it, over as a function that makes reals of the integers of a tensor."""
        constants = [scale, np.zeros((), np.int64) if zero is None else zero.astype(np.int64)]
        found = {"dequantises": True, **_range(zero), **more}
        shape, called = self.shapes.get(source), "DequantizeLinear"
        return self.add(
            "function", [source], settings=found, constants=constants, gives=gives, shape=shape, called=called
        )

    def to_integers(self, source: str, scale: NDArray[Any], zero: NDArray[Any], **more: Any) -> str:
        """Take the call, or a part of it, over as a function that rounds the reals of a tensor to integers."""
        settings = {"quantises": True, **_range(zero), **more}
        constants = [scale, zero.astype(np.int64)]
        return self.add("function", [source], settings=settings, constants=constants, called="QuantizeLinear")

    def graph(
        self, name: str, inputs: Iterable[str], outputs: Iterable[str], *, batch: int, producer: str
    ) -> OperatorGraph:
        """Give all that was read, for one frame of the batch."""

        def of_frame(tensor: str) -> TensorShape | None:
            shape = self.shapes.get(tensor)
            return (1, *shape[1:]) if shape and shape[0] == batch else shape

        return OperatorGraph(
            name=name,
            inputs={tensor: of_frame(tensor) for tensor in inputs},
            operators=tuple(
                replace(
                    one,
                    shape=of_frame(one.gives),
                    work=None if one.work is None else one.work // batch,
                    settings=_of_frame(one, self.shapes.get(one.reads[0]) if one.reads else None, batch),
                )
                for one in self.operators
            ),
            outputs=tuple(dict.fromkeys(outputs)),
            producer=producer,
            unread=tuple(dict.fromkeys(self.unread)),
        )


def is_integer(array: NDArray[Any] | None) -> bool:
    """Tell whether an array is of integers, of those too that NumPy has not."""
    return array is not None and array.dtype.name.startswith(("int", "uint"))


def _range(zero: NDArray[Any] | None) -> dict[str, int]:
    """Give the least and greatest integer of a type; small ones that NumPy has not are those of ``ml_dtypes``."""
    if zero is None:
        return {}
    bits = int("".join(letter for letter in zero.dtype.name if letter.isdigit()))
    if zero.dtype.name.startswith("u"):
        return {"low": 0, "high": 2**bits - 1}
    return {"low": -(2 ** (bits - 1)), "high": 2 ** (bits - 1) - 1}


def _of_frame(one: Operator, source: TensorShape | None, batch: int) -> Mapping[str, Any]:
    """Give the settings that hold for one frame of a batch of several."""
    # gives none where frames are cut apart, or change places with something else: one frame does not say what follows
    if batch == 1 or not source or source[0] != batch or one.kind not in ("slice", "transpose"):
        return one.settings
    axes = (0, -len(source))
    is_mixed = one.setting("axis") in axes or one.setting("order", (0,))[0] not in axes
    return {} if is_mixed else one.settings
