"""``Experiment``: curves of accuracy over time to measure, as defined in an experiment file."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.network.network import Network
from neuromap.render.value import Card
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.training.options.training_options import TrainingOptions

# File of an experiment's folder.
RESULTS = "results"


@dataclass(frozen=True)
class Published(Card):
    """Published accuracies of a curve.

    Attributes
    ----------
    steps : tuple of int
        Update steps of windowed execution since stimulus onset.
    accuracy : tuple of float
        Accuracy on test images, read off the published curve.
    """

    steps: tuple[int, ...]
    accuracy: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Curve(Card):
    """A network trained under a pattern.

    Attributes
    ----------
    name : str
        Name in files and legends, such as ``"SR streaming"``.
    rollout : Rollout
        Network and pattern, windowed.
    published : Published or None
        Published accuracies to compare with.
    """

    name: str
    rollout: Rollout
    published: Published | None = None

    @property
    def network(self) -> Network:
        """The network."""
        return self.rollout.network


@dataclass(frozen=True, eq=False)
class Experiment(Card):
    """Several curves, each trained several times.

    Attributes
    ----------
    name : str
        Name, such as ``"paper/mnist-sr"``.
    title : str
        One line for pages and figures.
    data : str
        Scheme of the images, such as ``"mnist"``; their location is given when it runs.
    repetitions : int
        Number of runs per curve; repetition k adds k to the seed of the options.
    options : TrainingOptions
        Options of all runs.
    curves : tuple of Curve
        In the order of the file.
    source : str
        Source of the set-up and the published figures.
    starts : tuple of int
        For images in tracks: start indices within a track at which every curve is measured, with one run of
        consecutive pictures for every track that is long enough. Empty: all runs are measured together.
    """

    name: str
    title: str
    data: str
    repetitions: int
    options: TrainingOptions
    curves: tuple[Curve, ...]
    source: str = ""
    starts: tuple[int, ...] = ()
