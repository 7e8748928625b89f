"""``Scene``: a network, one or two rollouts of it, a chip, and a recording, as a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.encoding.frames import InputEncoding, encode
from neuromap.encoding.input_tables import input_encodings
from neuromap.errors import InputError, NeuromapError, StimulusError
from neuromap.faults.edited_program import Edit
from neuromap.files.argument_checks import real_number, whole_number
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.network.network import Network
from neuromap.render.value import Card
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.execution import chosen_period
from neuromap.simulation.run.live_run import FrameSource
from neuromap.simulation.stimulus import value_ranges

Kind = Literal["picture", "random", "stimulus"]
# Most values of all pictures together.
MOST_PIXELS = 2**18


@dataclass(frozen=True, eq=False)
class Shown(Card):
    """What input nodes see from some tick on."""

    # still pictures, random frames, or the frames of the scene's stimulus in turn
    kind: Kind = "picture"
    # (rows, columns, features): kind ``picture``: intensities 0 to 255 by input node; nodes without one see black
    pictures: Mapping[str, NDArray[np.uint8]] = field(default_factory=dict)
    density: float = 0.2  # kind ``random``: fraction of neurons that spike in a frame, 0 to 1
    noise: float = 0.0  # probability that a bit of a frame is flipped, 0 to 1
    seed: int = 0  # seed of all random numbers; 0 to 2**31 - 1
    label: str = "nothing"  # description for people, such as ``image 12, a 3``

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


# Most ticks of a recording.
MOST_TICKS = 100_000
# Most changes of a recording.
MOST_CHANGES = 5_000
# Most edits in force at the same time.
MOST_EDITS = 100
MOST_RUNS = 2


@dataclass(frozen=True, eq=False)
class SceneRun(Card):
    """A rollout that runs in a scene."""

    pattern: RolloutPattern  # an invalid pattern is shown, but does not run
    execution: str = "windowed"  # as of :class:`neuromap.Rollout`

    def __post_init__(self) -> None:
        chosen_period(self.execution)


@dataclass(frozen=True)
class Change(Card):
    """A change just before a tick, of the input or of a run's edits."""

    tick: int  # 0 or more
    shown: Shown | None = None  # input from now on
    run: int = 0  # run whose edits change; 0 or 1
    edits: tuple[Edit, ...] | None = None  # all edits in force from now on; None if ``shown`` changes

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
        """Kind of the change; at one tick, a later change of the same kind replaces an earlier one."""
        return "shown" if self.edits is None else f"edits of {self.run}"


@dataclass(frozen=True, eq=False)
class Scene(Card):
    """What a user sees and did: enough to reproduce it spike by spike."""

    network: Network  # with or without weights; without, nothing runs
    chip: ChipSpec  # chip that it runs on
    runs: tuple[SceneRun, ...]  # one, or two that see the same input
    changes: tuple[Change, ...] = ()  # the recording, in the order of ticks
    ticks: int = 0  # number of ticks run
    stimulus: Mapping[str, NDArray[Any]] | None = None  # (n_frames, size): frames that can be shown
    checksums: tuple[int, ...] = ()  # checksum of each run's spikes up to ``ticks``; empty if nothing ran

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
        """Return the scene at tick 0, with the input and edits in force at its end."""
        last = {change.what: replace(change, tick=0) for change in self.changes}
        return replace(self, changes=tuple(last.values()), ticks=0, checksums=())

    def with_change(self, change: Change) -> Scene:
        """Return the scene with a change at its end; any later recording is cut off."""
        kept = [c for c in self.changes if c.tick < change.tick or (c.tick == change.tick and c.what != change.what)]
        if len(kept) >= MOST_CHANGES:
            raise InputError(f"recording: holds {MOST_CHANGES} changes, which is its most; start again at tick 0")
        return replace(self, changes=(*kept, change), ticks=change.tick, checksums=())

    def shown_at(self, tick: int) -> Shown:
        """Return the input at a tick."""
        return next((c.shown for c in reversed(self.changes) if c.shown and c.tick <= tick), Shown())

    def edits_at(self, tick: int, run: int) -> tuple[Edit, ...]:
        """Return the edits of a run in force at a tick."""
        mine = (c.edits for c in reversed(self.changes) if c.edits is not None and c.run == run and c.tick <= tick)
        return next(mine, ())


