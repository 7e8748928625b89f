"""Text of any origin, made fit to be printed."""

from __future__ import annotations

__all__ = ["escaped", "printable_line"]


def escaped(text: str) -> str:
    """Write what is no printable character, line feeds too, as Python escapes it."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def printable_line(text: str, longest: int) -> str:
    """Make a text fit for one line of a terminal: a text in a file can hold anything."""
    # longest: characters that are kept, at most
    return escaped(" ".join(text[: 2 * longest].split())[:longest])
