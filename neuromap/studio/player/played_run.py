"""One rollout on the stage: mapped, running, with the edits that are in force."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from neuromap.errors import NeuromapError
from neuromap.faults.edit import Edit
from neuromap.faults.edited_program import apply_edits, settled_state
from neuromap.forms.card import Card
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.options import MappingOptions
from neuromap.network.network import Network
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.run.counted import SpikeLabels
from neuromap.simulation.run.live_run import LiveRun
from neuromap.simulation.run.tick_run import TickSpikes
from neuromap.studio.player.figures import ChipFigures, chip_figures
from neuromap.studio.player.world import World, WorldSource
from neuromap.studio.scene.scene import SceneRun
from neuromap.studio.scene.shown import Shown

__all__ = ["Mapped", "PlayedRun", "map_run"]

HISTORY = 256
"""Ticks of which spikes are kept."""
_SECONDS = 60.0
"""What the mapper may search for."""


@dataclass(frozen=True, eq=False)
class Mapped(Card):
    """What became of a rollout on a chip."""

    problem: str = ""  # why it does not run, in one line; empty where it does
    rollout: Rollout | None = None  # the schedule that was mapped
    program: ChipProgram | None = None  # what the chip runs
    figures: ChipFigures | None = None  # in ticks


def map_run(network: Network, chip: ChipSpec, run: SceneRun, execution: str | None = None) -> Mapped:
    """Map a rollout; what does not fit gives its problem."""
    try:
        rollout = Rollout(network, run.pattern, execution or run.execution)
        mapped = map_with_stages(rollout, chip, MappingOptions(seconds=_SECONDS))
        return Mapped("", mapped.rollout, mapped.program, chip_figures(mapped.rollout, mapped.program))
    except NeuromapError as error:
        return Mapped(str(error))


class PlayedRun:
    """A live run with its edits and a checksum of all of its spikes."""

    def __init__(self, program: ChipProgram, world: World, shown: Callable[[], Shown], choice: EngineChoice) -> None:
        self.program, self.edits, self.checksum = program, tuple[Edit, ...](), 0
        self.live = LiveRun(program, WorldSource(world, program, shown), choice, history=HISTORY)
        self.labels = SpikeLabels(program)

    def tick(self) -> TickSpikes:
        """Run one tick."""
        sent = self.live.tick()
        spikes = np.stack([np.full(len(sent.cores), sent.tick), sent.cores, sent.neurons], axis=1)
        self.checksum = crc32(np.ascontiguousarray(spikes, np.int64).tobytes(), self.checksum)
        return sent

    def edit(self, edits: Sequence[Edit]) -> None:
        """Put edits in force, all there are."""
        if tuple(edits) == self.edits:
            return
        program = apply_edits(self.program, edits)
        self.live.put(program, settled_state(self.program, edits, self.live.state))
        self.edits = tuple(edits)
