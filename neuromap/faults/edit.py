"""Edits as values: what is changed, and where."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.errors import InputError
from neuromap.files.given import whole_number
from neuromap.forms.card import Card

__all__ = ["DeadLink", "Edit", "SilentCore", "ThresholdEdit", "WeightEdit"]

_MOST = 2**31 - 1


@dataclass(frozen=True)
class ThresholdEdit(Card):
    """Thresholds of a node's neurons, raised or lowered; all copies of a neuron alike.

    Attributes
    ----------
    node : str
        A node inside the chip.
    by : int
        What is added to the thresholds that the chip's neurons have.
    index : int or None
        The neuron; None for all of the node.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    node: str
    by: int
    index: int | None = None

    def __post_init__(self) -> None:
        _bounded("threshold: by", self.by, -_MOST)
        if self.index is not None:
            _bounded("threshold: index", self.index)

    @property
    def what(self) -> str:
        """The edit in words."""
        whose = f"node {self.node}" if self.index is None else f"{self.node}[{self.index}]"
        return f"threshold of {whose} {self.by:+d}"


@dataclass(frozen=True)
class WeightEdit(Card):
    """The weight of one connection between neurons of two nodes; at all copies of the target alike.

    Attributes
    ----------
    source, target : str
        Nodes.
    source_index, target_index : int
        Neurons within them.
    weight : int
        The weight from now on.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    source: str
    source_index: int
    target: str
    target_index: int
    weight: int

    def __post_init__(self) -> None:
        _bounded("weight: source_index", self.source_index)
        _bounded("weight: target_index", self.target_index)
        _bounded("weight: weight", self.weight, -_MOST)

    @property
    def what(self) -> str:
        """The edit in words."""
        return f"weight {self.source}[{self.source_index}] -> {self.target}[{self.target_index}] = {self.weight}"


@dataclass(frozen=True)
class SilentCore(Card):
    """A core none of whose neurons fires; its router still forwards.

    Attributes
    ----------
    core : int
        Its row in the program.

    Raises
    ------
    InputError
        If it is below 0.
    """

    core: int

    def __post_init__(self) -> None:
        _bounded("silent core: core", self.core)

    @property
    def what(self) -> str:
        """The edit in words."""
        return f"core {self.core} is silent"


@dataclass(frozen=True)
class DeadLink(Card):
    """A link between neighbouring routers that loses all spikes, in both directions.

    Attributes
    ----------
    x, y : int
        The router of the lesser coordinates, on the board.
    upwards : bool
        Whether the link leads to y + 1; else to x + 1.

    Raises
    ------
    InputError
        If a coordinate is below 0.
    """

    x: int
    y: int
    upwards: bool

    def __post_init__(self) -> None:
        _bounded("dead link: x", self.x)
        _bounded("dead link: y", self.y)
        if not isinstance(self.upwards, bool):
            raise InputError(f"dead link: upwards = {self.upwards!r:.40}: must be true or false")

    @property
    def what(self) -> str:
        """The edit in words."""
        return f"link ({self.x}, {self.y}) to ({self.x + (not self.upwards)}, {self.y + self.upwards}) is dead"


Edit = ThresholdEdit | WeightEdit | SilentCore | DeadLink
"""Any of them."""


def _bounded(name: str, value: object, least: int = 0) -> None:
    if not least <= whole_number(name, value) <= _MOST:
        raise InputError(f"{name} = {value}: must be {least} to {_MOST}")
