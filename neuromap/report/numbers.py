"""How figures are written in tables, pages and JSON."""

from __future__ import annotations

import math

__all__ = ["EXACT_IN_DOUBLES", "decimal_string", "json_count", "plain", "seconds", "short_count"]

EXACT_IN_DOUBLES = 2**53
"""Integers from here on are rounded by readers of JSON that use doubles."""

_PREFIXES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def plain(value: float | None) -> str:
    """Write a figure with up to four significant digits; integers in full, ``-`` for ``None``."""
    if value is None:
        return "-"
    if isinstance(value, int) or value == int(value):
        return str(int(value))
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    return f"{value:.{digits}f}".rstrip("0").rstrip(".") if digits <= 6 else f"{value:.3e}"


def seconds(value: float | None) -> str:
    """Write a duration with its unit, from seconds to nanoseconds; ``-`` for ``None``."""
    if value is None:
        return "-"
    if value == 0:
        return "0 s"
    for scale, unit in _PREFIXES:
        if value >= scale * (1 - 1e-9):
            return f"{plain(round(value / scale, 6))} {unit}"
    return f"{value:.3g} s"


def decimal_string(number: int) -> str:
    """Write an integer of any length in decimal digits.

    ``str`` refuses more than 4300 digits; ``decimal`` does not, and counts of patterns have as many digits as
    a network has edges.
    """
    if abs(number) < EXACT_IN_DOUBLES:
        return str(number)
    from decimal import Decimal

    return format(Decimal(number), "f")


def json_count(number: int | None) -> int | str | None:
    """Make the JSON form of a count: a decimal string from 2^53 on, ``None`` where it was not counted."""
    return number if number is None or number < EXACT_IN_DOUBLES else decimal_string(number)


def short_count(value: int) -> str:
    """Write a count in full where it is short, else as a power of two."""
    return str(value) if value < 10**15 else f"about 2^{math.log2(value):.1f}"
