"""Graphs of operators, the common result of the readers of ONNX files and PyTorch modules."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.files.messages import show_name
from neuromap.render.value import Card

Array = NDArray[Any]


def _falling(*_: Array) -> int:
    return -1


def _normalised(x: Array, mean: Array, variance: Array, scale: Array, shift: Array, epsilon: Array) -> Array:
    """Normalise a batch with stored means and variances, in PyTorch's order of operations."""
    one = x.dtype.type
    factor = (scale / np.sqrt(variance + epsilon.astype(x.dtype))).astype(x.dtype)
    result: Array = x * factor + (shift - mean * factor).astype(one)
    return result


def _normal_line(mean: Array, variance: Array, scale: Array, shift: Array, epsilon: Array) -> tuple[Array, Array]:
    factor = scale / np.sqrt(variance + epsilon)
    return factor, shift - mean * factor


def _float(found: Array, like: Array) -> Array:
    return found.astype(like.dtype)


@dataclass(frozen=True)
class PointFunction:
    """An element-wise function."""

    compute: Callable[..., Array]  # of an array and constants
    line: Callable[..., tuple[Any, Any]] | None = None  # of the constants: factor and shift, if it does nothing else
    turns: Callable[..., Any] = lambda *_: 1  # of the constants: the slope of others
    decides: bool = False  # whether it may leave two values

    def slope(self, *constants: Array) -> Any:
        """Return 1 where it never falls, -1 where it never rises, 0 where it is constant; a number or an array."""
        return self.turns(*constants) if self.line is None else np.sign(self.line(*constants)[0])


# By the name that operators give them. Truth values are 0 and 1; ``where`` takes them.
FUNCTIONS: Mapping[str, PointFunction] = ReadOnlyMapping(
    {
        "same": PointFunction(lambda x: x, lambda: (1, 0)),
        "negative": PointFunction(lambda x: -x, lambda: (-1, 0)),
        "plus": PointFunction(lambda x, c: x + c, lambda c: (1, c)),
        "minus": PointFunction(lambda x, c: x - c, lambda c: (1, -c)),
        "from": PointFunction(lambda x, c: c - x, lambda c: (-1, c)),
        "times": PointFunction(lambda x, c: x * c, lambda c: (c, 0)),
        "divided_by": PointFunction(lambda x, c: x / c, lambda c: (1 / c, 0)),
        "batch_norm": PointFunction(_normalised, _normal_line),
        "greater": PointFunction(lambda x, c: _float(x > c, x), decides=True),
        "greater_or_equal": PointFunction(lambda x, c: _float(x >= c, x), decides=True),
        "less": PointFunction(lambda x, c: _float(x < c, x), turns=_falling, decides=True),
        "less_or_equal": PointFunction(lambda x, c: _float(x <= c, x), turns=_falling, decides=True),
        "not": PointFunction(lambda x: _float(x == 0, x), turns=_falling),
        "where": PointFunction(
            lambda x, yes, no: np.where(x != 0, yes, no).astype(x.dtype), turns=lambda a, b: np.sign(a - b)
        ),
        "sign": PointFunction(np.sign, decides=True),
        "heaviside": PointFunction(lambda x, at: np.heaviside(x, at).astype(x.dtype), decides=True),
        "relu": PointFunction(lambda x: np.maximum(x, 0)),
        "clip": PointFunction(lambda x, low, high: np.clip(x, low, high), decides=True),
        "floor": PointFunction(np.floor, decides=True),
        "ceil": PointFunction(np.ceil, decides=True),
        "round": PointFunction(np.round, decides=True),
        "truncate": PointFunction(np.trunc, decides=True),
        "sigmoid": PointFunction(lambda x: 1 / (1 + np.exp(-x))),
        "tanh": PointFunction(np.tanh),
    }
)


TensorShape = tuple[int, ...]

