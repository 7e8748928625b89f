"""What is known while the calls of an exported graph are read one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.formats.layers.operator import Operator, TensorShape

__all__ = ["Call"]


class Call:
    """The calls that were read, and the one that is being read."""

    # constants: results that no input changes; ``None`` where they are no tensors. It is added to

    def __init__(self, constants: dict[str, Any]) -> None:
        self.constants = constants
        self.shapes: dict[str, TensorShape | None] = {}
        self.origins: dict[str, str] = {}
        """What constants are called in the module, or those that they are computed from."""
        self.operators: list[Operator] = []
        self.unread: list[str] = []
        self.parts: dict[str, dict[int, Mapping[str, Any]]] = {}
        """Calls that cut a tensor: settings of every part."""
        self.part_sources: dict[str, str] = {}
        """What they cut."""
        self._node: Any = None
        self._word = self._label = ""

    def begin(self, node: Any, word: str, label: str) -> None:
        """Turn to a call."""
        self._node, self._word, self._label = node, word, label

    def add(
        self,
        kind: str,
        reads: Sequence[str],
        *,
        settings: Mapping[str, Any] | None = None,
        constants: Sequence[NDArray[Any]] = (),
        work: int | None = 0,
        gives: str | None = None,
        shape: TensorShape | None = None,
    ) -> str:
        """Take the call over as an operator, and name the tensor that it gives."""
        tensor = self._node.name if gives is None else gives
        shape = self.shapes.get(tensor) if shape is None else shape
        self.shapes[tensor] = shape
        self.operators.append(
            Operator(
                name=self._label,
                kind=kind,
                reads=tuple(reads),
                gives=tensor,
                shape=shape,
                work=work,
                called=self._word,
                settings=settings or {},
                constants=tuple(constants),
            )
        )
        return str(tensor)

    def function(self, source: str, name: str = "", constants: Sequence[Any] = ()) -> bool:
        """Take the call over as a function of one tensor; its constants are numbers or tensors of the module."""
        arrays = [self.array(part) for part in constants]
        known = [array for array in arrays if array is not None]
        settings = {"function": name} if name and len(known) == len(arrays) else {}
        self.add("function", [source], settings=settings, constants=known if settings else ())
        return True

    def is_constant(self, part: Any) -> bool:
        """Tell whether an argument is a number, nothing, or a tensor that no input changes."""
        return not hasattr(part, "name") or part.name in self.constants

    def array(self, part: Any) -> NDArray[Any] | None:
        """Give the numbers of an argument; ``None`` where it has none."""
        if part is None:
            return None
        value = self.constants.get(part.name) if hasattr(part, "name") else part
        if value is None:
            return None
        if hasattr(value, "detach"):
            return np.asarray(value.detach().cpu().numpy())
        return np.asarray(value, np.float32)

    def shape(self, part: Any) -> TensorShape | None:
        """Give the shape of an argument."""
        if not hasattr(part, "name"):
            return ()
        if part.name in self.constants:
            value = self.constants[part.name]
            return None if value is None else tuple(int(n) for n in value.shape)
        return self.shapes.get(part.name)