# Booleans, or int32 for graded nodes.
Bits = NDArray[Any]
# Offset of ticks in seeds: frame 0 may be sampled before tick 0.
_BEFORE = 2**20


class World:
    """Bits or values of input nodes, as a function of the input shown, tick and seed."""

    # shapes: stimulus (n_frames, size)

    def __init__(self, network: Network, stimulus: Mapping[str, Bits] | None = None) -> None:
        self._network, self._stimulus = network, stimulus
        self._sizes = {name: network.nodes[name].size for name in network.inputs}  # refuses nodes without a shape
        self._ranges = value_ranges(network) or {}
        self._encodings = _encodings(network)

    def check(self, shown: Shown) -> None:
        """Refuse inputs that cannot be shown to this network."""
        for name in shown.pictures:
            if name not in self._sizes:
                raise StimulusError(f"picture: node {name!r:.40} is not an input; inputs are {', '.join(self._sizes)}")
        if shown.kind == "stimulus" and self._stimulus is None:
            raise StimulusError("stimulus: none was loaded; choose a file of frames")
        for name in self._sizes:
            self.bits(shown, name, 0, 1)

    def takers(self, shape: tuple[int, int, int]) -> list[str]:
        """List the inputs whose frames can be pictures of a shape."""
        return [node for node in self._sizes if self.takes(node, shape)]

    def takes(self, node: str, shape: tuple[int, int, int]) -> bool:
        """Whether pictures of a shape can be frames of a node."""
        encoding = self._encodings.get(node)
        return self._network.nodes[node].shape == (shape if encoding is None else encoding.frame_shape(shape))

    def bits(self, shown: Shown, node: str, tick: int, frame: int) -> Bits:
        """Return what a node samples at a tick, shape (size,); ``frame`` is the number of its frame."""
        rng = np.random.default_rng((shown.seed, self._network.inputs.index(node), tick + _BEFORE))
        found = self._clear(shown, node, frame, rng)
        if shown.noise:
            struck = rng.random(len(found)) < shown.noise
            found = np.where(struck, self._drawn(node, rng) if node in self._ranges else ~found, found)
        return found

    def _drawn(self, node: str, rng: np.random.Generator) -> Bits:
        """Draw random values of a graded node."""
        low, high = self._ranges[node]
        return rng.integers(low, high, self._sizes[node], np.int32, endpoint=True)

    def _clear(self, shown: Shown, node: str, frame: int, rng: np.random.Generator) -> Bits:
        size, shape = self._sizes[node], self._network.nodes[node].shape
        if shown.kind == "random":
            random: Bits = rng.random(size) < shown.density
            return random * self._drawn(node, rng) if node in self._ranges else random
        if shown.kind == "stimulus" and self._stimulus is not None:
            rows = self._stimulus[node]
            row: Bits = rows[frame if frame < len(rows) else 1 + (frame - 1) % (len(rows) - 1)]
            return row
        picture = shown.pictures.get(node)
        if picture is None:
            return np.zeros(size, np.int32 if node in self._ranges else np.bool_)
        intensities = picture.astype(np.float32)[np.newaxis] / np.float32(255)
        encoding = self._encodings.get(node)
        if encoding is not None:
            bits: Bits = encode(encoding, intensities, 1, rng).reshape(-1)
            return bits
        if picture.shape != shape:
            raise StimulusError(f"picture of {node}: has shape {picture.shape}; the node has {shape}")
        drawn: Bits = rng.random(size, np.float32) < intensities.reshape(-1)
        return drawn


def world_source(world: World, program: ChipProgram, shown: Callable[[], Shown]) -> FrameSource:
    """Return the world as a run samples it, at the ticks of its clock: a frame of every input node by its number."""
    ports = [port for port in program.nodes if port.kind == "input"]

    def sample(frame: int) -> dict[str, Bits]:
        seen = shown()
        return {port.name: world.bits(seen, port.name, port.tick(program.period, frame), frame) for port in ports}

    return sample


def _encodings(network: Network) -> dict[str, InputEncoding]:
    """Return the encodings that suit a chip; empty if the network lacks shapes or tables."""
    try:
        found = input_encodings(network)
    except NeuromapError:
        return {}
    return {name: encoding for name, encoding in found.items() if encoding.is_for_chip}