# What operators do. Functions with a name of :data:`~neuromap.formats.layers.FUNCTIONS` can be computed.
KINDS: Mapping[str, str] = ReadOnlyMapping(
    {
        "conv": "a convolution, with weights (features, features / groups, kernel) and perhaps a bias",
        "conv_transpose": "its transpose, which makes more rows and columns",
        "dense": "the last axis times a constant matrix, stored (n_target, n_source), and perhaps a bias",
        "product": "a product of two matrices, none of them constant",
        "multiply": "two tensors, none of them constant, element by element: multiplied, divided, compared, ...",
        "add": "a sum of two tensors, none of them constant, with signs",
        "max_pool": "the greatest of a window, or along axes",
        "average": "the mean or the sum of a window, or along axes",
        "concat": "tensors one after the other along an axis",
        "slice": "a part of a tensor",
        "reshape": "the same elements in the same order, in another shape",
        "transpose": "the same elements with axes in another order",
        "pad": "the same with constants around it",
        "resize": "the same with more or fewer rows and columns",
        "function": "a function of one tensor: activations, normalisations, what is added or multiplied by constants",
        "part": "a further result of what has several, such as the indices of a maximum: it reads the first",
        "other": "anything else",
    }
)


@dataclass(frozen=True, eq=False)
class Operator(Card):
    """One operator of an :class:`~neuromap.formats.layers.OperatorGraph`.

    Attributes
    ----------
    name : str
        Name in the source, or of the module that it belongs to.
    kind : str
        One of :data:`KINDS`.
    reads : tuple of str
        Input tensors, without constants.
    gives : str
        Output tensor.
    shape : tuple of int or None
        Shape of the output tensor, batch axis first, of one frame; ``None`` if unknown.
    work : int or None
        Multiply-accumulates of one frame; ``None`` if unknown.
    called : str
        Name of its type in the source, such as ``Conv``.
    settings : mapping of str to object
        Numbers, texts and tuples of them: ``kernel``, ``stride``, ``pads`` (before, then after, axis by axis),
        ``dilation``, ``groups``; ``axis``, ``axes``, ``order``; ``signs`` of a sum; ``function``, the name of one;
        ``start``, ``stop``, ``step`` of a slice; ``mean`` (or sum). ``quantises`` of a function that rounds a tensor to
        integers (its constants: scale and zero point), with ``low``, ``high``, ``axis`` and whether it is ``fused``
        with the sum before; ``dequantises`` of one that makes reals of them.
    constants : tuple of ndarray
        Weights and bias, or further arguments of a function; empty if not available.
    exact : tuple of (integers, scale) or None
        Integers and scale of every constant that is their product: as many as there are constants, or none at all.

    Raises
    ------
    InputError
        If the kind is unknown.
    """

    name: str
    kind: str
    reads: tuple[str, ...]
    gives: str
    shape: TensorShape | None = None
    work: int | None = 0
    called: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    constants: tuple[NDArray[Any], ...] = ()
    exact: tuple[tuple[NDArray[Any], NDArray[Any]] | None, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"operator {self.name}: kind {self.kind!r} is unknown; choose {', '.join(KINDS)}")
        object.__setattr__(self, "constants", tuple(np.asarray(array) for array in self.constants))
        object.__setattr__(self, "settings", ReadOnlyMapping(self.settings))
        freeze_arrays(self)

    def _facts(self) -> dict[str, object]:
        return {"name": self.name, "kind": self.kind, "reads": ", ".join(self.reads), "gives": self.gives}

    def setting(self, key: str, default: Any = None) -> Any:
        """Return a setting, or a default if the source does not give it."""
        return self.settings.get(key, default)

    def slides(self, n: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Return stride, dilation and pads of its window along n axes; 1, 1 and 0 by default."""
        return self.setting("stride", (1,) * n), self.setting("dilation", (1,) * n), self.setting("pads", (0,) * 2 * n)


_JOINS = ("add", "multiply")
# Operators of one tensor of which functions are composed; others move or weigh elements.
_WITHIN = ("function", "average")


def simplified(graph: OperatorGraph) -> OperatorGraph:
    """Merge operators that together are a function of one tensor.

    Parameters
    ----------
    graph : OperatorGraph
        As a reader returns it.

    Returns
    -------
    OperatorGraph
        It computes the same, but for the rounding of ``x + (y - x)``, which becomes ``y``.
    """
    return _fused(_without_detours(graph))


def _without_detours(graph: OperatorGraph) -> OperatorGraph:
    """Replace ``x + (y - x)`` and ``(y + x) - x`` by ``y``, and drop functions that change nothing."""
    made: dict[str, Operator] = {}
    instead: dict[str, str] = {}
    for found in graph.operators:
        one = replace(found, reads=tuple(instead.get(tensor, tensor) for tensor in found.reads))
        target = _same_as(one, made)
        if target is not None and one.gives not in graph.outputs:
            instead[one.gives] = target
            continue
        if target is not None:
            one = replace(one, kind="function", reads=(target,), settings={"function": "same"}, constants=())
        made[one.gives] = one
    return replace(graph, operators=tuple(made.values()))


def _same_as(one: Operator, made: dict[str, Operator]) -> str | None:
    """Name the tensor that an operator returns unchanged, if any."""
    if one.kind == "function" and one.setting("function") == "same":
        return one.reads[0]
    terms = dict(_terms(one))
    for tensor, sign in terms.items():
        inner = made.get(tensor)
        if inner is not None and inner.kind == "add":
            opened = {name: count for name, count in terms.items() if name != tensor}
            for name, count in _terms(inner):
                opened[name] = opened.get(name, 0) + sign * count
            left = [name for name, count in opened.items() if count]
            if len(left) == 1 and len(opened) == 2 and opened[left[0]] == 1:
                return left[0]
    return None


def _terms(one: Operator) -> Iterator[tuple[str, int]]:
    if one.kind == "add" and len(set(one.reads)) == len(one.reads) == 2:
        yield from zip(one.reads, one.setting("signs", (1, 1)), strict=True)


def _fused(graph: OperatorGraph) -> OperatorGraph:
    """Turn sums and products whose operands are all functions of one tensor into functions."""
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


# Most operators of one graph.
MAX_OPERATORS = 100_000


@dataclass(frozen=True, eq=False)
class OperatorGraph(Card):
    """Operators in an order of evaluation.

    Attributes
    ----------
    name : str
        Name of the network.
    inputs : mapping of str to (tuple of int or None)
        Input tensors, with their shapes, batch axis first, of one frame.
    operators : tuple of Operator
        Each after those whose tensors it reads. Operators that no output depends on are left out.
    outputs : tuple of str
        Tensors that leave the network.
    producer : str
        Tool and version that wrote it, where the source says so.
    unread : tuple of str
        What the reader left out or could not read, in clauses.
    scales : mapping of str to float
        Real number that a value of 1 stands for, by node of the graded network that the graph was exported from.

    Raises
    ------
    InputError
        If there are too many operators, or one reads an unknown tensor or gives an existing one.
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
        """Multiply-accumulates of one frame; ``None`` if those of some operator are not known."""
        return total_work(self.operators)


def total_work(operators: Iterable[Operator]) -> int | None:
    """Sum the multiply-accumulates of one frame; ``None`` if those of some operator are not known."""
    works = [one.work for one in operators]
    return None if None in works else sum(work for work in works if work is not None)


def needed(operators: tuple[Operator, ...], outputs: tuple[str, ...]) -> tuple[Operator, ...]:
    """Keep the operators that some output depends on."""
    wanted, kept = set(outputs), []
    for one in reversed(operators):
        if one.gives in wanted:
            wanted.update(one.reads)
            kept.append(one)
    return tuple(reversed(kept))


# State while the operators of a source are read, one call after the other.

# Integers and the scale that they are multiplied by.
Exact = tuple[NDArray[Any], NDArray[Any]] | None


_COMPARISONS = {"greater", "greater_or_equal", "less", "less_or_equal", "not"}
# By operators of two tensors: their function if the second is constant, and if the first is, and the signs of a sum.
BINARY: Mapping[str, tuple[str, str, tuple[int, int] | None]] = ReadOnlyMapping(
    {
        "add": ("plus", "plus", (1, 1)),
        "sub": ("minus", "from", (1, -1)),
        "rsub": ("from", "minus", (-1, 1)),
        "mul": ("times", "times", None),
        "div": ("divided_by", "", None),
        **dict.fromkeys(("gt", "greater"), ("greater", "less", None)),
        **dict.fromkeys(("ge", "greaterorequal"), ("greater_or_equal", "less_or_equal", None)),
        **dict.fromkeys(("lt", "less"), ("less", "greater", None)),
        **dict.fromkeys(("le", "lessorequal"), ("less_or_equal", "greater_or_equal", None)),
    }
)


@dataclass(eq=False)
class GraphReading:
    """Tensors and operators known so far, and the current call."""

    constants: dict[str, Any]  # tensors that no input changes; ``None`` where their numbers are not available
    shapes: dict[str, TensorShape | None] = field(default_factory=dict)  # of other tensors, for the whole batch
    constant_shapes: dict[str, TensorShape] = field(default_factory=dict)  # of constants without numbers, too
    operators: list[Operator] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    origins: dict[str, str] = field(default_factory=dict)  # names of constants, or of what they are computed from
    # integers and scale, of one shape, of constants that are their product
    exact: dict[str, tuple[NDArray[Any], NDArray[Any]]] = field(default_factory=dict)
    types: dict[str, np.dtype[Any]] = field(default_factory=dict)  # of the graph's inputs, where the source says so
    whole: set[str] = field(default_factory=set)  # tensors known to hold integers of 32 or 64 bits
    truths: set[str] = field(default_factory=set)  # tensors of 0 and 1, which comparisons give
    # of the current call: its label, the name of its type in the source, its output tensor
    label: str = ""
    word: str = ""
    gives: str = ""

    def begin(self, label: str, word: str, gives: str) -> None:
        """Begin a call: its label, the name of its type in the source, its output tensor."""
        self.label, self.word, self.gives = label, word, gives

    def is_constant(self, part: Any) -> bool:
        """Whether an argument is a constant tensor, a number, or not given."""
        return not isinstance(part, str) or not part or part in self.constants

    def array(self, part: Any) -> NDArray[Any] | None:
        """Return the numbers of an argument; ``None`` if it has none, or they are not available."""
        value: Any = self.constants.get(part) if isinstance(part, str) else part
        if hasattr(value, "detach"):  # a tensor of PyTorch
            return np.asarray(value.detach().cpu().numpy())
        return value if value is None or isinstance(value, np.ndarray) else np.asarray(value, np.float32)

    def shape(self, part: Any) -> TensorShape | None:
        """Shape of an argument, for the whole batch."""
        value = self.constants.get(part) if isinstance(part, str) else np.zeros(())
        if value is not None:
            return tuple(int(n) for n in value.shape)
        return self.constant_shapes.get(part) or self.shapes.get(part)

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
        """Add the call as an operator, and return its output tensor; the shape of weights determines its work."""
        tensor, told = gives or self.gives, settings or {}
        if shape is not None:
            self.shapes[tensor] = shape
        if "weight_shape" in told:  # for every element, a kernel over the features of a group, or the summed axis
            elements = reads[0] if kind == "conv_transpose" else tensor
            work = self.work(elements, math.prod(told["weight_shape"][1:]))
        whole, word, found = self.shapes.get(tensor), called or self.word, (tuple(constants), tuple(exact))
        self.operators.append(Operator(self.label, kind, tuple(reads), tensor, whole, work, word, told, *found))
        return tensor

    def work(self, tensor: str, each: int | None) -> int | None:
        """Count multiply-accumulates, as many for each element of a tensor; others than sums count none."""
        shape = self.shape(tensor)
        return None if shape is None or each is None else math.prod(shape) * each

    def function(self, source: str, name: str = "", constants: Sequence[Any] = ()) -> str:
        """Add the call as a function; without its constants it has no name, as it cannot be computed."""
        known = [array for array in map(self.array, constants) if array is not None]
        settings = {"function": name} if name and len(known) == len(constants) else {}
        if name in _COMPARISONS or (name == "same" and source in self.truths):
            self.truths.add(self.gives)
        return self.add("function", [source], settings=settings, constants=known if settings else ())

    def moved(self, kind: str, source: str, **settings: Any) -> str | None:
        """Add the call as what moves the elements of a tensor; ``None`` if that is constant."""
        return None if self.is_constant(source) else self.add(kind, [source], settings=settings)

    def binary(self, first: Any, second: Any, word: str, *, is_plain: bool = True) -> str:
        """Add the call as a sum of two tensors, a function of one and a constant, or what combines them otherwise."""
        by_second, by_first, signs = BINARY.get(word, ("", "", None))
        reads = [part for part in (first, second) if not self.is_constant(part)]
        if len(reads) == 2:
            return self.add("add", reads, settings={"signs": signs}) if signs else self.add("multiply", reads)
        if not is_plain or self.shape(reads[0]) != self.shape(self.gives):  # the constant makes more elements of it
            return self.function(reads[0])
        name, constant = (by_first, first) if self.is_constant(first) else (by_second, second)
        return self.function(reads[0], name, [constant])

    def window(self, source: str, settings: Mapping[str, Any], mean: Mapping[str, Any] | None) -> str:
        """Add the call as a maximum over windows or axes of a tensor, or as a mean or sum with settings of its own."""
        return self.add("max_pool" if mean is None else "average", [source], settings={**settings, **(mean or {})})

    def where(self, condition: Any, yes: Any, no: Any) -> str:
        """Add the call as a choice between constants, or what combines tensors otherwise."""
        if self.is_constant(yes) and self.is_constant(no):
            return self.function(condition, "where", [yes, no])
        reads = list(dict.fromkeys(part for part in (condition, yes, no) if not self.is_constant(part)))
        return self.add("multiply", reads) if len(reads) > 1 else self.function(reads[0])

    def normalised(self, source: str, shape: TensorShape, parts: Iterable[Any], epsilon: float) -> str:
        """Add the call as a normalisation by stored means, variances, scales and shifts of features."""
        arrays = [None if part is None else along(1, part, len(shape)) for part in map(self.array, parts)]
        return self.function(source, "batch_norm", [*arrays, np.asarray(epsilon, np.float32)])

    def weighed(
        self,
        kind: str,
        source: Any,
        weight: Any,
        bias: Any = None,
        *,
        settings: Mapping[str, Any] | None = None,
        is_turned: bool = False,
        factors: tuple[float, float] = (1.0, 1.0),
    ) -> str | None:
        """Add the call as sums of a tensor times constant weights, perhaps stored transposed; ``None`` if it is not."""
        shape = self.shape(weight)
        if shape is None or self.is_constant(source) or not (self.is_constant(weight) and self.is_constant(bias)):
            return None
        given = [part for part in (weight, bias) if part is not None and part != ""]
        arrays = [array for array in map(self.array, given) if array is not None]
        exact = [self.exact.get(part) for part in given]
        if len(arrays) < len(given):
            arrays, exact = [], []
        elif is_turned:
            arrays[0], exact[0] = arrays[0].T, exact[0] and (exact[0][0].T, exact[0][1].T)
        if factors != (1.0, 1.0):
            arrays, exact = [np.asarray(a * np.float32(f)) for a, f in zip(arrays, factors, strict=False)], []
        stored = {**(settings or {}), "weight_shape": shape[::-1] if is_turned else shape}
        return self.add(kind, [source], settings=stored, constants=arrays, exact=exact)

    def product(self, left: Any, right: Any) -> str | None:
        """Add the call as a product of two matrices, of which one may be constant."""
        matrix = self.shape(right)
        if self.is_constant(right) and matrix is not None and len(matrix) == 2:
            return self.weighed("dense", left, right, is_turned=True)
        reads = [part for part in (left, right) if not self.is_constant(part)]
        shapes = self.shape(left), matrix
        lengths = [shape[-1 if k == 0 else max(len(shape) - 2, 0)] for k, shape in enumerate(shapes) if shape]
        work = self.work(self.gives, lengths[0] if lengths else None)
        return self.add("product" if len(reads) == 2 else "dense", reads, work=work)

    def cast(self, source: str, kind: str) -> str:
        """Add the call as a change of type: to floats, numbers stay the same; to wide integers, they are truncated."""
        if kind in ("float16", "bfloat16") and source not in self.truths:
            self.unread.append(f"rounding: to {kind} in {show_name(self.label)} is left out, so values may differ")
        elif kind in ("int32", "int64"):
            return self.function(source, "truncate")
        elif source not in self.truths and kind not in ("float", "float32", "double", "float64"):
            return self.function(source)  # others say whether it is 0, or wrap around: neither is monotone
        return self.function(source, "same")

    def rounded(
        self, word: str, source: str, scale: NDArray[Any], zero: NDArray[Any] | None, gives: str = "", **more: Any
    ) -> str:
        """Add the call, or a part of it, as a function that quantises a tensor, or dequantises one of integers."""
        # word: quantises, dequantises
        constants = [_of_floats(scale), np.zeros((), np.int64) if zero is None else zero.astype(np.int64)]
        told = {word: True, **_range(zero), **more}
        called, shape = "QuantizeLinear", None
        if word == "dequantises":
            called, shape = "DequantizeLinear", self.shapes.get(source)
        return self.add(
            "function", [source], settings=told, constants=constants, gives=gives, shape=shape, called=called
        )

    def graph(
        self, name: str, inputs: Iterable[str], outputs: Iterable[str], *, batch: int, producer: str
    ) -> OperatorGraph:
        """Return the graph that was read, for one frame of the batch."""

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


def along(axis: int, array: NDArray[Any], n_axes: int) -> NDArray[Any]:
    """Reshape numbers to broadcast along one axis of a tensor; a single number broadcasts along all."""
    lengths = [1] * n_axes
    if array.size == 1:
        return array.reshape(())
    lengths[axis] = -1
    return array.reshape(lengths)


def integers_and_scale(
    integers: NDArray[Any], scale: NDArray[Any], zero: NDArray[Any] | None, axis: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return integers counted from their zero point, and the scale of each."""
    centred = integers.astype(np.int64)
    if zero is not None:
        centred = centred - along(axis, zero.astype(np.int64), centred.ndim)
    return centred, np.broadcast_to(along(axis, _of_floats(scale), centred.ndim), centred.shape)


def _of_floats(scale: NDArray[Any]) -> NDArray[Any]:
    if is_integer(scale) or scale.dtype == np.bool_:
        raise InputError(f"its scale is of the type {scale.dtype.name}; a scale is a float, quantise the model again")
    return scale


def is_integer(array: NDArray[Any] | None) -> bool:
    """Whether an array holds integers, including those of types that NumPy lacks."""
    return array is not None and array.dtype.name.startswith(("int", "uint"))


def _range(zero: NDArray[Any] | None) -> dict[str, int]:
    """Least and greatest integer of a type; small types that NumPy lacks are those of ``ml_dtypes``."""
    if zero is None:
        return {}
    bits = int("".join(letter for letter in zero.dtype.name if letter.isdigit()))
    if zero.dtype.name.startswith("u"):
        return {"low": 0, "high": 2**bits - 1}
    return {"low": -(2 ** (bits - 1)), "high": 2 ** (bits - 1) - 1}


def _of_frame(one: Operator, source: TensorShape | None, batch: int) -> Mapping[str, Any]:
    """Return the settings that hold for one frame of a batch of several."""
    # none where the axis of frames is cut, moved or summed over: one frame does not determine the result
    if batch == 1 or not source or source[0] != batch:
        return one.settings
    axes = (0, -len(source))
    if one.kind in ("average", "max_pool") and {*one.setting("axes", ())} & {*axes}:
        return {}
    if one.kind not in ("slice", "transpose"):
        return one.settings
    is_mixed = one.setting("axis") in axes or one.setting("order", (0,))[0] not in axes
    return {} if is_mixed else one.settings
