"""What is known while the operators of an ONNX file are read one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.files.messages import show, show_name
from neuromap.formats.layers.operator import Operator, TensorShape, settings_of_frame
from neuromap.formats.onnx.stored_tensors import Stored

__all__ = ["Reading", "ints"]


class Reading:
    """Tensors and operators that are known so far."""

    # constants: tensors that no input changes; ``None`` where their numbers are not at hand. It is added to

    def __init__(
        self,
        shapes: Mapping[str, TensorShape | None],
        constants: dict[str, Stored],
        constant_shapes: dict[str, TensorShape],
        batch: int,
    ) -> None:
        self.constants = constants
        self.constant_shapes = constant_shapes
        self.operators: list[Operator] = []
        self.unread: list[str] = []
        self.origins = {name: name for name in constant_shapes}
        """Stored tensors that constants are computed from."""
        self._shapes, self._batch = shapes, batch

    def is_constant(self, tensor: str) -> bool:
        """Tell whether no input changes a tensor; one that is not given does not change either."""
        return not tensor or tensor in self.constants

    def constant(self, tensor: str) -> Stored:
        """Give the numbers of a constant, or ``None``."""
        return self.constants.get(tensor)

    def whole_shape(self, tensor: str) -> TensorShape | None:
        """Give the shape of a tensor for the whole batch."""
        array = self.constants.get(tensor)
        if array is not None:
            return array.shape
        return self.constant_shapes.get(tensor) or self._shapes.get(tensor)

    def frame_shape(self, tensor: str) -> TensorShape | None:
        """Give the shape of a tensor for one frame."""
        shape = self._shapes.get(tensor)
        if shape and shape[0] == self._batch:
            return (1, *shape[1:])
        return shape

    def per_frame(self, work: int | None) -> int | None:
        """Give the part of one frame of a batch's multiply-accumulates."""
        return None if work is None else work // self._batch

    def add(
        self,
        node: Any,
        label: str,
        kind: str,
        reads: Sequence[str],
        *,
        settings: Mapping[str, Any] | None = None,
        constants: Sequence[NDArray[Any]] = (),
        work: int | None = 0,
        gives: str | None = None,
        called: str = "",
    ) -> None:
        """Take an operator over."""
        tensor = node.output[0] if gives is None else gives
        source = self.whole_shape(reads[0]) if reads else None
        self.operators.append(
            Operator(
                name=label,
                kind=kind,
                reads=tuple(reads),
                gives=tensor,
                shape=self.frame_shape(tensor),
                work=self.per_frame(work),
                called=called or node.op_type,
                settings=settings_of_frame(kind, settings or {}, source, self._batch),
                constants=tuple(constants),
            )
        )


def ints(attributes: Mapping[str, Any], key: str, length: int, default: int, least: int = 0) -> tuple[int, ...]:
    """Take a list of integers of an attribute."""
    # length: how many there must be
    # least: what each must be at least
    found = attributes.get(key)
    if found is None:
        return (default,) * length
    values = tuple(found) if isinstance(found, Sequence | np.ndarray) and not isinstance(found, bytes | str) else ()
    if len(values) != length or not all(isinstance(n, int) and least <= n < 2**31 for n in values):
        raise InputError(
            f"attribute {show_name(key)}: found {show(found)}; expected {length} integers of {least} or more"
        )
    return values
