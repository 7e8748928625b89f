"""Infeasibility as data: what does not fit, by how much, and what would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from neuromap.errors import DoesNotFitError

__all__ = ["Infeasibility", "Limit", "Remedy", "refuse"]

Limit = Literal["axons", "axon_types", "copies", "cores", "potential", "reach"]


@dataclass(frozen=True)
class Remedy:
    """One lever that would help.

    Attributes
    ----------
    lever : str
        What to change: ``groups``, ``chip.axons``, ``chip.neurons``, ``chip.cores``, ``weights``, ...
    value : int or None
        What to change it to, computed; ``None`` where the remedy is advice without a number.
    text : str
        The remedy as half a sentence.
    """

    lever: str
    value: int | None
    text: str


@dataclass(frozen=True)
class Infeasibility:
    """A refusal: node, demand, bound, gap and remedies (docs/mapping.md).

    Attributes
    ----------
    limit : {"axons", "axon_types", "copies", "cores", "potential", "reach"}
        The resource that is short.
    node : str or None
        The node of the network; ``None`` where the network as a whole is too large.
    demand, bound : int
        What is needed and what the chip has, in units of the resource.
    statement : str
        Who needs what, as a sentence without its subject's prefix.
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
        """By how much the demand exceeds the bound."""
        return self.demand - self.bound

    @property
    def message(self) -> str:
        """The refusal in one line."""
        head = f"node {self.node}: " if self.node else ""
        tail = "; ".join(remedy.text for remedy in self.remedies)
        return f"{head}{self.statement} ({self.gap} too many)" + (f"; {tail}" if tail else "")

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "limit": self.limit,
            "node": self.node,
            "demand": self.demand,
            "bound": self.bound,
            "gap": self.gap,
            "message": self.message,
            "remedies": [{"lever": r.lever, "value": r.value, "text": r.text} for r in self.remedies],
        }


def refuse(
    limit: Limit, node: str | None, demand: int, bound: int, statement: str, remedies: Sequence[Remedy] = ()
) -> DoesNotFitError:
    """Make the exception that carries the refusal; the caller raises it."""
    data = Infeasibility(limit, node, int(demand), int(bound), statement, tuple(remedies))
    return DoesNotFitError(data.message, data)
