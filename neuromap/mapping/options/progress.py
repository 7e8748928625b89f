"""Whom the mapper tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Progress"]

Progress = Callable[[int, int, str], None]
"""Called with parts done, parts in all (about), and the name of the last or what is being done."""
