"""Formatting of figures in tables, pages and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from neuromap.arrays.times import Time, largest_gap

# Energies that differ by this fraction count as equal where their spread over stimuli is unknown.
ALIKE = 0.001

# Integers from here on are rounded by readers of JSON that use doubles.
EXACT_IN_DOUBLES = 2**53

# From here on, numbers other than counts are written with a power of ten.
_LONGEST_FIGURE = 1e12

_PREFIXES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p"))


def plain(value: float | Fraction | None) -> str:
    """Format a figure with up to four significant digits; counts and fractions in full, ``-`` for ``None``."""
    if value is None:
        return "-"
    if isinstance(value, Fraction):
        return str(value)
    if not isinstance(value, int) and abs(value) >= _LONGEST_FIGURE:
        return f"{value:.3e}"
    if isinstance(value, int) or value == int(value):
        return str(int(value))
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    if digits > 6:
        return f"{value:.3e}"
    written = f"{value:.{digits}f}"
    return written.rstrip("0").rstrip(".") if digits else written  # zeros before the point count


def round_up(value: float) -> float:
    """Round a positive value up to 1, 2 or 5 times a power of ten."""
    power = math.floor(math.log10(value) + 1e-9)
    return next(found for m in (1, 2, 5, 10) if (found := float(f"{m}e{power}")) >= value * (1 - 1e-9))


def percent(part: float) -> str:
    """Format a fraction as a percentage."""
    return f"{100 * part:.12g} %"


def ordinal(n: int) -> str:
    """Format an ordinal number: 1st, 2nd, 3rd, 4th, ..., 11th."""
    ending = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


def as_number(value: Time) -> float:
    """Convert an exact time to JSON: an integer, or a float if it is a fraction."""
    return float(value) if isinstance(value, Fraction) else value


def intervals(period: Time | None) -> dict[str, dict[str, int]]:
    """Make the JSON member ``intervals`` of a mean frame period in ticks; empty at equal intervals."""
    if not isinstance(period, Fraction):
        return {}
    return {
        "intervals": {"frames": period.denominator, "ticks": period.numerator, "largest_gap_ticks": largest_gap(period)}
    }


def mean_period_lines(periods: Iterable[Time | None]) -> list[str]:
    """Describe how far frames are apart for every fractional mean frame period in ticks; empty at equal intervals."""
    return [
        f"frame period {p}: a mean, {p.denominator} frames every {p.numerator} ticks, {largest_gap(p)} or less apart; "
        "the worst case waits for the largest gap."
        for p in dict.fromkeys(p for p in periods if isinstance(p, Fraction))
    ]


def seconds(value: float | Fraction | None) -> str:
    """Format a duration with its unit, from seconds to nanoseconds; ``-`` for ``None``."""
    return _with_unit(None if value is None else float(value), "s", 4)


def joules(value: float | None) -> str:
    """Format an energy with its unit, from joules to picojoules; ``-`` for ``None``."""
    return _with_unit(value, "J", 5)


def _with_unit(value: float | None, unit: str, n_prefixes: int) -> str:
    if value is None:
        return "-"
    if value == 0:
        return f"0 {unit}"
    for scale, prefix in _PREFIXES[:n_prefixes]:
        if value >= scale * (1 - 1e-9):
            return f"{plain(round(value / scale, 6))} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def decimal_string(number: int) -> str:
    """Format an integer of any length in decimal digits."""
    # ``str`` refuses more than 4300 digits; ``decimal`` does not, and counts of patterns have as many digits as a
    # network has edges.
    if abs(number) < EXACT_IN_DOUBLES:
        return str(number)
    from decimal import Decimal

    return format(Decimal(number), "f")


def json_count(number: int | None) -> int | str | None:
    """Convert a count to JSON: a decimal string from 2^53 on, ``None`` if it was not counted."""
    return number if number is None or number < EXACT_IN_DOUBLES else decimal_string(number)


def short_count(value: int) -> str:
    """Format a count in full if it is short, else as a power of two."""
    return str(value) if value < 10**15 else f"about 2^{math.log2(value):.1f}"
