"""How fast a watched run goes: ticks that are due, and what keys do about it."""

from __future__ import annotations

from collections import deque

from neuromap.cli.printing.watch_screen import Pace

FASTEST = 0.0
"""Wanted speed that means as fast as it goes."""
_SPAN = 2.0
"""Seconds over which the pace is measured."""
_RANGE = (1 / 64, 2.0**20)
"""Ticks per second that keys reach; beyond them a run goes as fast as it goes."""


class Player:
    """Says how many ticks to run now; times are seconds of any clock that only goes forward.

    Parameters
    ----------
    speed : float
        Ticks per second, or :data:`FASTEST`.
    now : float
        The time.
    """

    def __init__(self, speed: float, now: float) -> None:
        self.speed = speed
        self.plays = True
        self.ends = False
        self._since, self._done = now, 0
        self._seen: deque[tuple[float, int]] = deque([(now, 0)])

    def press(self, key: str, now: float) -> str:
        """Take a key.

        Returns
        -------
        str
            ``"tick"`` or ``"frame"`` where one more of them is wanted, ``""`` else.
        """
        if key == " ":
            self.plays = not self.plays
        elif key in ("t", "f"):
            self.plays = False
        elif key in ("+", "=", "-"):
            self._change(2.0 if key != "-" else 0.5)
        elif key in ("q", "\x04"):
            self.ends = True
        self._since, self._done = now, 0
        return {"t": "tick", "f": "frame"}.get(key, "")

    def due(self, now: float) -> int | None:
        """Ticks that should run now; None for as many as there is time for."""
        if not self.plays:
            return 0
        if self.speed == FASTEST:
            return None
        return max(0, int((now - self._since) * self.speed) + 1 - self._done)

    def ran(self, n_ticks: int, now: float) -> None:
        """Take down what was run; what a slow machine could not keep up with is not made up for."""
        self._done += n_ticks
        if self.speed != FASTEST and (now - self._since) * self.speed > self._done + 1:
            self._since, self._done = now, 0
        self._seen.append((now, self._seen[-1][1] + n_ticks))
        while len(self._seen) > 2 and now - self._seen[1][0] > _SPAN:
            self._seen.popleft()

    @property
    def pace(self) -> Pace:
        """What the screen says of it."""
        (first, before), (last, after) = self._seen[0], self._seen[-1]
        measured = (after - before) / (last - first) if last > first else None
        return Pace(self.plays, self.speed, measured)

    def _change(self, factor: float) -> None:
        if self.speed == FASTEST:
            self.speed = FASTEST if factor > 1 else _RANGE[1]
            return
        wanted = self.speed * factor
        self.speed = FASTEST if wanted > _RANGE[1] else max(_RANGE[0], wanted)
