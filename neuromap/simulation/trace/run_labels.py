"""What is said of a run beside its spikes: the same for one stimulus and for many."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.errors import InputError
from neuromap.forms.card import Card
from neuromap.hardware.program.program import NodePort
from neuromap.simulation.trace.frame_clock import FrameClock

__all__ = ["RunLabels"]


@dataclass(frozen=True, eq=False)
class RunLabels(Card):
    """Labels of the program, the recorded nodes and how long the run was.

    Attributes
    ----------
    name, pattern, execution : str
        Labels of the program.
    nodes : tuple of NodePort
        The recorded nodes, by default the output nodes.
    period : int
        Frame period in ticks.
    n_frames : int
        Frames of a stimulus, including frame 0.
    n_ticks : int
        Ticks that were run for it, from tick 0.
    """

    name: str
    pattern: str
    execution: str
    nodes: tuple[NodePort, ...]
    period: int
    n_frames: int
    n_ticks: int

    @property
    def clock(self) -> FrameClock:
        """What tells the frames of the recorded nodes' spikes."""
        return FrameClock.of(self.nodes, self.period, self.n_frames)

    def _position(self, name: str) -> int:
        """Find a recorded node in ``nodes``, or refuse its name."""
        names = [port.name for port in self.nodes]
        if name not in names:
            what = type(self).__name__.lower()
            raise InputError(f"{what}: node {name} was not recorded; recorded nodes are {', '.join(names) or 'none'}")
        return names.index(name)

    def _facts(self) -> dict[str, object]:
        return {"network": self.name, "pattern": self.pattern, "execution": self.execution}
