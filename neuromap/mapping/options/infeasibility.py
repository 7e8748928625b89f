"""Infeasibility as data: what does not fit, by how much, and what would help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from neuromap.errors import DoesNotFitError
from neuromap.render.document import COUNT, INTEGER, TEXT, each, enum, kind, record, record_of
from neuromap.render.value import Card

Limit = Literal[
    "axons", "axon_types", "copies", "cores", "delay", "neuron", "output_axons", "potential", "reach", "routes",
    "synapse_memory", "weights",
]  # fmt: skip


@dataclass(frozen=True)
class Remedy(Card):
    """One change that would help.

    Attributes
    ----------
    lever : str
        What to change (docs/mapping.md has the list): ``groups``, ``weights`` and ``pool`` of the edges into the node;
        ``features`` of the node, ``source_features`` of those that it reads;
        ``chip``, another chip; ``chip.axons`` and other figures of the chip; ``splitters`` and other fields of
        :class:`~neuromap.mapping.options.options.MappingOptions`; ``pins.tiles`` and other pins of the node.
    value : int, str, bool, tuple of int or None
        New value; ``None`` if the remedy is advice that cannot be applied automatically.
    text : str
        The remedy as a clause.
    tried : bool
        Whether the network was found to map with it (:mod:`neuromap.mapping.diagnosis.remedies`); else it was computed
        for this limit alone, and another limit may be hit next.
    cores : int or None
        Number of cores that the network took with it.
    """

    lever: str
    value: int | str | bool | tuple[int, ...] | None
    text: str
    tried: bool = False
    cores: int | None = None

    def __str__(self) -> str:
        return f"{self.text} (tried: {count_cores(self.cores)})" if self.tried and self.cores else self.text

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return dict(_REMEDY.write(self))


def count_cores(number: int) -> str:
    """Format a number of cores."""
    return f"{number} core{'s' * (number != 1)}"


@dataclass(frozen=True)
class Infeasibility(Card):
    """A refusal: node, demand, bound, gap and remedies (docs/mapping.md).

    Attributes
    ----------
    limit : str
        The resource that is short, one of ``Limit``.
    node : str or None
        The node of the network; ``None`` where the network as a whole is too large.
    demand, bound : int
        What is needed and what the chip has, in units of the resource.
    statement : str
        The shortage as a sentence, without the node prefix.
    remedies : tuple of Remedy
        What would help, best first.
    """

    limit: Limit
    node: str | None
    demand: int
    bound: int
    statement: str
    remedies: tuple[Remedy, ...] = ()

    @property
    def gap(self) -> int:
        """Excess of the demand over the bound."""
        return self.demand - self.bound

    @property
    def message(self) -> str:
        """The refusal in one line."""
        head = f"node {self.node}: " if self.node else ""
        tail = "; ".join(str(remedy) for remedy in self.remedies)
        gap = f" ({self.gap} too many)" if self.bound else ""  # a bound of 0: the chip has nothing of the kind
        return f"{head}{self.statement}{gap}" + (f"; {tail}" if tail else "")

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return dict(INFEASIBILITY.write(self))


_REMEDY = record_of(Remedy, value=kind("integer", "string", "boolean", "array", "null"))
# JSON form.
INFEASIBILITY = record(
    limit=enum(*get_args(Limit)),
    node=TEXT.or_null,
    demand=COUNT,
    bound=COUNT,
    gap=INTEGER,
    message=TEXT,
    remedies=each(_REMEDY),
)


def refuse(
    limit: Limit, node: str | None, demand: int, bound: int, statement: str, remedies: Sequence[Remedy] = ()
) -> DoesNotFitError:
    """Make the exception that carries the refusal; the caller raises it."""
    data = Infeasibility(limit, node, int(demand), int(bound), statement, tuple(remedies))
    return DoesNotFitError(data.message, data)


def refuse_core_count(demand: int, bound: int, chip: str) -> DoesNotFitError:
    """Make the refusal of a network that takes more cores than a chip has."""
    advice = Remedy("chip.cores", demand, f"a chip or board of {count_cores(demand)} would do")
    return refuse(
        "cores", None, demand, bound, f"the network needs {count_cores(demand)}, {chip} has {bound}", [advice]
    )
