"""Numbers at the command line that are none: told in the program's own words, with what is allowed."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["not_a_number"]

_SEED = "a whole number, 0 or more"
_ALLOWED = {
    "--seed": _SEED,
    "--mapping-seed": _SEED,
    "--noise-seed": _SEED,
    "--frames": "a whole number, 2 or more",
    "--seeds": "a whole number from 1 to 1000",
    "--stimuli": "a whole number from 1 to 100",
    "--threads": "a whole number from 1 to 1024",
    "--processes": "a whole number, 1 or more",
    "--ticks-per-step": "a whole number from 1 to 1024",
    "--density": "a number from 0 to 1, such as 0.2",
    "--energy-tolerance": "a part from 0 to below 1, such as 0.02",
    "--seconds": "a number above 0, such as 2.5",
}
"""What options take; the functions behind them refuse what is beyond."""


def not_a_number(message: str, options: Sequence[str], words: Sequence[str]) -> str | None:
    """Say what an option takes that was given something else than a number."""
    # gives one line; ``None`` where the fault is another one
    if "valid integer" not in message and "valid float" not in message and "valid number" not in message:
        return None
    allowed = next((_ALLOWED[name] for name in options if name in _ALLOWED), None)
    if allowed is None:
        allowed = "a whole number" if "integer" in message else "a number"
    found = _given(options, words)
    return None if found is None else f"{found[0]} {found[1]}: must be {allowed}"


def _given(options: Sequence[str], words: Sequence[str]) -> tuple[str, str] | None:
    """Find the option as it was typed, and its value; of several the last."""
    for k in range(len(words) - 1, -1, -1):
        name, sign, value = words[k].partition("=")
        if name in options and sign:
            return name, value
        if name in options and k + 1 < len(words):
            return name, words[k + 1]
    return None
