"""``Deadline``: by when, on which images and with which weights rows are right."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.forms.card import Card

__all__ = ["Deadline", "TrainedClass"]


@dataclass(frozen=True)
class TrainedClass(Card):
    """A behaviour class and the network that was trained for it.

    Attributes
    ----------
    behaviour_class : int
        Its number (:mod:`neuromap.rollout.patterns.class_numbers`).
    pattern : str
        Name of the pattern under which the network was trained, or its streaming edges.
    network : str
        Name of the network.
    file : str or None
        File that it was read from.
    """

    behaviour_class: int
    pattern: str
    network: str
    file: str | None


@dataclass(frozen=True)
class Deadline(Card):
    """What accuracies of rows are of.

    Attributes
    ----------
    seconds : float
        The deadline, in seconds from stimulus onset.
    data, part : str
        Name of the set of images, and which part of it.
    n_images, classes, seed : int
        Images and classes of that part; seed of what the encoding of the images draws.
    trained : tuple of TrainedClass
        The classes whose rows were searched, each with its own weights.
    n_untrained : int or None
        Behaviour classes without trained weights, none of whose rows were searched; ``None`` where classes were not
        counted.
    untrained : tuple of (int, str)
        Number and a pattern of some of these, as ``--pattern`` takes it.
    """

    seconds: float
    data: str
    part: str
    n_images: int
    classes: int
    seed: int
    trained: tuple[TrainedClass, ...]
    n_untrained: int | None
    untrained: tuple[tuple[int, str], ...]

    def file_of(self, behaviour_class: int) -> str | None:
        """File of the network that was trained for a class; ``None`` where there is none."""
        return next((one.file for one in self.trained if one.behaviour_class == behaviour_class), None)
