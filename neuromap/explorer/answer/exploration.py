"""``Exploration``: the rollouts of a network, as rows and fronts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from neuromap.arrays.frozen import ReadOnly
from neuromap.explorer.answer.limits import ACCURACY, OBJECTIVES, ExploredRow, Objective
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.network import Network
from neuromap.render.value import Card, Documented, Drawn, Framed, Paged, Printed
from neuromap.rollout.pattern import RolloutPattern

# ``Deadline``: the time, images and weights of accuracies.


@dataclass(frozen=True)
class TrainedClass(Card):
    """A behaviour class and the network that was trained for it."""

    behaviour_class: int  # its number (:mod:`neuromap.rollout.class_numbers`)
    pattern: str  # name of the pattern under which the network was trained, or its streaming edges
    network: str  # name of the network
    file: str | None  # file it was read from


@dataclass(frozen=True)
class Deadline(Card):
    """What accuracies of rows refer to."""

    seconds: float  # the deadline, in seconds from stimulus onset
    # data, part: name of the image set, and the part of it
    data: str
    part: str
    # n_images, classes, seed: numbers of images and classes in that part; seed of the encoding of the images
    n_images: int
    classes: int
    seed: int
    trained: tuple[TrainedClass, ...]  # the classes whose rows were searched, each with its own weights
    # number of behaviour classes without trained weights, whose rows were not searched; ``None`` if classes were not
    # counted
    n_untrained: int | None
    untrained: tuple[tuple[int, str], ...]  # of some of these, number and a pattern as ``--pattern`` takes it

    def file_of(self, behaviour_class: int) -> str | None:
        """File of the network that was trained for a class; ``None`` if there is none."""
        return next((one.file for one in self.trained if one.behaviour_class == behaviour_class), None)


@dataclass(frozen=True)
class Gap(Card):
    """How far the fronts may be from the best possible over all mappings of all candidates.

    Times are exact; for cores and energy of rows that were not mapped, only proven bounds are known.

    Attributes
    ----------
    is_exact : bool
        Whether every row that could be on a front was mapped: then the front is that of all candidates.
    open_rows : int
        Number of rows that might still be on the front and were not mapped.
    cores_factor : float
        An upper bound on the least factor f such that for every open row there is a mapped one at least as good in
        every time objective with at most f times the cores that any mapping of the open row needs: these are known
        by proven bounds only, of groups of rows with the same times and on any of the chips. 1.0 if the front is
        exact, infinite if no mapped row is as good in time.
    least_cores, core_bound : int or None
        Fewest cores found, and the proven lower bound for all candidates.
    statement : str
        The same as a sentence; if no row fits, the most frequent reason for refusal, with its remedy.
    nothing_fits : bool
        Whether every row was tried and none fits, or none is within the limits: then there is no front, and so no exact
        one.
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
    """Result of an exploration: rows, fronts and their context.

    Attributes
    ----------
    network : Network
        The network.
    given : RolloutPattern
        The pattern that its weights were trained for.
    given_class : int
        Number of its behaviour class.
    classes_are_of_network : bool
        Whether the numbers of all classes depend on the network only. Else classes without a named pattern are numbered
        in the order in which they were met, as there are too many valid patterns to enumerate.
    chips : tuple of ChipSpec
        Chips that were tried.
    rows : tuple of ExploredRow
        Every row that was mapped or refused, and at most a few hundred others, preferably open ones; rows on the front
        come first.
    n_valid_patterns : int or None
        Number of valid patterns of the network; ``None`` if not counted.
    n_classes : int or None
        Number of their behaviour classes; ``None`` if not counted.
    n_candidates : int
        Number of candidates whose times were computed.
    n_rows : int
        Number of distinct rows among them.
    n_mapped : int
        Number of rows that were mapped (or refused) in this exploration, or taken from the store.
    gap : Gap
        How far the fronts may be from the best possible.
    stimulus : mapping
        As in a latency report.
    energy_tolerance : float
        Energies that differ by at most this part count as equal on the fronts.
    deadline : Deadline or None
        If accuracy at a deadline is an objective: the deadline, images and weights. Then rows are those of the classes
        with trained weights, and none needs retraining.
    axes : tuple of Objective
        Objectives asked for, in their usual order.
    """

    _called = "an exploration"
    _forms = (
        "neuromap.explorer.document",
        "neuromap.explorer.text",
        "neuromap.explorer.draw_front",
        "neuromap.explorer.document",
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
        """Axes of the front; accuracy is one only with a deadline."""
        return tuple(o for o in self.axes if o != ACCURACY or self.deadline is not None)

    @property
    def front(self) -> tuple[ExploredRow, ...]:
        """Rows on the front of all classes, retraining allowed."""
        return tuple(row for row in self.rows if row.on_front)

    @property
    def class_front(self) -> tuple[ExploredRow, ...]:
        """Rows on the front of the given pattern's class, without retraining."""
        return tuple(row for row in self.rows if row.on_class_front and not row.needs_retraining)
