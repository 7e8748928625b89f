"""``Deadline``: by when, on which images and with which weights rows are right."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.forms.card import Card

__all__ = ["Deadline", "TrainedClass"]


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
