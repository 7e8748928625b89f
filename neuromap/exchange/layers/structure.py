"""Which operators are nodes, and which lie on the edges between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from neuromap.arrays.frozen import ReadOnly
from neuromap.formats.layers.operator import Operator
from neuromap.render.value import Card


@dataclass(frozen=True, eq=False)
class Way(Card):
    """One way from a node to another."""

    folds: tuple[Operator, ...]  # what lies on the edge, from the source on: functions, moves, windows
    into: Operator  # the operator of the target that takes it
    place: int  # which of the tensors that this operator reads it is


@dataclass(frozen=True, eq=False)
class Layer(ReadOnly, Card):
    """A node with the operators that make it."""

    name: str  # as the network calls it
    operators: tuple[Operator, ...]  # in order; the last gives what others read
    ways: Mapping[str, tuple[Way, ...]]  # from every node that it reads

    @property
    def work(self) -> int | None:
        """Multiply-accumulates of one frame; ``None`` where those of some operator are not known."""
        works = [one.work for one in self.operators]
        return None if None in works else sum(work for work in works if work is not None)


@dataclass(frozen=True, eq=False)
class Structure(ReadOnly, Card):
    """A graph of operators as nodes and edges."""

    inputs: Mapping[str, str]  # name of every input node that is read, and the tensor that it stands for
    layers: tuple[Layer, ...]  # each after those that it reads
    outputs: tuple[str, ...]  # layers whose values leave the network
    # what lies between output nodes and the end of the graph, by the tensor at the end
    readout: Mapping[str, tuple[Operator, ...]]
    left_out: tuple[str, ...] = ()  # inputs that nothing reads
