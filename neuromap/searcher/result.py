"""``SearchResult``: the points found by a search, and the outcome for every class."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from neuromap.network.network import Network
from neuromap.render.value import Card, Documented, Drawn, Paged, Printed, Tabled

ClassStatus = Literal["trained", "dropped", "excluded", "does not fit"]


class AccuracyAt(NamedTuple):
    """Accuracy of the last frame known at a moment."""

    seconds: float  # from stimulus onset
    accuracy: float  # fraction of the images


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
        Number of its class; 1 is that of streaming.
    changed : tuple of str
        Edges whose R differs from the previous point of its network, or from streaming for the first one.
    cores : int
        Cores of the mapped program.
    energy_joules : float or None
        Per frame in steady operation; ``None`` if energy was not an objective, or the chip has no figures.
    first_response_seconds, sampling_frequency_hz : float
        As mapped.
    curve : tuple of AccuracyAt
        At the moments of the search from its first response on, on validation images.
    best_at : tuple of float
        Moments, in seconds, at which it is on the front.
    part : str
        Images that were run on the chip: ``"test"`` if there are any, else ``"validation"``.
    n_images : int
        Number of these images.
    on_chip : tuple of AccuracyAt
        Accuracy of the chip on these images, frame by frame.
    agrees : bool
        Whether chip and PyTorch model name the same class for each of these images in each of these frames.
    verified, proven : bool or None
        As in :class:`neuromap.explorer.answer.limits.ExploredRow`.
    seed, epochs : int
        Seed of its training; epochs of its rungs, without the trunk.
    file : str
        The network file; empty if nothing was kept.
    map_command : str
        The command that maps it again.
    network : Network
        The network with its weights; its name is that of the network searched.
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
    """Outcome for a behaviour class or, for streams, for its rollouts of one frame period.

    Attributes
    ----------
    network : str
        Name of its network.
    number : int
        Class number in this network; 1 is that of streaming.
    pattern : str
        Pattern under which its network was trained.
    n_patterns : int
        Number of its known patterns.
    frame_period_steps : float or None
        For streams: frame period of all its rollouts in update steps, at which the stream is sampled.
    status : {"trained", "dropped", "excluded", "does not fit"}
        ``"excluded"``: not trained, because no training could change what excludes it.
    why : str
        Why it was dropped or excluded; else empty.
    neighbour : int or None
        Number of the class from which it differs in the fewest edges; ``None`` for the first.
    changed : tuple of str
        These edges.
    epochs : int
        Epochs of its training for each seed, without the trunk.
    accuracy, spread : tuple of float or None
        At every moment of the search, for its best row after the last rung: mean and standard deviation over seeds;
        ``None`` if there is no answer yet, or (spread) a single seed.
    """

    network: str
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
    """Result of a search: the front, and the outcome for every class.

    Attributes
    ----------
    network, chip, data : str
        Names; those of several networks with commas.
    deadline : float or None
        In seconds; ``None`` if all moments count.
    moments : tuple of float
        In seconds from stimulus onset: the deadline, or moments at which answers arrive.
    max_cores : int or None
        The limit on cores, if any.
    objectives : tuple of str
        Objectives weighed against accuracy.
    seeds : tuple of int
        Seeds of the trainings.
    n_images : int
        Validation images, on which classes are compared.
    n_classes : int or None
        Behaviour classes of all networks, for streams split by frame period; ``None`` if not counted.
    budget, spent : int
        Epochs for each seed: allowed, and trained.
    full_epochs : int
        Epochs of a full training of one class.
    margin : float
        Number of standard errors by which a class must be beaten to be dropped.
    points : tuple of SearchPoint
        The front, in the order of the moments at which they are best.
    classes : tuple of SearchedClass
        All classes searched, by network and number.
    is_exact : bool
        Whether every rollout of the trained classes that could be on the front was mapped.
    folder : str
        Where all files are kept; empty if none are.
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
        """Number of classes not listed, of which nothing is known; ``None`` if classes were not counted."""
        return None if self.n_classes is None else self.n_classes - len(self.classes)

    def best(self, seconds: float | None = None) -> SearchPoint:
        """Most accurate point at a moment of the search, by default the last; ties go to the fewest cores."""
        at = self.moments[-1]
        if seconds is not None:
            at = max((m for m in self.moments if m <= seconds * (1 + 1e-9)), default=self.moments[0])

        def rank(point: SearchPoint) -> tuple[float, int, float]:
            return dict(point.curve).get(at, 0.0), -point.cores, -point.first_response_seconds

        return max(self.points, key=rank)

    def _facts(self) -> dict[str, object]:
        return {
            "network": f"{self.network} on {self.chip}",
            "data": self.data,
            "points": len(self.points),
            "classes": len(self.classes),
            "epochs": f"{self.spent} of {self.budget}",
        }
