"""Defects of a chip or board: cores, routers and links that do not work.

Which routes they block is asked in :mod:`neuromap.hardware.program.dead_routes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuromap.errors import ChipError
from neuromap.files.messages import show
from neuromap.forms.card import Card

__all__ = ["Defects"]

Core = tuple[int, int]
Link = tuple[Core, Core]

_PAIR = "are coordinates [x, y], integers from 0"
_NEIGHBOURS = "are two cores side by side, [x, y] and [x', y']: x or y differs by 1"


@dataclass(frozen=True)
class Defects(Card):
    """What does not work, in coordinates of the whole board.

    Order and repetition do not matter: the tuples are sorted and hold every entry once.

    Attributes
    ----------
    cores : tuple of (x, y)
        Dead cores: they hold no neurons, but their routers forward spikes.
    routers : tuple of (x, y)
        Dead routers: their cores are unusable too, and no route may start, end or pass there.
    links : tuple of ((x, y), (x', y'))
        Dead links between neighbouring routers. A link is dead in both directions; it is kept with the lesser
        coordinates first.

    Raises
    ------
    ChipError
        If an entry is no pair of integers from 0, or a link joins cores that are not side by side. Whether the
        entries lie on the board is asked when the defects are joined with a chip.
    """

    cores: tuple[Core, ...] = ()
    routers: tuple[Core, ...] = ()
    links: tuple[Link, ...] = ()

    def __post_init__(self) -> None:
        for key in ("cores", "routers"):
            entries = {_core(entry, key) for entry in _entries(getattr(self, key), key)}
            object.__setattr__(self, key, tuple(sorted(entries)))
        links = {_link(entry) for entry in _entries(self.links, "links")}
        object.__setattr__(self, "links", tuple(sorted(links)))

    def __bool__(self) -> bool:
        return bool(self.cores or self.routers or self.links)

    def require_on_board(self, columns: int, rows: int) -> None:
        """Refuse entries that lie beyond a board.

        Parameters
        ----------
        columns, rows : int
            Cores of the board along x and y.

        Raises
        ------
        ChipError
            Naming the first such entry.
        """
        for key, entries in (("cores", self.cores), ("routers", self.routers), ("links", self.links)):
            for entry in entries:
                # of a link, the second core is the farther one along both axes
                x, y = entry[1] if key == "links" else entry  # type: ignore[misc]
                if x >= columns or y >= rows:  # type: ignore[operator]
                    raise ChipError(
                        f"defects.{key}: found {show(entry)}; allowed are x from 0 to {columns - 1} and y from 0 to "
                        f"{rows - 1}, counted over the whole board; delete it or choose the board that it is about"
                    )


def _entries(value: Any, key: str) -> Iterable[Any]:
    plain = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(plain, str | bytes) or not isinstance(plain, Iterable):
        raise ChipError(f"defects.{key}: found {show(value)}; allowed is a list")
    return plain


def _core(value: Any, key: str) -> Core:
    if not _is_pair(value) or any(isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0 for n in value):
        raise ChipError(f"defects.{key}: found {show(value)}; allowed {_PAIR}")
    return int(value[0]), int(value[1])


def _link(value: Any) -> Link:
    if not _is_pair(value) or not all(map(_is_pair, value)):
        raise ChipError(f"defects.links: found {show(value)}; allowed {_NEIGHBOURS}")
    one, other = sorted(_core(end, "links") for end in value)
    if abs(one[0] - other[0]) + abs(one[1] - other[1]) != 1:
        raise ChipError(f"defects.links: found {show((one, other))}; allowed {_NEIGHBOURS}")
    return one, other


def _is_pair(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return bool(value.shape[:1] == (2,))
    return isinstance(value, Sequence) and not isinstance(value, str | bytes) and len(value) == 2
