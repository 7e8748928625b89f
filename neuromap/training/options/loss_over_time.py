"""``LossOverTime``: weights of an output's frames in the loss, by the times at which the frames are known.

Frame k of the output, counted from its first response, is known at first response + (k - 1) P update steps after
stimulus onset, as the execution schedules it. Time before the first answer costs as much as a random guess,
ln(classes) nats.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from neuromap.errors import InputError
from neuromap.files.messages import counted, did_you_mean, show_name
from neuromap.options import Option
from neuromap.render.numbers import plain
from neuromap.render.quantities import parse_quantity

if TYPE_CHECKING:
    from neuromap.hardware.chip.chip_spec import ChipSpec
    from neuromap.network.network import Network
    from neuromap.rollout.schedule.rollout import Rollout

FORMS = ("mean", "final", "deadline=TIME", "area=TIME", "by=TIME:PART")
_TIMED = ("deadline", "area", "by")
# Most frames of an output that a loss may count, the limit of training.
MOST_FRAMES = 1_000


@dataclass(frozen=True)
class FrameShares:
    """Weights of an output's frames under one rollout."""

    shares: tuple[float, ...]  # weights of frames from the first response on; with ``silent`` they sum to 1
    silent: float = 0.0  # weight of the time before the first answer
    held: int | None = None  # index of the frame whose accuracy is constrained, if it is known in time
    steps: float = 0.0  # mean time at which these frames are known, in update steps since onset, weighted by shares

    @property
    def is_mean(self) -> bool:
        """Whether all frames count equally and nothing else counts."""
        return not self.silent and self.held is None and len({*self.shares}) == 1


@dataclass(frozen=True)
class LossOverTime:
    """The part of the accuracy over time that the loss counts."""

    kind: str  # mean, final, deadline, area or by
    text: str  # as given
    time: float = 0.0  # in update steps, or in seconds
    in_seconds: bool = False
    part: float = 0.0  # accuracy required at that time

    @classmethod
    def read(cls, text: str, name: str = "loss_over_time") -> LossOverTime:
        """Read one of :data:`FORMS`; messages call it ``name``."""
        kind, equals, rest = str(text).strip().partition("=")
        kinds = [form.partition("=")[0] for form in FORMS]
        if kind not in kinds or bool(equals) != (kind in _TIMED):
            near = did_you_mean(kind, kinds) if kind not in kinds else ""
            raise InputError(f"{name} {show_name(text)}: is not known; choose one of {', '.join(FORMS)}{near}")
        if kind not in _TIMED:
            return cls(kind, kind)
        time, colon, part = rest.partition(":")
        if bool(colon) != (kind == "by"):
            example = "by=3ms:90%" if kind == "by" else f"{kind}=3ms"
            raise InputError(f"{name} {show_name(text)}: is not of the form of {kind}; write it like {example}")
        wanted = parse_quantity(part, "part", f"{name} {kind}:") if colon else 0.0
        if wanted >= 1:
            raise InputError(f"{name} {show_name(text)}: must ask for less than 100 %; no network is always right")
        steps = parse_quantity(time, "s", f"{name} {kind}:")
        return cls(kind, text.strip(), steps, time.strip().endswith("s"), wanted)

    @property
    def is_timed(self) -> bool:
        """Whether a time decides which frames count."""
        return self.kind in _TIMED

    def on(self, chip: ChipSpec | None) -> LossOverTime:
        """Return the same loss with its time in update steps; seconds are divided by the chip's tick."""
        if not self.in_seconds:
            return self
        if chip is None:
            raise InputError(
                f"loss_over_time {self.text}: only a chip says how long an update step takes; give --for CHIP, or the "
                f"time in update steps, such as {self.kind}=3"
            )
        if chip.is_timed:
            raise InputError(
                f"loss_over_time {self.text}: ticks of {chip.name} last as long as their work, which nobody knows "
                f"before training; give the time in ticks, such as {self.kind}=3"
            )
        if chip.delay[0] > 1:
            raise InputError(
                f"loss_over_time {self.text}: the least delay of {chip.name} is {chip.delay[0]} ticks, so an update "
                f"step may take several; give the time in update steps, such as {self.kind}=3"
            )
        steps = Fraction(str(self.time)) / Fraction(str(chip.tick_seconds))
        return LossOverTime(self.kind, self.text, float(steps), False, self.part)

    def require_answer(self, network: Network) -> None:
        """Refuse a time before any pattern answers: no first response is below the shortest path."""
        if self.is_timed and self.time < (least := self._shortest(network)):
            raise InputError(
                f"loss_over_time {self.text}: no pattern of {network.name} answers before {_steps(least)}, the "
                f"shortest path to {network.outputs[0]}; give that time or a later one"
            )

    def require_in_time(self, rollouts: Iterable[Rollout]) -> None:
        """Refuse a time before the first response of a trained pattern."""
        for rollout in rollouts:
            first = rollout.first_response(rollout.network.outputs[0])
            if self.is_timed and self.time < first:
                raise InputError(
                    f"loss_over_time {self.text}: pattern {rollout.pattern.name or rollout.pattern.digits} "
                    f"({rollout.execution}) first answers after {_steps(first)}; give that time or a later one, or "
                    "another pattern"
                )

    def most_frames(self, network: Network, frames: int) -> int:
        """Bound the frames that count under any pattern: one per update step from the shortest path on."""
        if not self.is_timed:
            return frames
        known = math.floor(self.time - self._shortest(network) + 1e-9) + 1
        return max(known, frames) if self.kind == "by" else known

    def _shortest(self, network: Network) -> int:
        import networkx as nx  # lazy: options are read before heavy imports

        output, roots = network.outputs[0], network.roots
        reached = [name for name in roots if nx.has_path(network.graph, name, output)]
        return min(int(nx.shortest_path_length(network.graph, name, output)) for name in reached)

    def shares(self, rollout: Rollout, frames: int) -> FrameShares:
        """Return the weights of the frames of a rollout's output; ``frames`` is how many count if no time decides."""
        first = rollout.first_response(rollout.network.outputs[0])
        period = float(rollout.frame_period)
        known = math.floor((self.time - first) / period + 1e-9) + 1 if self.time >= first else 0
        if known > MOST_FRAMES:
            raise InputError(
                f"loss_over_time {self.text}: {known:,} frames are known by then, {MOST_FRAMES:,} can be trained; give "
                "an earlier time"
            )
        held = None
        if self.kind == "deadline":
            shares, silent = [0.0] * (known - 1) + [1.0] * (known > 0), float(not known)
        elif self.kind == "area":
            starts = [first + k * period for k in range(known)]
            shares = [(min(start + period, self.time) - start) / self.time for start in starts]
            silent = min(float(first), self.time) / self.time
        elif self.kind == "final":
            shares, silent = [0.0] * (frames - 1) + [1.0], 0.0
        else:
            count = max(frames, known)
            shares, silent = [1 / count] * count, 0.0
            held = known - 1 if self.kind == "by" and known else None
        told = sum(share * (first + k * period) for k, share in enumerate(shares)) + silent * self.time
        return FrameShares(tuple(shares), silent, held, told)


def _steps(number: float) -> str:
    return counted(int(number), "update step") if number == int(number) else f"{plain(number)} update steps"


def read_over_time(said: Option, word: str) -> str:
    """Read a loss from the command line."""
    return LossOverTime.read(word, said.flag).text


# All trained frames count equally.
MEAN = LossOverTime("mean", "mean")
