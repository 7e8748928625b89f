"""Which checkpoints are asked for, and which one a run goes on from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from neuromap.errors import InputError
from neuromap.files.argument_checks import path_given, whole_number
from neuromap.files.whole_file import check_target
from neuromap.render.value import Card

DEFAULT_EVERY = 1_000_000
"""Ticks between checkpoints, where nothing else is asked for."""


@dataclass(frozen=True)
class Checkpoints(Card):
    """What a run writes so that another one can go on from there, and what it goes on from.

    Attributes
    ----------
    path : Path, str or None
        The checkpoint, which the next one replaces; what was recorded before it stands in files beside it. None for
        no checkpoints.
    every : int
        Ticks from one to the next.
    resume : Path, str or None
        A checkpoint of the same program, frames, recording and seed to go on from. Engine, threads and ranks may
        differ; the trace is the same. None to begin at tick 0.

    Raises
    ------
    InputError
        If a path is none, the file cannot be written or is there already (and is not the one to go on from), or
        ``every`` is no positive integer.
    """

    path: str | Path | None = None
    every: int = DEFAULT_EVERY
    resume: str | Path | None = None

    def __post_init__(self) -> None:
        for field in ("path", "resume"):
            if (given := getattr(self, field)) is not None:
                object.__setattr__(self, field, path_given(f"Checkpoints: {field}", given))
        object.__setattr__(self, "every", whole_number("checkpoints: every", self.every))
        if self.every < 1:
            raise InputError(f"checkpoints: every {self.every} ticks: is not allowed; give 1 or more")
        if self.path is not None and check_target(self.path) is None:
            raise InputError(f"{self.path}: is a device or pipe; a checkpoint needs the name of a file")
        if self.path is not None and Path(self.path).exists() and not self._goes_on_in_place:
            raise InputError(
                f"checkpoint {self.path}: is there already, and its parts would be overwritten before it; resume from "
                "it, remove it, or give another file"
            )

    @property
    def _goes_on_in_place(self) -> bool:
        """Whether the run goes on from the file that its next checkpoint replaces."""
        return self.path is not None and self.resume is not None and _is_same(Path(self.path), Path(self.resume))


def _is_same(one: Path, other: Path) -> bool:
    return other.exists() and one.samefile(other)
