"""The primitives of NIR 1.0: what each has, and which numbers it allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

__all__ = ["GREATEST", "LEAST", "PRIMITIVES", "Primitive"]

LEAST, GREATEST = 1e-40, 1e40
"""Bounds of numbers that must be above 0, and of all: those of float32, so that products of some stay in float64."""


class Primitive(NamedTuple):
    """What a primitive has."""

    needs: tuple[str, ...]  # parameters that it must have
    may: tuple[str, ...] = ()  # those that it may have
    positive: tuple[str, ...] = ()  # those that must be above 0
    whole: tuple[str, ...] = ()  # those that must be whole numbers


_CONV = Primitive(
    ("weight", "stride", "padding", "dilation", "groups"),
    ("bias", "input_shape"),
    ("stride", "dilation", "groups", "input_shape"),
    ("stride", "padding", "dilation", "groups", "input_shape"),
)
_POOL = Primitive(
    ("kernel_size", "stride", "padding"), (), ("kernel_size", "stride"), ("kernel_size", "stride", "padding")
)
_SHAPE = Primitive(("shape",), (), ("shape",), ("shape",))

PRIMITIVES: Mapping[str, Primitive] = ReadOnlyMapping(
    {
        "Affine": Primitive(("weight", "bias")),
        "AvgPool2d": _POOL,
        "Conv1d": _CONV,
        "Conv2d": _CONV,
        "CubaLI": Primitive(("tau_syn", "tau_mem", "r", "v_leak"), ("w_in",), ("tau_syn", "tau_mem")),
        "CubaLIF": Primitive(
            ("tau_syn", "tau_mem", "r", "v_leak", "v_threshold"), ("v_reset", "w_in"), ("tau_syn", "tau_mem")
        ),
        "Delay": Primitive(("delay",)),
        "Flatten": Primitive((), ("start_dim", "end_dim", "input_type"), (), ("start_dim", "end_dim", "input_type")),
        "I": Primitive(("r",)),
        "IF": Primitive(("r", "v_threshold"), ("v_reset",)),
        "Input": _SHAPE,
        "LI": Primitive(("tau", "r", "v_leak"), (), ("tau",)),
        "LIF": Primitive(("tau", "r", "v_leak", "v_threshold"), ("v_reset",), ("tau",)),
        "Linear": Primitive(("weight",)),
        "Output": _SHAPE,
        "Scale": Primitive(("scale",)),
        "SumPool2d": _POOL,
        "Threshold": Primitive(("threshold",)),
    }
)
"""All of them but the graph, by the names of NIR 1.0.8 (https://nnir.readthedocs.io)."""
