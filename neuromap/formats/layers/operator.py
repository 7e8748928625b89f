"""One operator of a graph of operators, as ONNX files and PyTorch modules both say it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.render.value import Card

TensorShape = tuple[int, ...]

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
"""What operators do. Functions with a name of :data:`~neuromap.formats.layers.functions.FUNCTIONS` can be computed."""


@dataclass(frozen=True, eq=False)
class Operator(Card):
    """One operator of an :class:`~neuromap.formats.layers.operator_graph.OperatorGraph`.

    Attributes
    ----------
    name : str
        As the source calls it, or the module that it belongs to.
    kind : str
        Of :data:`KINDS`.
    reads : tuple of str
        Tensors that it takes, constants left out.
    gives : str
        The tensor that it makes.
    shape : tuple of int or None
        Of that tensor, the batch first, which is one frame; ``None`` where it is not known.
    work : int or None
        Multiply-accumulates of one frame; ``None`` where they are not known.
    called : str
        What the source calls what it does, such as ``Conv``.
    settings : mapping of str to object
        Numbers, texts and tuples of them: ``kernel``, ``stride``, ``pads`` (before, then after, axis by axis),
        ``dilation``, ``groups``; ``axis``, ``axes``, ``order``; ``signs`` of a sum; ``function``, the name of one;
        ``start``, ``stop``, ``step`` of a slice; ``mean`` (or sum). ``quantises`` of a function that makes integers of
        a tensor (its constants: scale and zero point), with ``low``, ``high``, ``axis`` and whether it is ``fused``
        with the sum before; ``dequantises`` of one that makes reals of them.
    constants : tuple of ndarray
        Weights and bias, or what a function takes besides its tensor; empty where they are not at hand.
    exact : tuple of (integers, scale) or None
        Of constants that are integers times a scale, both: as many as there are constants, or none at all.

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
        """Give one setting, or what holds where the source does not say."""
        return self.settings.get(key, default)


# Multiply-accumulates of operators; additions, comparisons and functions count none.
Shape = Sequence[int] | None


def conv_work(target: Shape, weight: Shape) -> int | None:
    """Count those of a convolution: for every element of its target, a kernel over the features of a group."""
    # target: shape of what it makes, the batch first; ``None`` where it is not known, and so is the work
    if target is None or weight is None:
        return None
    return math.prod(target) * math.prod(weight[1:])


def transposed_work(source: Shape, weight: Shape) -> int | None:
    """Count those of a transposed convolution: for every element of its source."""
    # A kernel over the features of a group.
    return conv_work(source, weight)


def dense_work(target: Shape, summed: int | None) -> int | None:
    """Count those of a product of matrices: for every element of the result, the axis that is summed over."""
    return None if target is None or summed is None else math.prod(target) * summed
