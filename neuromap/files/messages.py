"""What one-line messages say of what was found, and of what may have been meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from fractions import Fraction
from itertools import islice

# Among more, looking for the closest takes longer than whoever mistyped it.
_MOST_WORDS = 5000


def did_you_mean(found: str, allowed: Iterable[str]) -> str:
    """Give ``; did you mean 'X'?`` for the allowed word closest to ``found``, or nothing."""
    by_lower = {word.lower(): word for word in islice(allowed, _MOST_WORDS + 1)}
    if len(by_lower) > _MOST_WORDS:
        return ""
    near = get_close_matches(found[:100].lower(), by_lower, n=1, cutoff=0.5)
    return f"; did you mean {by_lower[near[0]]!r}?" if near else ""


def counted(number: int | Fraction, what: str, plural: str = "") -> str:
    """Write a number with what is counted: ``1 tick``, ``2 ticks``, ``3/2 ticks``."""
    return f"{number} {what if number == 1 else plural or what + 's'}"


def show(value: object) -> str:
    """Write a value that was found, cut to one short line."""
    try:
        text = " ".join(repr(value).split())
    except (ValueError, RecursionError):  # an integer of more digits than Python prints, or lists without end
        return f"a huge {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def show_name(name: str) -> str:
    """Write a name or path as it is where it is printable, so that a message stays one line."""
    return name if name.isprintable() and len(name) <= 300 else show(name)
