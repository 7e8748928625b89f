"""How figures are written in tables and pages."""

from __future__ import annotations

import math

__all__ = ["counted", "plain", "seconds"]

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


def counted(value: int) -> str:
    """Write a count in full where it is short, else as a power of two."""
    return str(value) if value < 10**15 else f"about 2^{math.log2(value):.1f}"
