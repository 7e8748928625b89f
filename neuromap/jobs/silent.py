"""Progress that nobody wants to see."""

from __future__ import annotations


def silent(*_: object) -> None:
    """Accept any report of progress, and show nothing."""
