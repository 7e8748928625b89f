"""What is said of a run beside its spikes: the same for one stimulus and for many."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from neuromap.arrays.times import Time
from neuromap.errors import InputError
from neuromap.files.messages import counted
from neuromap.forms.card import Card
from neuromap.hardware.program.ports import NodePort
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
    period : int or Fraction
        Frame period in ticks; a fraction is a mean.
    n_frames : int
        Frames of a stimulus, including frame 0.
    n_ticks : int
        Ticks that were run for it, from tick 0.
    """

    name: str
    pattern: str
    execution: str
    nodes: tuple[NodePort, ...]
    period: Time
    n_frames: int
    n_ticks: int

    @property
    def clock(self) -> FrameClock:
        """What tells the frames of the recorded nodes' spikes."""
        return FrameClock.of(self.nodes, self.period, self.n_frames)

    def require_frames(self, name: str) -> int:
        """Find a recorded node all of whose frames were run: a frame that was not run is no silent one.

        Parameters
        ----------
        name : str
            The node.

        Returns
        -------
        int
            Its position in ``nodes``.

        Raises
        ------
        InputError
            If the node was not recorded, or one of its frames from 1 on lies before or after the ticks of the run.
        """
        position = self._position(name)
        port = self.nodes[position]
        late = max(1, ceil((self.n_ticks - port.sample_tick) / Fraction(self.period)))  # the first after the run
        at = {i: port.tick(self.period, i) for i in (1, late) if i < self.n_frames}
        missing = [tick for tick in at.items() if not 0 <= tick[1] < self.n_ticks]
        if missing:
            frame, tick = missing[0]
            raise InputError(
                f"{type(self).__name__.lower()}: frame {frame} of node {name} was not run: it is at tick "
                f"{tick}, and {counted(self.n_ticks, 'tick')} were run from tick "
                "0; simulate again "
                f"with node:{name} recorded, or take single spikes"
            )
        return position

    def _position(self, name: str) -> int:
        """Find a recorded node in ``nodes``, or refuse its name."""
        names = [port.name for port in self.nodes]
        if name not in names:
            what = type(self).__name__.lower()
            raise InputError(f"{what}: node {name} was not recorded; recorded nodes are {', '.join(names) or 'none'}")
        return names.index(name)

    def _facts(self) -> dict[str, object]:
        return {"network": self.name, "pattern": self.pattern, "execution": self.execution}
