"""Which operators are nodes, and which lie on the edges between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.formats.layers.operator import Operator
from neuromap.forms.card import Card

__all__ = ["Layer", "Structure", "Way"]


@dataclass(frozen=True, eq=False)
class Way(Card):
    """One way from a node to another.

    Attributes
    ----------
    folds : tuple of Operator
        What lies on the edge, from the source on: functions, moves, windows.
    into : Operator
        The operator of the target that takes it.
    place : int
        Which of the tensors that this operator reads it is.
    """

    folds: tuple[Operator, ...]
    into: Operator
    place: int


@dataclass(frozen=True, eq=False)
class Layer(Card):
    """A node with the operators that make it.

    Attributes
    ----------
    name : str
        As the network calls it.
    operators : tuple of Operator
        In order; the last gives what others read.
    ways : mapping of str to tuple of Way
        From every node that it reads.
    """

    name: str
    operators: tuple[Operator, ...]
    ways: Mapping[str, tuple[Way, ...]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "ways", ReadOnlyMapping(self.ways))

    @property
    def work(self) -> int | None:
        """Multiply-accumulates of one frame; ``None`` where those of some operator are not known."""
        works = [one.work for one in self.operators]
        return None if None in works else sum(work for work in works if work is not None)


@dataclass(frozen=True, eq=False)
class Structure(Card):
    """A graph of operators as nodes and edges.

    Attributes
    ----------
    inputs : mapping of str to str
        Name of every input node that is read, and the tensor that it stands for.
    layers : tuple of Layer
        Each after those that it reads.
    outputs : tuple of str
        Layers whose values leave the network.
    readout : mapping of str to tuple of Operator
        What lies between output nodes and the end of the graph, by the tensor at the end.
    left_out : tuple of str
        Inputs that nothing reads.
    """

    inputs: Mapping[str, str]
    layers: tuple[Layer, ...]
    outputs: tuple[str, ...]
    readout: Mapping[str, tuple[Operator, ...]]
    left_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", ReadOnlyMapping(self.inputs))
        object.__setattr__(self, "readout", ReadOnlyMapping(self.readout))
