"""``Exploration``: what was found about the rollouts of a network, as rows and fronts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from neuromap.arrays.frozen import ReadOnly
from neuromap.explorer.answer.objectives import ACCURACY, OBJECTIVES, Objective
from neuromap.explorer.answer.rows import ExploredRow
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.network import Network
from neuromap.render.value import Card, Documented, Drawn, Framed, Paged, Printed
from neuromap.rollout.pattern import RolloutPattern

# ``Deadline``: by when, on which images and with which weights rows are right.


@dataclass(frozen=True)
class TrainedClass(Card):
    """A behaviour class and the network that was trained for it."""

    behaviour_class: int  # its number (:mod:`neuromap.rollout.class_numbers`)
    pattern: str  # name of the pattern under which the network was trained, or its streaming edges
    network: str  # name of the network
    file: str | None  # file that it was read from


@dataclass(frozen=True)
class Deadline(Card):
    """What accuracies of rows are of."""

    seconds: float  # the deadline, in seconds from stimulus onset
    # data, part: name of the set of images, and which part of it
    data: str
    part: str
    # n_images, classes, seed: images and classes of that part; seed of what the encoding of the images draws
    n_images: int
    classes: int
    seed: int
    trained: tuple[TrainedClass, ...]  # the classes whose rows were searched, each with its own weights
    # behaviour classes without trained weights, none of whose rows were searched; ``None`` where classes were not
    # counted
    n_untrained: int | None
    untrained: tuple[tuple[int, str], ...]  # number and a pattern of some of these, as ``--pattern`` takes it

    def file_of(self, behaviour_class: int) -> str | None:
        """File of the network that was trained for a class; ``None`` where there is none."""
        return next((one.file for one in self.trained if one.behaviour_class == behaviour_class), None)


@dataclass(frozen=True)
class Gap(Card):
    """How far the fronts may be from the best that any mapping of any candidate could reach.

    Times are exact; cores and energy of rows that were not mapped are known by proven bounds only.

    Attributes
    ----------
    is_exact : bool
        Whether every row that could be on a front was mapped: then the front is that of all candidates.
    open_rows : int
        Rows that might still be on the front and were not mapped.
    cores_factor : float
        An upper bound on the least factor f such that for every open row there is a mapped one at least as good in
        every time objective with at most f times the cores that any mapping of the open row needs: these are known
        by proven bounds only, of groups of rows with the same times and on any of the chips. 1.0 where the front is
        exact, infinite where no mapped row is as good in time.
    least_cores, core_bound : int or None
        Fewest cores found, and the proven bound on those of every candidate.
    statement : str
        The same as a sentence; where no row fits the reason that most were refused for, with its remedy.
    nothing_fits : bool
        Whether every row was tried and none fits, or none is within the limits: then there is no front, and so none
        that is exact.
    """

    is_exact: bool
    open_rows: int
    cores_factor: float
    least_cores: int | None
    core_bound: int
    statement: str
    nothing_fits: bool = False


@dataclass(frozen=True, eq=False)
class Exploration(ReadOnly, Documented, Framed, Paged, Drawn, Printed):
    """Rows of an exploration, with what they hold for.

    Attributes
    ----------
    network : Network
        The network.
    given : RolloutPattern
        The pattern that its weights are for.
    given_class : int
        Number of its behaviour class.
    classes_are_of_network : bool
        Whether the numbers of all classes depend on the network only. Else those of classes without a named pattern are
        in the order in which they were met, as there are too many valid patterns to enumerate.
    chips : tuple of ChipSpec
        Chips that were tried.
    rows : tuple of ExploredRow
        Every distinct schedule that was mapped, and those open ones that might be on a front (at most a few hundred);
        rows of the front first, then by first response, period and cores.
    n_valid_patterns : int or None
        Valid patterns of the network; ``None`` where they were not counted.
    n_classes : int or None
        Their behaviour classes.
    n_candidates : int
        Candidates that the times were computed of.
    n_rows : int
        Distinct rows among them.
    n_mapped : int
        Rows that were mapped (or refused) in this exploration or taken from the store.
    gap : Gap
        What the fronts are worth.
    stimulus : mapping
        As in a latency report.
    energy_tolerance : float
        Energies that differ by at most this part count as equal on the fronts.
    deadline : Deadline or None
        Where accuracy at a deadline is an objective: by when, on which images, with which weights. Then rows are those
        of the classes with trained weights, and none needs retraining.
    axes : tuple of Objective
        Objectives that were asked for, in their usual order.
    """

    _called = "an exploration"
    _forms = (
        "neuromap.explorer.document",
        "neuromap.explorer.text",
        "neuromap.explorer.draw_front",
        "neuromap.explorer.page",
    )

    network: Network
    given: RolloutPattern
    chips: tuple[ChipSpec, ...]
    rows: tuple[ExploredRow, ...]
    n_valid_patterns: int | None
    n_classes: int | None
    n_candidates: int
    n_rows: int
    n_mapped: int
    gap: Gap
    given_class: int = 1
    classes_are_of_network: bool = True
    stimulus: Mapping[str, Any] = field(default_factory=dict)
    energy_tolerance: float = 0.0
    deadline: Deadline | None = None
    axes: tuple[Objective, ...] = OBJECTIVES

    def _facts(self) -> dict[str, object]:
        return {
            "network": self.network.name,
            "chips": ", ".join(chip.name for chip in self.chips),
            "rows": len(self.rows),
            "on the front": len(self.front),
            "mapped": f"{self.n_mapped} of {self.n_rows}",
            "exact": "yes" if self.gap.is_exact else "no",
        }

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """Axes of the front: accuracy is one with a deadline only."""
        return tuple(o for o in self.axes if o != ACCURACY or self.deadline is not None)

    @property
    def front(self) -> tuple[ExploredRow, ...]:
        """Rows on the front of all classes: retraining is allowed."""
        return tuple(row for row in self.rows if row.on_front)

    @property
    def class_front(self) -> tuple[ExploredRow, ...]:
        """Rows on the front of the given pattern's class: nothing needs retraining."""
        return tuple(row for row in self.rows if row.on_class_front and not row.needs_retraining)
