"""``Experiment``: curves of accuracy over time, as an experiment file asks for them."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.network.network import Network
from neuromap.render.value import Card
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.training.options.training_options import TrainingOptions


@dataclass(frozen=True)
class Published(Card):
    """Accuracies that a publication gives for a curve.

    Attributes
    ----------
    steps : tuple of int
        Update steps of windowed execution since the onset of the stimulus.
    accuracy : tuple of float
        Fraction of test images, read off the published curve.
    """

    steps: tuple[int, ...]
    accuracy: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Curve(Card):
    """A network trained under a pattern.

    Attributes
    ----------
    name : str
        Of files and legends, such as ``"SR streaming"``.
    rollout : Rollout
        Network and pattern, windowed.
    published : Published or None
        What it is held against.
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
        Such as ``"paper/mnist-sr"``.
    title : str
        One line for pages and figures.
    data : str
        Scheme of the images, such as ``"mnist"``; where they lie is given when it runs.
    repetitions : int
        Runs of every curve; repetition k has the seed of the options plus k.
    options : TrainingOptions
        Of all runs.
    curves : tuple of Curve
        In the order of the file.
    source : str
        Where the set-up and the published figures come from.
    starts : tuple of int
        Of images in tracks: start indices within a track, at each of which every curve is measured, with one run of
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
