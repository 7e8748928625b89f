"""``SweepSpec``: everything that a sweep of runs is made of, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.forms.card import Card
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.options.options import MappingOptions
from neuromap.network.network import Network
from neuromap.rollout.pattern import RolloutPattern

__all__ = ["SetChip", "SweepSpec"]


@dataclass(frozen=True, eq=False)
class SetChip(Card):
    """A chip of a sweep, and the figures that were set to make it."""

    base: str  # name of the chip whose figures were changed
    figures: Mapping[str, Any]  # what was set, called as in chip files
    chip: ChipSpec  # the chip that they make

    def __post_init__(self) -> None:
        object.__setattr__(self, "figures", ReadOnlyMapping(self.figures))


@dataclass(frozen=True, eq=False)
class SweepSpec(Card):
    """Networks, patterns, executions, chips and seeds, every combination of which is a run.

    Attributes
    ----------
    name : str
        Of the spec file, without its suffix.
    patterns : tuple of RolloutPattern
        Network by network, all patterns of each; valid or not.
    executions : tuple of str
        Time axes, such as ``"windowed"``.
    chips : tuple of SetChip
        Chips outermost, the values of the last figure change first.
    seeds : tuple of int
        Of the random frames.
    n_frames : int
        Random frames of every run, frame 0 included.
    density : float or None
        Probability of a 1 in them; ``None`` where every frame draws its own.
    options : MappingOptions
        How every run is mapped.
    engine : str
        What runs the ticks, on one thread; the results do not depend on it.
    noise_seed : int
        Seed of the neurons' stochastic modes.
    title : str
        One line for people.
    """

    name: str
    patterns: tuple[RolloutPattern, ...]
    executions: tuple[str, ...]
    chips: tuple[SetChip, ...]
    seeds: tuple[int, ...]
    n_frames: int
    density: float | None
    options: MappingOptions
    engine: str = "fast"
    noise_seed: int = 0
    title: str = ""

    @property
    def networks(self) -> tuple[Network, ...]:
        """The networks, each once."""
        return tuple({id(pattern.network): pattern.network for pattern in self.patterns}.values())

    @property
    def n_runs(self) -> int:
        """Combinations; runs are fewer where two of them are the same."""
        return len(self.patterns) * len(self.executions) * len(self.chips) * len(self.seeds)

    def _facts(self) -> dict[str, object]:
        return {
            "name": self.name,
            "networks": ", ".join(network.name for network in self.networks),
            "patterns": len(self.patterns),
            "executions": ", ".join(self.executions),
            "chips": len(self.chips),
            "seeds": len(self.seeds),
            "runs": self.n_runs,
        }
