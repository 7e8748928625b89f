"""``Faults``: which parts of a chip fail, with which probability, by which seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.files.given import mapping_given, real_number, whole_number
from neuromap.forms.card import Card

__all__ = ["KINDS", "FaultKind", "Faults", "check_kinds", "check_rate", "check_rates"]

_MOST_SEED = 2**64


class FaultKind(NamedTuple):
    """What fails."""

    number: int  # sets its draws apart from those of other kinds; never changed
    at_risk: str  # what the rate is a part of
    effect: str  # what one fault does


KINDS: Mapping[str, FaultKind] = ReadOnlyMapping(
    {
        "dead-cores": FaultKind(1, "cores", "none of its neurons ever fires; its router still forwards"),
        "dead-links": FaultKind(2, "links", "spikes whose way crosses it, in either direction, are lost"),
        "dropped-spikes": FaultKind(3, "spikes", "one spike is lost on its way to one axon"),
        "silent-neurons": FaultKind(4, "neurons", "it never fires"),
        "firing-neurons": FaultKind(5, "neurons", "it fires in every tick"),
        "flipped-synapses": FaultKind(
            6, "synapses", "a bit of a crossbar is the other; on synapse-list cores the weight has the other sign"
        ),
    }
)
"""All kinds of faults, by name."""


@dataclass(frozen=True)
class Faults(Card):
    """Faults that strike a program after it was mapped, for a chip that was whole then.

    Everything at risk fails on its own with the same probability, the rate. A draw depends on the seed, the kind and
    the place on the board only: what fails at a rate fails at every higher one, and nothing fails at 0.

    Attributes
    ----------
    rates : mapping of str to float
        Rate of every kind of ``KINDS`` that occurs, 0 to 1.
    seed : int
        0 to 2**64 - 1: which chip of many it is.

    Raises
    ------
    InputError
        If a kind is unknown, or a rate or the seed is out of range.
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        mapping_given("faults: rates", self.rates, "kinds and their rates, such as {'dead-cores': 0.01}")
        check_kinds(self.rates)
        if not 0 <= whole_number("seed", self.seed) < _MOST_SEED:
            raise InputError(f"faults: seed = {self.seed}: must be 0 to {_MOST_SEED - 1}")
        rates = {kind: check_rate(rate, f"faults: rate of {kind}") for kind, rate in self.rates.items()}
        object.__setattr__(self, "rates", ReadOnlyMapping(rates))

    def rate(self, kind: str) -> float:
        """Rate of a kind; 0 where it does not occur."""
        return self.rates.get(kind, 0.0)


def check_kinds(kinds: Iterable[str], name: str = "faults: kind") -> tuple[str, ...]:
    """Give kinds back, each once, unless one is unknown; ``name`` is what the message calls it."""
    found = tuple(dict.fromkeys(kinds))
    for kind in found:
        if kind not in KINDS:
            raise InputError(f"{name} {kind!r:.60}: is not known; choose of {', '.join(KINDS)}")
    return found


def check_rate(rate: object, name: str = "rate") -> float:
    """Give a rate back unless it is out of range."""
    value = float(real_number(name, rate))
    if not 0 <= value <= 1:
        raise InputError(f"{name} {value:g}: must be a part from 0 to 1, such as 0.01 for 1 %")
    return value


def check_rates(rates: Sequence[float], name: str = "rate") -> tuple[float, ...]:
    """Give rates back in ascending order, each once."""
    found = tuple(sorted({check_rate(rate, name) for rate in rates}))
    if not found:
        raise InputError(f"{name}: none is given; give parts from 0 to 1, such as 0, 0.01 and 0.05")
    return found
