"""Progress that nobody asked to see."""

from __future__ import annotations


def silent(*_: object) -> None:
    """Take news of progress, whatever it says, and show nothing."""
