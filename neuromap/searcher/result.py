"""``SearchResult``: the points that a search ends with, and what became of every class."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from neuromap.network.network import Network
from neuromap.render.value import Card, Documented, Drawn, Paged, Printed, Tabled

ClassStatus = Literal["trained", "dropped", "excluded", "does not fit"]


class AccuracyAt(NamedTuple):
    """Accuracy of the last frame that is known at a moment."""

    seconds: float  # from stimulus onset
    accuracy: float  # part of the validation images


@dataclass(frozen=True, eq=False)
class SearchPoint(Card):
    """A network under a rollout that no other point beats.

    Attributes
    ----------
    pattern, execution : str
        The rollout.
    values : tuple of int
        R of every edge.
    behaviour_class : int
        Number of its class, 1 being streaming's.
    changed : tuple of str
        Edges whose R is another than in the point before; of the first point than in streaming.
    cores : int
        Of the mapped program.
    energy_joules : float or None
        Per frame in steady operation; ``None`` where energy was no objective, or the chip has no figures.
    first_response_seconds, sampling_frequency_hz : float
        As mapped.
    curve : tuple of AccuracyAt
        Over the moments of the search, on validation images; from its first response on.
    best_at : tuple of float
        Moments, in seconds, at which it is on the front.
    part : str
        Images that were run through the chip: ``"test"`` where there are some, else ``"validation"``.
    n_images : int
        How many.
    on_chip : tuple of AccuracyAt
        Accuracy on these, as the chip gave it, frame by frame.
    agrees : bool
        Whether chip and PyTorch model name the same class for each of these images in each of these frames.
    verified, proven : bool or None
        As in :class:`neuromap.explorer.answer.rows.ExploredRow`.
    seed, epochs : int
        Of its training; epochs of its rungs, without those of the trunk.
    file : str
        The network file; empty where nothing was kept.
    map_command : str
        The command that maps it again.
    network : Network
        With its weights.
    """

    pattern: str
    execution: str
    values: tuple[int, ...]
    behaviour_class: int
    changed: tuple[str, ...]
    cores: int
    energy_joules: float | None
    first_response_seconds: float
    sampling_frequency_hz: float
    curve: tuple[AccuracyAt, ...]
    best_at: tuple[float, ...]
    part: str
    n_images: int
    on_chip: tuple[AccuracyAt, ...]
    agrees: bool
    verified: bool | None
    proven: bool | None
    seed: int
    epochs: int
    file: str
    map_command: str
    network: Network = field(repr=False)


@dataclass(frozen=True)
class SearchedClass(Card):
    """What became of a behaviour class; of streams, of its rollouts of one frame period.

    Attributes
    ----------
    number : int
        1 is streaming's.
    pattern : str
        Under which its network was trained.
    n_patterns : int
        Patterns of it that are known.
    frame_period_steps : float or None
        Of streams: update steps from frame to frame in all its rollouts, at which the stream is sampled.
    status : {"trained", "dropped", "excluded", "does not fit"}
        ``"excluded"``: it was not trained, since no training can change what excludes it.
    why : str
        What dropped or excluded it; else empty.
    neighbour : int or None
        Number of the class from which fewest of its edges differ; ``None`` for the first.
    changed : tuple of str
        These edges.
    epochs : int
        That it was trained, for each seed, without those of the trunk.
    accuracy, spread : tuple of float or None
        At every moment of the search, of its best row at the last rung: mean over the seeds, and standard deviation
        between them; ``None`` where there is no answer yet, or a single seed.
    """

    number: int
    pattern: str
    n_patterns: int
    frame_period_steps: float | None
    status: ClassStatus
    why: str
    neighbour: int | None
    changed: tuple[str, ...]
    epochs: int
    accuracy: tuple[float | None, ...]
    spread: tuple[float | None, ...]


@dataclass(frozen=True, eq=False)
class SearchResult(Documented, Tabled, Paged, Drawn, Printed):
    """What a search found: the front, and what became of every class.

    Attributes
    ----------
    network, chip, data : str
        Names.
    deadline : float or None
        In seconds; ``None`` where all moments count.
    moments : tuple of float
        In seconds from stimulus onset: the deadline, or moments at which answers come.
    max_cores : int or None
        As asked.
    objectives : tuple of str
        What is weighed against accuracy.
    seeds : tuple of int
        Seeds of trainings.
    n_images : int
        Validation images, on which classes are compared.
    n_classes : int or None
        Behaviour classes of the network, of streams split by frame period; ``None`` where they were not counted.
    budget, spent : int
        Epochs for each seed: allowed, and trained.
    full_epochs : int
        Epochs of a full training of one class.
    margin : float
        Standard errors by which a class must be beaten to be dropped.
    points : tuple of SearchPoint
        The front, in the order of the moments at which they are best.
    classes : tuple of SearchedClass
        All that were searched, by number.
    is_exact : bool
        Whether every rollout of the trained classes that could be on the front was mapped.
    folder : str
        Where all is kept; empty where nothing is.
    """

    network: str
    chip: str
    data: str
    deadline: float | None
    moments: tuple[float, ...]
    max_cores: int | None
    objectives: tuple[str, ...]
    seeds: tuple[int, ...]
    n_images: int
    n_classes: int | None
    budget: int
    spent: int
    full_epochs: int
    margin: float
    points: tuple[SearchPoint, ...] = field(repr=False)
    classes: tuple[SearchedClass, ...] = field(repr=False)
    is_exact: bool
    folder: str

    _called = "a search"
    _forms = ("neuromap.searcher.forms",)

    @property
    def open_classes(self) -> int | None:
        """Classes that were not listed: nothing is known of them; ``None`` where classes were not counted."""
        return None if self.n_classes is None else self.n_classes - len(self.classes)

    def best(self, seconds: float | None = None) -> SearchPoint:
        """Give the point that is right most often at a moment of the search, by default the last; of fewest cores."""
        at = (
            self.moments[-1]
            if seconds is None
            else max((m for m in self.moments if m <= seconds * (1 + 1e-9)), default=self.moments[0])
        )
        return max(self.points, key=lambda point: (_known_at(point, at), -point.cores, -point.first_response_seconds))

    def _facts(self) -> dict[str, object]:
        return {
            "network": f"{self.network} on {self.chip}",
            "data": self.data,
            "points": len(self.points),
            "classes": len(self.classes),
            "epochs": f"{self.spent} of {self.budget}",
        }


def _known_at(point: SearchPoint, seconds: float) -> float:
    return max((one.accuracy for one in point.curve if one.seconds == seconds), default=0.0)
