"""``Scene``: a network, one or two rollouts of it, a chip, and all that happened on it, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.faults.edited_program import Edit
from neuromap.files.argument_checks import real_number, whole_number
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.network import Network
from neuromap.render.value import Card
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.execution import chosen_period

Kind = Literal["picture", "random", "stimulus"]
MOST_PIXELS = 2**18
"""Values of all pictures together."""


@dataclass(frozen=True, eq=False)
class Shown(Card):
    """What the input nodes see from some tick on."""

    # pictures that stand still, random frames, or the frames of the scene's stimulus one after the other
    kind: Kind = "picture"
    # (rows, columns, features): kind ``picture``: intensities 0 to 255 by input node; nodes without one see black
    pictures: Mapping[str, NDArray[np.uint8]] = field(default_factory=dict)
    density: float = 0.2  # kind ``random``: part of neurons that spike in a frame, 0 to 1
    noise: float = 0.0  # probability with which a bit of a frame is turned over, 0 to 1
    seed: int = 0  # of all that is drawn; 0 to 2**31 - 1
    label: str = "nothing"  # what it is, for people, such as ``image 12, a 3``

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InputError(f"shown: kind {self.kind!r:.40}: must be one of {', '.join(get_args(Kind))}")
        for name in ("density", "noise"):
            if not 0 <= real_number(f"shown: {name}", getattr(self, name)) <= 1:
                raise InputError(f"shown: {name} = {getattr(self, name)}: must be 0 to 1")
        if not 0 <= whole_number("shown: seed", self.seed) < 2**31:
            raise InputError(f"shown: seed = {self.seed}: must be 0 to {2**31 - 1}")
        if len(self.label) > 200:
            raise InputError(f"shown: label has {len(self.label)} characters; at most 200")
        pictures = {name: _picture(name, picture) for name, picture in self.pictures.items()}
        if (size := sum(picture.size for picture in pictures.values())) > MOST_PIXELS:
            raise InputError(f"shown: pictures have {size} values; at most {MOST_PIXELS}")
        object.__setattr__(self, "pictures", ReadOnlyMapping(pictures))


def _picture(name: str, values: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if values.dtype != np.uint8 or values.ndim != 3:
        raise InputError(f"shown: picture of {name!r:.40} is {values.dtype} of {values.ndim} axes; must be uint8 of 3")
    found = values.copy()
    found.setflags(write=False)
    return found


MOST_TICKS = 100_000
"""Ticks that a recording holds."""
MOST_CHANGES = 5_000
"""Changes that a recording holds."""
MOST_EDITS = 100
"""Edits that are in force at the same time."""
MOST_RUNS = 2


@dataclass(frozen=True, eq=False)
class SceneRun(Card):
    """A rollout that runs in a scene."""

    pattern: RolloutPattern  # valid or not; one that is not is shown, but does not run
    execution: str = "windowed"  # as of :class:`neuromap.Rollout`

    def __post_init__(self) -> None:
        chosen_period(self.execution)


@dataclass(frozen=True)
class Change(Card):
    """Something that changes just before a tick: what is shown, or the edits of a run."""

    tick: int  # 0 or more
    shown: Shown | None = None  # what the input sees from now on
    run: int = 0  # whose edits; 0 or 1
    edits: tuple[Edit, ...] | None = None  # all that are in force from now on; None where ``shown`` changes

    def __post_init__(self) -> None:
        if not 0 <= whole_number("change: tick", self.tick) <= MOST_TICKS:
            raise InputError(f"change: tick = {self.tick}: must be 0 to {MOST_TICKS}")
        if (self.shown is None) == (self.edits is None):
            raise InputError("change: needs either what is shown or edits; give one of them")
        if not 0 <= whole_number("change: run", self.run) < MOST_RUNS:
            raise InputError(f"change: run = {self.run}: must be 0 to {MOST_RUNS - 1}")
        if self.edits is not None and len(self.edits) > MOST_EDITS:
            raise InputError(f"change: {len(self.edits)} edits; at most {MOST_EDITS}")

    @property
    def what(self) -> str:
        """The kind of change: changes of one kind at one tick take each other's place."""
        return "shown" if self.edits is None else f"edits of {self.run}"


@dataclass(frozen=True, eq=False)
class Scene(Card):
    """What somebody looks at, and what they did: enough to see it again, spike by spike."""

    network: Network  # with or without weights; without, nothing runs
    chip: ChipSpec  # what it runs on
    runs: tuple[SceneRun, ...]  # one, or two that see the same input
    changes: tuple[Change, ...] = ()  # in the order of their ticks: the recording
    ticks: int = 0  # ticks that were run
    stimulus: Mapping[str, NDArray[Any]] | None = None  # (n_frames, size): frames that can be shown
    checksums: tuple[int, ...] = ()  # of all spikes of every run up to ``ticks``; empty where nothing ran

    def __post_init__(self) -> None:
        if not 1 <= len(self.runs) <= MOST_RUNS:
            raise InputError(f"scene: {len(self.runs)} runs; give 1 to {MOST_RUNS}")
        if not 0 <= whole_number("scene: ticks", self.ticks) <= MOST_TICKS:
            raise InputError(f"scene: ticks = {self.ticks}: must be 0 to {MOST_TICKS}")
        if len(self.changes) > MOST_CHANGES:
            raise InputError(f"scene: {len(self.changes)} changes; at most {MOST_CHANGES}")
        ticks = [change.tick for change in self.changes]
        if ticks != sorted(ticks):
            raise InputError("scene: changes are not in the order of their ticks")
        for run in self.runs:
            if tuple(run.pattern.network.edges) != tuple(self.network.edges):
                raise InputError(f"scene: pattern {run.pattern.name} is not of network {self.network.name}")
        if any(change.run >= len(self.runs) for change in self.changes):
            raise InputError("scene: a change is of a run that it lacks")

    def begun_again(self) -> Scene:
        """Give the scene at tick 0, with what was in force at the end."""
        last = {change.what: replace(change, tick=0) for change in self.changes}
        return replace(self, changes=tuple(last.values()), ticks=0, checksums=())

    def with_change(self, change: Change) -> Scene:
        """Give the scene with a change at its end; what was recorded after it is cut off."""
        kept = [c for c in self.changes if c.tick < change.tick or (c.tick == change.tick and c.what != change.what)]
        if len(kept) >= MOST_CHANGES:
            raise InputError(f"recording: holds {MOST_CHANGES} changes, which is its most; start again at tick 0")
        return replace(self, changes=(*kept, change), ticks=change.tick, checksums=())

    def shown_at(self, tick: int) -> Shown:
        """Say what is shown when a tick runs."""
        return next((c.shown for c in reversed(self.changes) if c.shown and c.tick <= tick), Shown())

    def edits_at(self, tick: int, run: int) -> tuple[Edit, ...]:
        """Say which edits of a run are in force when a tick runs."""
        mine = (c.edits for c in reversed(self.changes) if c.edits is not None and c.run == run and c.tick <= tick)
        return next(mine, ())
