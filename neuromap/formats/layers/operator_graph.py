"""A network as its source computes it: a graph of operators with shapes and multiply-accumulates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.files.messages import show_name
from neuromap.formats.layers.operator import Operator, TensorShape
from neuromap.forms.card import Card

__all__ = ["MAX_OPERATORS", "OperatorGraph"]

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
