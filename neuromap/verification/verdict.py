"""Results of comparing chip and reference."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.arrays.times import Time
from neuromap.files.messages import counted
from neuromap.render.value import Card


@dataclass(frozen=True)
class Mismatch(Card):
    """One neuron of one output frame where chip and reference differ."""

    node: str  # output node
    frame: int  # frame
    neuron: int  # neuron within the node
    # chip, reference: whether the neuron spikes on the chip, and in the reference; for graded nodes, the values
    chip: bool | int
    reference: bool | int
    tick: int  # tick at which the frame leaves the chip


@dataclass(frozen=True)
class Stray(Card):
    """A spike of an output neuron at a tick that belongs to no frame."""

    node: str  # output node
    tick: int  # when it left the chip
    neuron: int  # neuron within the node


@dataclass(frozen=True)
class Verification(Card):
    """Result of comparing chip and reference.

    Attributes
    ----------
    verified : bool
        Whether chip and reference agree in every output neuron of every frame, no spike is stray, the program keeps the
        rules of its chip, and its frame period is that of the rollout.
    n_frames : int
        Frames of the stimulus, frame 0 included.
    outputs : tuple of str
        Output nodes that were compared.
    n_compared : int
        Values compared: frames >= 1 times output neurons.
    n_spikes : int
        Spikes, or messages, of the reference among them; 0 means that a silent chip would have passed too.
    n_mismatches : int
        Values that differ.
    first_mismatch : Mismatch or None
        The mismatch with the earliest tick.
    n_strays : int
        Stray spikes.
    first_stray : Stray or None
        The earliest stray spike.
    n_ticks : int
        Simulated ticks.
    n_violations : int
        Violations of the rules of the chip and of mapped programs, as
        :func:`neuromap.hardware.checker.check_program` lists them (at most 1000 per rule and array).
    first_violation : str or None
        The first violation in one line.
    frame_period_ticks : int or Fraction
        Frame period of the program.
    rollout_period_ticks : int or Fraction or None
        Frame period of the rollout, in ticks of the program. ``None`` if it cannot be compared: splitters or partial
        sums turned the program's schedule into one in ticks, while the rollout's is in update steps.
    is_graded : bool
        Whether nodes send values, which are compared instead of spikes.
    """

    verified: bool
    n_frames: int
    outputs: tuple[str, ...]
    n_compared: int
    n_spikes: int
    n_mismatches: int
    first_mismatch: Mismatch | None
    n_strays: int
    first_stray: Stray | None
    n_ticks: int
    n_violations: int
    first_violation: str | None
    frame_period_ticks: Time
    rollout_period_ticks: Time | None
    is_graded: bool = False

    def _facts(self) -> dict[str, object]:
        return {"verified": "yes" if self.verified else "no", "result": self.message}

    @property
    def period_fits(self) -> bool:
        """Whether the program's frame period equals the rollout's, where they can be compared."""
        return self.rollout_period_ticks in (None, self.frame_period_ticks)

    @property
    def message(self) -> str:
        """The result in one line."""
        sent = "message" if self.is_graded else "spike"
        if self.verified:
            does = "sends a value" if self.is_graded else "spikes"
            silent = f"; no output neuron {does}, try other frames" if self.n_spikes == 0 else ""
            return (
                f"chip equals reference in {counted(self.n_compared, 'value')} of {', '.join(self.outputs)} "
                f"(frames 1 to {self.n_frames - 1}, {counted(self.n_spikes, sent)}, "
                f"{counted(self.n_ticks, 'tick')}), "
                f"no stray {sent}, no rule of the chip broken{silent}"
            )
        parts = []
        if not self.period_fits:
            ticks = counted(self.frame_period_ticks, "tick")
            parts.append(f"frame period of the program is {ticks}, that of the rollout {self.rollout_period_ticks}")
        if self.first_violation is not None:
            rules = "rule of the chip is" if self.n_violations == 1 else "rules of the chip are"
            parts.append(f"{self.n_violations} {rules} broken, first {self.first_violation}")
        if (m := self.first_mismatch) is not None:
            parts.append(
                f"{self.n_mismatches} of {counted(self.n_compared, 'value')} differ, first node {m.node}, frame "
                f"{m.frame}, neuron "
                f"{m.neuron}, tick {m.tick}: chip {int(m.chip)}, reference {int(m.reference)}"
            )
        if (s := self.first_stray) is not None:
            spikes = sent if self.n_strays == 1 else f"{sent}s"
            parts.append(f"{self.n_strays} stray {spikes}, first node {s.node}, neuron {s.neuron}, tick {s.tick}")
        return "; ".join(parts)
