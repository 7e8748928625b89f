"""Wording of one-line messages: values found, counts, and suggestions."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from fractions import Fraction
from itertools import islice

# Among more, finding the closest takes too long.
_MOST_WORDS = 5000


def did_you_mean(found: str, allowed: Iterable[str]) -> str:
    """Return ``; did you mean 'X'?`` for the allowed word closest to ``found``, or an empty text."""
    by_lower = {word.lower(): word for word in islice(allowed, _MOST_WORDS + 1)}
    if len(by_lower) > _MOST_WORDS:
        return ""
    near = get_close_matches(found[:100].lower(), by_lower, n=1, cutoff=0.5)
    return f"; did you mean {by_lower[near[0]]!r}?" if near else ""


def counted(number: int | Fraction, what: str, plural: str = "") -> str:
    """Format a number with its noun: ``1 tick``, ``2 ticks``, ``3/2 ticks``."""
    return f"{number} {what if number == 1 else plural or what + 's'}"


def show(value: object) -> str:
    """Format a value that was found, cut to one short line."""
    try:
        text = " ".join(repr(value).split())
    except (ValueError, RecursionError):  # an integer of more digits than Python prints, or lists nested too deep
        return f"a huge {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def show_name(name: str) -> str:
    """Format a name or path, verbatim if it is printable and not too long, so that a message stays one line."""
    return name if name.isprintable() and len(name) <= 300 else show(name)
