"""``Stage``: a scene played by one session, with its mutable state."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import RLock
from zlib import crc32

import numpy as np

from neuromap.errors import InputError, NeuromapError
from neuromap.faults.edited_program import Edit, apply_edits, settled_state
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.options import MappingOptions
from neuromap.network.build import require_weights
from neuromap.network.network import Network
from neuromap.render.numbers import seconds
from neuromap.render.value import Card
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.engine.engine import HostEvents, make_engine
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.run.live_run import LiveRun
from neuromap.simulation.run.tick_run import SpikeLabels, TickSpikes
from neuromap.studio.scene.scene import MOST_TICKS, Change, Scene, SceneRun, Shown, World, world_source

EXECUTIONS = ("windowed", "pipelined")


class Stage:
    """A scene being played: mapped, run tick by tick, changed, recorded and replayed."""

    # Actions are recorded as changes of the scene at ticks; since all random numbers depend only on tick and seed, the
    # same changes reproduce the same spikes.
    # now: the tick that runs next
    # shown, world: the current input, and how input nodes sample it
    # runs: the runs being played; empty before they are mapped
    # mapped: results of mapping (number of the run, execution), as far as known
    # lock: hold it while reading runs, so that they stand still
    # turns: number of changes put in force, by hand or by a replay
    # verdict: whether the last replay reproduced every recorded spike; None before one has ended

    def __init__(self, scene: Scene, choice: EngineChoice | None = None) -> None:
        self.lock = RLock()
        self._choice = choice or EngineChoice(threads=1)
        self.mapped: dict[tuple[int, str], Mapped] = {}
        self.verdict: bool | None = None
        self.turns = 0
        self._generation = 0
        self.set_scene(scene)

    @property
    def scene(self) -> Scene:
        """The current scene, with the whole recording."""
        with self.lock:
            if self.is_replaying or not self.runs:
                return self._scene
            sums = tuple(run.checksum for run in self.runs)
            return replace(self._scene, ticks=self.now, checksums=sums)

    @property
    def seen(self) -> Scene:
        """The scene up to the tick that runs next, even during a replay."""
        with self.lock:
            scene = self.scene
            return replace(scene, ticks=self.now, checksums=()) if self.runs else scene

    @property
    def recorded(self) -> int:
        """Number of recorded ticks."""
        return max(self.now, self._scene.ticks)

    @property
    def time_on_chip(self) -> str:
        """Time that the chip takes for the ticks so far; in words if ticks last as long as their work."""
        chip = self._scene.chip
        return "as long as its work" if chip.is_timed else seconds(self.now * chip.tick_seconds)

    @property
    def is_ready(self) -> bool:
        """Whether every run of the scene is mapped and can play."""
        return bool(self.runs)

    @property
    def is_replaying(self) -> bool:
        """Whether recorded ticks are being replayed."""
        return self.now < self._scene.ticks

    def set_scene(self, scene: Scene) -> None:
        """Replace the scene; the new one must be mapped."""
        with self.lock:
            world = World(scene.network, scene.stimulus)  # first, so that a refusal changes nothing
            self._generation += 1
            self._scene, self.now, self._applied, self.world = scene, 0, 0, world
            self.shown = Shown()
            self.runs: tuple[PlayedRun, ...] = ()
            self.mapped, self.verdict = {}, None

    def map(self, said: Callable[[], object] | None = None) -> bool:
        """Map every run, in its own execution first; slow, and safe to run in another thread."""
        # said: called whenever a rollout is mapped
        # returns false if the scene was changed meanwhile, so that the results are obsolete
        scene, generation = self._scene, self._generation
        wanted = [(k, run.execution) for k, run in enumerate(scene.runs)]
        wanted += [(k, kind) for k, run in enumerate(scene.runs) for kind in EXECUTIONS if kind != run.execution]
        for place, (k, execution) in enumerate(wanted):
            same = next((j for j in range(k) if scene.runs[j].pattern.values == scene.runs[k].pattern.values), None)
            known = self.mapped.get((same, execution)) if same is not None else None
            found = known or map_run(scene.network, scene.chip, scene.runs[k], execution)
            if place < len(scene.runs) and found.program is not None:  # compile here, outside the lock
                make_engine(found.program, self._choice).run(HostEvents.none(1))
            with self.lock:
                if generation != self._generation:
                    return False
                self.mapped[k, execution] = found
                if place + 1 == len(scene.runs):
                    self._begin()
            if said is not None:
                said()
        return True

    def _begin(self) -> None:
        """Load the programs of all runs at tick 0, and apply the changes of that tick."""
        programs = [self.mapped[k, run.execution].program for k, run in enumerate(self._scene.runs)]
        found = [program for program in programs if program is not None]
        if len(found) < len(programs):
            return
        self.now, self._applied, self.shown = 0, 0, Shown()
        self.runs = tuple(PlayedRun(p, self.world, lambda: self.shown, self._choice) for p in found)
        self._apply()

    def catch_up(self, most: int, seconds: float = math.inf) -> bool:
        """Replay up to ``most`` recorded ticks like :meth:`advance`; return whether the replay is complete."""
        with self.lock:
            self.advance(min(most, self._scene.ticks - self.now), seconds)
            return not self.is_replaying

    def cut(self) -> bool:
        """Cut the recording off before the last change put in force, which does not fit."""
        # returns whether there was one; if so, the rest must be mapped again
        with self.lock:
            kept = self._scene.changes[: max(0, self._applied - 1)]
            is_cut = len(kept) < len(self._scene.changes)
            if is_cut:
                self.set_scene(replace(self._scene, changes=kept, ticks=self.now, checksums=()))
            return is_cut

    def advance(self, n_ticks: int, seconds: float = math.inf) -> int:
        """Run some ticks, all runs in step; a replay ends with the recording."""
        # seconds: time after which no further tick begins, so that a slow program can be paused
        # returns the number of ticks run, at least one if any can
        with self.lock:
            if not self.runs:
                return 0
            was_replaying = self.is_replaying
            end = self._scene.ticks if was_replaying else MOST_TICKS
            if n_ticks > 0 and self.now >= end:
                raise InputError(f"recording: holds {MOST_TICKS} ticks, which is its most; start again at tick 0")
            begin, begun_at = self.now, time.monotonic()
            end = min(end, begin + n_ticks)
            while self.now < end and (self.now == begin or time.monotonic() - begun_at < seconds):
                self._apply()
                for run in self.runs:
                    run.tick()
                self.now += 1
            if was_replaying and not self.is_replaying:
                self._apply()
                sums = tuple(run.checksum for run in self.runs)
                self.verdict = sums == self._scene.checksums if self._scene.checksums else None
            return self.now - begin

    def ticks_to_frame(self) -> int:
        """Count the ticks until every output of the first run has shown a further frame."""
        with self.lock:
            return self.runs[0].live.ticks_to_frame if self.runs else 0

    def show(self, shown: Shown) -> None:
        """Change the input from now on; a replay ends here, and recording continues from here."""
        with self.lock:
            self.world.check(shown)
            self._record(Change(self.now, shown=shown))

    def edit(self, run: int, edits: Sequence[Edit]) -> None:
        """Replace all edits of a run from now on, as :meth:`show` does for the input."""
        with self.lock:
            if not self.runs:
                raise InputError("edit: nothing runs yet; wait until the network is mapped")
            change = Change(self.now, run=run, edits=tuple(edits))
            self._scene.with_change(change)
            self.runs[run].edit(edits)
            self._record(change)

    def _record(self, change: Change) -> None:
        scene = self._scene.with_change(change)
        self._scene, self.verdict = scene, None
        self._applied = min(self._applied, len(scene.changes) - 1)
        self._apply()

    def _apply(self) -> None:
        """Put all changes up to the current tick in force."""
        changes = self._scene.changes
        while self._applied < len(changes) and changes[self._applied].tick <= self.now:
            change = changes[self._applied]
            self._applied += 1
            self.turns += 1
            if change.shown is not None:
                self.shown = change.shown
            elif change.edits is not None and self.runs:
                self.runs[change.run].edit(change.edits)

    def restart(self) -> None:
        """Restart at tick 0 with the current input and edits, and discard the recording."""
        with self.lock:
            kept = tuple(change for change in self._scene.changes if change.tick <= self.now)
            self._scene, self.verdict = replace(self._scene, changes=kept).begun_again(), None
            if self.runs:
                self._begin()

    def replay(self) -> None:
        """Go back to tick 0 to replay the recording."""
        with self.lock:
            scene = self.scene
            if not scene.ticks:
                raise InputError("replay: nothing is recorded yet; run some ticks first")
            self._scene, self.verdict = scene, None
            if self.runs:
                self._begin()


# One rollout on the stage: its mapping, its live run and the edits in force.


# Number of ticks whose spikes are kept.
HISTORY = 256
# Time limit of the mapper's search, in seconds.
_SECONDS = 60.0


@dataclass(frozen=True, eq=False)
class Mapped(Card):
    """Result of mapping a rollout onto a chip."""

    problem: str = ""  # why it does not run, in one line; empty if it does
    rollout: Rollout | None = None  # the mapped schedule
    program: ChipProgram | None = None  # program of the chip


def map_run(network: Network, chip: ChipSpec, run: SceneRun, execution: str) -> Mapped:
    """Map a rollout; if it does not fit, return the problem."""
    try:
        rollout = Rollout(network, run.pattern, execution)
        mapped = map_with_stages(rollout, chip, MappingOptions(seconds=_SECONDS))
        return Mapped("", mapped.rollout, mapped.program)
    except NeuromapError as error:
        return Mapped(str(error))


def require_mappable(scene: Scene) -> None:
    """Refuse scenes with a run that does not fit; without weights or with an invalid pattern, they can be edited."""
    try:
        require_weights(scene.network)
    except NeuromapError:
        return
    for run in scene.runs:
        if run.pattern.is_valid:
            rollout = Rollout(scene.network, run.pattern, run.execution)
            map_with_stages(rollout, scene.chip, MappingOptions(seconds=_SECONDS))


class PlayedRun:
    """A live run with its edits and a checksum of all its spikes."""

    def __init__(self, program: ChipProgram, world: World, shown: Callable[[], Shown], choice: EngineChoice) -> None:
        self.program, self.edits, self.checksum = program, tuple[Edit, ...](), 0
        self.live = LiveRun(program, world_source(world, program, shown), choice, history=HISTORY)
        self.labels = SpikeLabels(program)

    def tick(self) -> TickSpikes:
        """Run one tick."""
        sent = self.live.tick()
        columns = [np.full(len(sent.cores), sent.tick), sent.cores, sent.neurons]
        spikes = np.stack(columns if sent.values is None else [*columns, sent.values], axis=1)
        self.checksum = crc32(np.ascontiguousarray(spikes, np.int64).tobytes(), self.checksum)
        return sent

    def edit(self, edits: Sequence[Edit]) -> None:
        """Replace all edits."""
        if tuple(edits) == self.edits:
            return
        program = apply_edits(self.program, edits)
        self.live.put(program, settled_state(self.program, edits, self.live.state))
        self.edits = tuple(edits)
