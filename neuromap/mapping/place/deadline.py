"""Until when a placement may be improved, and whom to tell how far it is."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from neuromap.mapping.options.progress import Progress

__all__ = ["Deadline"]


@dataclass(frozen=True)
class Deadline:
    """When to stop, and whom to tell."""

    at: float | None = None  # reading of ``time.monotonic`` after which nothing new is begun; ``None`` for never
    progress: Progress | None = None  # called with parts done, parts in all (about), and what is being done

    @classmethod
    def after(cls, seconds: float | None, progress: Progress | None = None) -> Deadline:
        """Give the deadline so many seconds from now; none if ``None``."""
        return cls(None if seconds is None else time.monotonic() + seconds, progress)

    @property
    def is_over(self) -> bool:
        """Whether the time is spent."""
        return self.at is not None and time.monotonic() >= self.at

    def left_s(self) -> float:
        """Seconds that are left; infinite without a deadline."""
        return np.inf if self.at is None else self.at - time.monotonic()

    def of_round(self, number: int, of: int, share: float) -> Deadline:
        """Give one of several rounds a deadline of its own, and its part of the progress."""

        def tell(done: int, total: int, text: str) -> None:
            self.tell(number * total + done, of * total, text)

        return Deadline.after(None if self.at is None else share * self.left_s(), tell)

    def tell(self, done: int, total: int, text: str) -> None:
        """Report progress."""
        if self.progress is not None:
            self.progress(min(done, total), total, text)
