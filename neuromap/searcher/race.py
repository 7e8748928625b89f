"""``search``: classes trained by successive halving, their rollouts mapped, and each point held against its model."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from neuromap.accuracy.decision import decide
from neuromap.accuracy.measure import MOST_FRAMES, ImageFrames, accuracy_on_chip
from neuromap.datasets.tracks import ImageSet
from neuromap.errors import DoesNotFitError, InputError
from neuromap.explorer.answer.advice import map_command, most_frequent_refusal
from neuromap.explorer.answer.exploration import Exploration
from neuromap.explorer.answer.limits import Limits
from neuromap.explorer.answer.objectives import ACCURACY, CORES, ENERGY, OBJECTIVES, Objective
from neuromap.explorer.answer.quantities import with_unit
from neuromap.explorer.answer.rows import ExploredRow
from neuromap.explorer.candidates.trained_spaces import TrainedNetwork
from neuromap.explorer.explore import explore
from neuromap.explorer.search.deadline_accuracy import DeadlineAccuracy
from neuromap.explorer.search.measurements import options_of
from neuromap.files.argument_checks import needs
from neuromap.files.messages import counted
from neuromap.files.whole_file import write_whole
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.network.build import require_frames
from neuromap.network.network import Network
from neuromap.options import keywords_of
from neuromap.rollout.behaviour import class_key
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.searcher.classes import ClassPlace, least_first_response, list_classes
from neuromap.searcher.halving import Plan, Standing, beaten_by, default_budget, plan_of
from neuromap.searcher.options import SearchOptions
from neuromap.searcher.result import AccuracyAt, ClassStatus, Search, SearchedClass, SearchPoint
from neuromap.searcher.rung import TRAININGS, Rung, RungSetting, Trainings, claim_folder
from neuromap.simulation.run.simulate_batch import simulate_batch
from neuromap.training.network_training import require_parts
from neuromap.training.options.node_settings import choose_for_chip
from neuromap.training.options.training_options import HardwareOptions, chosen_options, require_torch

_AGAIN = 0.5
"""Learning rate of trainings that start from weights, as a part of that of the first."""
_MOST_MOMENTS, _FRAMES = 8, 4
"""Without a deadline: moments at which classes are compared, and frames of every row that they cover."""
_OF_PLAN = {"epochs", "learning_rate", "seed"}
"""Options of training that differ from rung to rung."""


@keywords_of(SearchOptions)
def search(network: Network, asked: SearchOptions) -> Search:
    """Search patterns and weights together: one network for each behaviour class, trained by successive halving.

    The network of streaming's class is trained from drawn weights, those of all other classes start from the weights
    of the class from which fewest edges differ: weights have equal shapes under every pattern. A budget of epochs is
    shared out over rungs; after each, classes are dropped that another beats beyond the margin in all they could be
    chosen for. Rollouts of the classes that stay are mapped and verified as :func:`neuromap.explore` does, and each
    point of the front is run on all images.

    Parameters
    ----------
    network : Network
        With shapes; weights are not needed, and not used.
    chip : chip
        Name of a packaged chip, chip file, or chip.
    images : mapping of str to ImageSet
        ``"train"`` and ``"validation"``; if ``"test"`` is there, points are run on it, else on validation.
    deadline : float, optional
        Seconds from stimulus onset. Without one rollouts are compared at every moment at which an answer may come, and
        the front has all that are best at some of them.
    max_cores : int, optional
        Cores, at most.
    objectives : sequence of str
        What is weighed against accuracy: ``"cores"``, ``"energy"``, and times as :func:`neuromap.explore` calls them.
    executions : sequence of str
        As there.
    budget : int, optional
        Epochs of all trainings together, for each seed. By default a fifth of what full trainings of all classes take.
    seeds : sequence of int
        Of trainings. Of several, classes are compared by their means, and the network of the best one is kept.
    sample : int, optional
        How many classes are searched, of a network that has many.
    margin : float
        Standard errors of an accuracy by which it must be beaten.
    training : mapping of str to Any, optional
        Options of training and of training for a chip, as :func:`neuromap.training.train_for_chip` takes them;
        ``epochs`` are those of a full training.
    folder : str or path, optional
        Where trainings, mapped rows and networks are kept; a search that was killed goes on with them.
    processes : int
        Trainings and mappings at the same time; a script that asks for more than one needs
        ``if __name__ == "__main__"``. The result is the same for every number.
    scheduler : str, optional
        Address of the scheduler of a Dask cluster, whose workers train and map instead.
    progress : callable
        ``progress(text, epochs done, epochs)``.

    Returns
    -------
    Search
        The front, and what became of every class.

    Raises
    ------
    InputError
        If images, options and network do not fit each other, the deadline is before any response, the network has too
        many classes, or the folder is of another search.
    DoesNotFitError
        If nothing fits the chip, or keeps the limit on cores.
    NotSupportedError
        If PyTorch is not installed, or a cluster is asked for and Dask is not.
    TrainingError
        If a loss is no number.
    NeuromapError
        If workers cannot be had; what was done is kept in the folder.
    """
    needs("search", network, Network)
    require_frames(network, "search", "its one rollout is streaming, a frame a tick")
    require_torch("search")
    images = _images(asked)
    chip, training = load_chip(asked.chip), dict(asked.training or {})
    named = {f.name: training[f.name] for f in fields(HardwareOptions) if f.name in training}
    chosen = choose_for_chip(network, chip, images["train"], HardwareOptions(**named)).network
    size, shape = len(images["train"].images), images["train"].shape
    full, *_ = chosen_options(training, size, shape, 1, graded=chosen.is_graded)
    listed = list_classes(network, asked.sample, asked.seeds[0])
    entrants = _entrants(listed.places, asked, chip)
    n_live = sum(one.is_live for one in entrants)
    budget = default_budget(n_live, full.epochs) if asked.budget is None else asked.budget
    plan = plan_of(budget, n_live, full.epochs)
    with ExitStack() as opened:
        folder = Path(opened.enter_context(TemporaryDirectory()) if asked.folder is None else asked.folder)
        held = {part: images[part] for part in ("train", "validation")}
        rest = {name: value for name, value in training.items() if name not in _OF_PLAN}
        setting = RungSetting(network, chip, held, rest, folder / TRAININGS)
        digest = claim_folder(folder, setting)
        race = _Race(entrants, asked, chip, folder, images, plan, full.learning_rate, digest)
        with Trainings(setting, asked.workers, race.tell) as trainings:
            race.run(trainings)
        points, is_exact = race.points()
        found = Search(
            network=network.name,
            chip=chip.name,
            data=images["train"].name,
            deadline=asked.deadline,
            moments=race.moments,
            max_cores=asked.max_cores,
            objectives=tuple(one.title for one in race.costs),
            seeds=tuple(asked.seeds),
            n_images=len(images["validation"].images),
            n_classes=listed.n_classes,
            budget=budget,
            spent=race.spent,
            full_epochs=full.epochs,
            margin=asked.margin,
            points=points,
            classes=tuple(race.described(one) for one in sorted(entrants, key=lambda one: one.place.number)),
            is_exact=is_exact,
            folder="" if asked.folder is None else str(folder),
        )
        if asked.folder is not None:
            write_whole(folder / "search.json", found.to_json())
    return found


def _images(asked: SearchOptions) -> Mapping[str, ImageSet]:
    if asked.images is None:
        raise InputError("search: no images are given; give images with train and validation (--data SOURCE)")
    require_parts(asked.images)
    for part in ("train", "validation"):
        if part not in asked.images:
            raise InputError(f"search: images have no part {part}; classes are trained on train, compared on validation")
        needs(f"search: images, {part}", asked.images[part], ImageSet)
    return asked.images


# Who is in the race: the classes, and what is known of each.


@dataclass(eq=False)
class _Entrant:
    """A class in the race."""

    place: ClassPlace
    parent: _Entrant | None  # whose weights it starts from
    status: ClassStatus = "trained"
    why: str = ""
    epochs: int = 0
    taken: int = 0  # epochs behind the weights that it started from
    rungs: dict[int, Rung] = field(default_factory=dict)  # the last ones, by seed
    networks: dict[int, Network] = field(default_factory=dict)
    rows: list[ExploredRow] = field(default_factory=list)  # as mapped with the weights of the trunk
    accuracy: dict[int, np.ndarray] = field(default_factory=dict)  # by seed: (rows, moments), NaN without an answer

    @property
    def is_live(self) -> bool:
        return self.status == "trained"

    @property
    def name(self) -> str:
        pattern = self.place.pattern
        return pattern.name or pattern.digits

    def leave(self, status: ClassStatus, why: str) -> None:
        self.status, self.why = status, why

    def mean(self) -> np.ndarray:
        """Accuracies of its rows, means over the seeds."""
        return np.mean(list(self.accuracy.values()), axis=0)

    def best(self) -> tuple[list[float | None], list[float | None]]:
        """Mean and spread of its best row at every moment."""
        means, spreads = list[float | None](), list[float | None]()
        for k, column in enumerate(self.mean().T if self.accuracy else ()):
            is_known = np.isfinite(column).any()
            row = int(np.nanargmax(column)) if is_known else 0
            each = [float(found[row, k]) for found in self.accuracy.values()]
            means.append(fmean(each) if is_known else None)
            spreads.append(stdev(each) if is_known and len(each) > 1 else None)
        return means, spreads

    def best_seed(self) -> int:
        """The seed whose network is kept: the most accurate over all rows and moments."""
        return max(self.accuracy, key=lambda seed: (float(np.nan_to_num(self.accuracy[seed]).mean()), -seed))


def _entrants(places: Sequence[ClassPlace], asked: SearchOptions, chip: ChipSpec) -> list[_Entrant]:
    """Enter all classes, but for those whose times no training can mend."""
    found, earliest = list[_Entrant](), list[float]()
    for place in places:
        parent = None if place.neighbour is None else found[place.neighbour]
        while parent is not None and not parent.is_live:
            parent = parent.parent
        entrant = _Entrant(place, parent)
        found.append(entrant)
        steps = least_first_response(place, asked.executions)
        if steps is None:
            entrant.leave("excluded", "no execution that is asked for allows its cycles")
            continue
        least = steps * chip.tick_seconds
        if chip.is_timed or asked.deadline is None:
            continue
        earliest.append(least)
        if least > asked.deadline * (1 + 1e-9):
            entrant.leave("excluded", f"answers after {with_unit(least, 's')} at the earliest, whatever its weights")
    if not any(one.is_live for one in found):
        if not earliest:
            raise InputError(f"executions {', '.join(asked.executions)}: no pattern allows them; name others")
        wanted, least_of_all = with_unit(asked.deadline or 0.0, "s"), with_unit(min(earliest), "s")
        raise InputError(
            f"deadline {wanted}: is before the first response of every rollout, {least_of_all} at the earliest; give "
            f"{least_of_all} or more"
        )
    return found


class _Race:
    """Rungs, one after the other, and what is decided between them."""

    def __init__(
        self,
        entrants: Sequence[_Entrant],
        asked: SearchOptions,
        chip: ChipSpec,
        folder: Path,
        images: Mapping[str, ImageSet],
        plan: Plan,
        learning_rate: float,
        digest: str,
    ) -> None:
        self._entrants, self._asked, self._chip, self._folder = entrants, asked, chip, folder
        self._images, self._plan, self._rate, self._digest = images, plan, learning_rate, digest
        self.costs = asked.costs if asked.max_cores is None or CORES in asked.costs else (*asked.costs, CORES)
        self.moments: tuple[float, ...] = ()
        self.spent = 0
        self._told = 0
        self._trunk: Network | None = None

    @property
    def live(self) -> list[_Entrant]:
        return [one for one in self._entrants if one.is_live]

    def tell(self, rung: Rung) -> None:
        self._told += rung.epochs
        self._asked.progress("training", self._told, (self._plan.trunk + sum(self._plan.rungs)) * len(self._asked.seeds))

    def run(self, trainings: Trainings) -> None:
        """Train the trunk, then rung after rung the classes that are still in."""
        trunk = self.live[0]
        self._train(trainings, [trunk], self._plan.trunk)
        self._map_with_first_weights(trunk)
        left_over = 0
        for number in range(len(self._plan.rungs)):
            live = self.live
            epochs = self._plan.epochs(number, len(live), left_over)
            left_over += self._plan.rungs[number] - epochs * len(live)
            if epochs:
                self._train(trainings, live, epochs)
            self._measure()
            if len(live) > 1:
                self._drop(number)
        if not self._plan.rungs:
            self._measure()

    def _train(self, trainings: Trainings, entrants: Sequence[_Entrant], epochs: int) -> None:
        """Train classes from their own weights, or from their neighbours' where they have none."""
        rungs, starts = dict[tuple[int, int], Rung](), dict[tuple[int, int], Rung]()
        before = {one.place.number: dict(one.rungs) for one in entrants}
        for one in entrants:
            if not one.rungs and one.parent is not None:
                one.taken = one.parent.taken + one.parent.epochs
            for seed in self._asked.seeds:
                key, start = (one.place.number, seed), before[one.place.number].get(seed)
                if start is None and one.parent is not None:
                    start = one.parent.rungs[seed]
                rate = self._rate if start is None else self._rate * _AGAIN
                number = 0 if start is None else start.number + 1
                lineage = self._digest if start is None else start.name
                one.rungs[seed] = rungs[key] = Rung(one.place.pattern.values, seed, number, epochs, rate, lineage)
                if start is not None:
                    starts[key] = start
        for (number, seed), network in trainings.train(rungs, starts).items():
            next(one for one in entrants if one.place.number == number).networks[seed] = network
        for one in entrants:
            one.epochs += epochs
        self.spent += epochs * len(entrants)

    def _map_with_first_weights(self, trunk: _Entrant) -> None:
        """Map the rows of every class with the trunk's weights: what times and cores they will have, or nearly."""
        self._trunk = network = trunk.networks[self._asked.seeds[0]]
        refusals = []
        for one in self.live:
            pattern = RolloutPattern(network, one.place.pattern.values, one.place.pattern.name)
            found = self._explored(network, pattern, within="class", objectives=["times", *self._titles()], verify=False)
            mapped = [row for row in found.rows if row.on_class_front]
            most = self._asked.max_cores
            one.rows = [row for row in mapped if most is None or (row.cores or 0) <= most]
            if not mapped:
                refusals.append(most_frequent_refusal(row.message for row in found.rows if row.message) or "no row")
                one.leave("does not fit", refusals[-1])
            elif not one.rows:
                least = min(row.cores or 0 for row in mapped)
                refusals.append(f"takes {counted(least, 'core')}, more than the {most} that are asked for")
                one.leave("dropped", f"{refusals[-1]}, with the weights of {trunk.name}")
        if not self.live:
            raise DoesNotFitError(f"search: no class fits: {most_frequent_refusal(refusals)}")
        self.moments = self._moments()
        for one in self.live:
            if not any(_frames_by(row, moment) for row in one.rows for moment in self.moments):
                one.leave("dropped", f"no row of it answers by {with_unit(self.moments[-1], 's')}, as first mapped")
        if not self.live:
            raise InputError(
                f"deadline {with_unit(self.moments[-1], 's')}: is before the first response of every row; give a later one"
            )

    def _explored(self, network: Network, given: RolloutPattern | str, **how: Any) -> Exploration:
        workers = self._asked.workers
        return explore(
            network,
            self._chip,
            given,
            executions=self._asked.executions,
            store=self._folder / "rows.sqlite",
            processes=workers.processes,
            scheduler=workers.scheduler,
            **how,
        )

    def _titles(self) -> list[str]:
        return [one.title for one in self.costs]

    def _moments(self) -> tuple[float, ...]:
        """Give the deadline, or moments at which frames are known, as far as every class has some."""
        if self._asked.deadline is not None:
            return (float(self._asked.deadline),)
        spans = [[(row.first_response_seconds, 1 / row.sampling_frequency_hz) for row in one.rows] for one in self.live]
        first = min(first for rows in spans for first, _ in rows)
        last = max(min(first + (_FRAMES - 1) * period for first, period in rows) for rows in spans)
        if self._chip.is_timed:  # as weights change, so do times
            return tuple(float(f"{moment:.3g}") for moment in np.geomspace(1.1 * first, 1.1 * last, _MOST_MOMENTS))
        every = sorted({float(f"{a + k * b:.12g}") for rows in spans for a, b in rows for k in range(_FRAMES)})
        every = [moment for moment in every if moment <= last * (1 + 1e-9)]
        chosen = np.unique(np.linspace(0, len(every) - 1, min(_MOST_MOMENTS, len(every))).round().astype(int))
        return tuple(every[k] for k in chosen)

    def _measure(self) -> None:
        """Measure every class that is still in, at all moments."""
        for one in self.live:
            for seed, network in one.networks.items():
                pattern = RolloutPattern(network, one.place.pattern.values)
                held = self._images["validation"]
                curves = DeadlineAccuracy(self.moments[-1], held, [TrainedNetwork(pattern, network, None)])
                one.accuracy[seed] = np.array(
                    [
                        [curves.of(network, row.candidate.values, n) if (n := _frames_by(row, at)) else math.nan for at in self.moments]
                        for row in one.rows
                    ]
                )

    def _drop(self, rung: int) -> None:
        """Drop the classes that are beaten in all they could be chosen for."""
        live = self.live
        standings = [Standing(one.mean(), np.array([self._cost(row) for row in one.rows])) for one in live]
        margin, n_images = self._asked.margin, len(self._images["validation"].images)
        for one, better in zip(live, beaten_by(standings, margin, n_images), strict=True):
            if better is not None:
                one.leave("dropped", f"after rung {rung + 1}: beaten by {live[better].name} by more than the margin")

    def _cost(self, row: ExploredRow) -> list[float]:
        values = [(one, getattr(row, one.name)) for one in self.costs]
        return [one.sign * value if value is not None else 0.0 for one, value in values]

    def described(self, one: _Entrant) -> SearchedClass:
        """Say what became of a class."""
        means, spreads = one.best()
        nothing = [None] * len(self.moments)
        return SearchedClass(
            number=one.place.number,
            pattern=one.name,
            n_patterns=len(one.place.patterns),
            status=one.status,
            why=one.why,
            started_from=None if one.parent is None or not one.rungs else one.parent.place.number,
            changed=tuple(f"{u} -> {v}" for u, v in one.place.changed),
            epochs=one.epochs,
            accuracy=tuple(means or nothing),
            spread=tuple(spreads or nothing),
        )

    # the front

    def points(self) -> tuple[tuple[SearchPoint, ...], bool]:
        """Map the rollouts of the classes that stayed, and run those on the front on all images."""
        network, trained, keeps = self._trunk, list[tuple[RolloutPattern, Any]](), self._asked.folder is not None
        assert network is not None, "points come after the race"
        for one in self.live:
            made, file = one.networks[one.best_seed()], self._folder / f"{_file_name(one)}.toml"
            if keeps:
                made.save(file)
            pattern = RolloutPattern(network, one.place.pattern.values, one.place.pattern.name)
            trained.append((pattern, str(file) if keeps else made))
        limits = None if self._asked.max_cores is None else Limits(cores=self._asked.max_cores)
        images, found = self._images["validation"], dict[float, Exploration]()
        for moment in self.moments:
            how = {"trained": trained, "images": images, "deadline": moment, "limits": limits}
            objectives = [ACCURACY.title, *self._titles()]
            found[moment] = self._explored(network, trained[0][0], objectives=objectives, **how)
        return self._joined(found), all(one.gap.is_exact for one in found.values())

    def _joined(self, found: Mapping[float, Exploration]) -> tuple[SearchPoint, ...]:
        """Join the fronts of all moments; of rows that are equal in all objectives the earliest one stays."""
        best_at = dict[tuple[tuple[int, ...], str], list[float]]()
        rows = dict[tuple[tuple[int, ...], str], tuple[Exploration, ExploredRow]]()
        for moment, exploration in found.items():
            for row in _one_of_equals([r for r in exploration.rows if r.on_front], (ACCURACY, *self.costs)):
                key = row.candidate.values, row.candidate.execution
                best_at.setdefault(key, []).append(moment)
                rows.setdefault(key, (exploration, row))
        if not rows:
            first = next(iter(found.values()))
            raise DoesNotFitError(f"search: {first.gap.statement}")
        points = list[SearchPoint]()
        for key, (exploration, row) in rows.items():
            before = points[-1].values if points else tuple(1 for _ in key[0])
            points.append(self._point(exploration, row, tuple(best_at[key]), before))
        return tuple(points)

    def _point(
        self, exploration: Exploration, row: ExploredRow, best_at: tuple[float, ...], before: tuple[int, ...]
    ) -> SearchPoint:
        values = row.candidate.values
        key = class_key(RolloutPattern(self._entrants[0].place.pattern.network, values))
        one = next(one for one in self.live if class_key(one.place.pattern) == key)
        seed = one.best_seed()
        network = one.networks[seed]
        pattern = RolloutPattern(network, values, row.pattern)
        mapped = map_with_stages(
            Rollout(network, pattern, row.candidate.execution), self._chip, options_of(row.candidate).meant_for(self._chip)
        )
        held = self._images["validation"]
        curves = DeadlineAccuracy(self.moments[-1], held, [TrainedNetwork(pattern, network, None)])
        part = "test" if "test" in self._images else "validation"
        n_frames = min(MOST_FRAMES, max(1, _frames_by(row, self.moments[-1])))
        shown = self._images[part]
        accuracy = accuracy_on_chip(mapped.rollout, mapped.program, shown, n_frames, threads=1)
        tick = self._chip.tick_seconds
        edges = zip(network.edges, values, before, strict=True)
        return SearchPoint(
            pattern=row.pattern,
            execution=row.candidate.execution,
            values=values,
            behaviour_class=one.place.number,
            changed=tuple(f"{u} -> {v}" for (u, v), mine, its in edges if mine != its),
            cores=row.cores or 0,
            energy_joules=row.energy_joules if ENERGY in self.costs else None,
            first_response_seconds=row.first_response_seconds,
            sampling_frequency_hz=row.sampling_frequency_hz,
            curve=tuple(
                AccuracyAt(at, curves.of(network, values, n)) for at in self.moments if (n := _frames_by(row, at))
            ),
            best_at=best_at,
            part=part,
            n_images=len(shown.images),
            on_chip=tuple(
                AccuracyAt(frame.tick * tick if frame.seconds is None else frame.seconds, frame.accuracy)
                for frame in accuracy.frames
            ),
            agrees=_agrees(mapped.rollout, mapped.program, shown, n_frames),
            verified=row.verified,
            proven=row.proven,
            seed=seed,
            epochs=_line_of(one),
            file=str(self._folder / f"{_file_name(one)}.toml") if self._asked.folder is not None else "",
            map_command=map_command(exploration, row, "NET", {self._chip.name: [str(self._asked.chip)]} if isinstance(self._asked.chip, str | Path) else None),
            network=network,
        )


def _frames_by(row: ExploredRow, seconds: float) -> int:
    """Count the output frames of a row that are known at a moment."""
    left = seconds * (1 + 1e-9) - row.first_response_seconds
    return 0 if left < 0 else min(MOST_FRAMES, math.floor(left * row.sampling_frequency_hz * (1 + 1e-9)) + 1)


def _one_of_equals(rows: Sequence[ExploredRow], axes: Sequence[Objective]) -> list[ExploredRow]:
    """Keep of rows that are equal in the objectives that which answers first, then most often, then for least."""
    kept = dict[tuple[Any, ...], ExploredRow]()
    for row in sorted(rows, key=lambda r: [_rank(r, one) for one in OBJECTIVES]):
        kept.setdefault(tuple(getattr(row, one.name) for one in axes), row)
    return list(kept.values())


def _rank(row: ExploredRow, objective: Objective) -> float:
    value = getattr(row, objective.name)
    return math.inf if value is None else float(objective.sign * value)


def _file_name(one: _Entrant) -> str:
    name = one.place.pattern.name or ""
    return name if re.fullmatch(r"[A-Za-z0-9_-]{1,60}", name) else f"class-{one.place.number}"


def _line_of(one: _Entrant) -> int:
    """Count the epochs behind a class's weights, those of the classes that it descends from as far as it took them."""
    return one.epochs + one.taken


def _agrees(rollout: Rollout, program: ChipProgram, images: ImageSet, n_frames: int) -> bool:
    """Whether chip and PyTorch model name the same class for every image in every frame."""
    import torch

    from neuromap.training.torch.measure_frames import class_scores
    from neuromap.training.torch.rollout_model import NetworkModel

    shown, model = ImageFrames.of(rollout, images, n_frames, 0), NetworkModel(rollout.network)
    classes, (name,) = len(images.classes), rollout.network.inputs
    rows, columns, features = rollout.network.nodes[name].shape or (1, 1, rollout.network.nodes[name].size)
    for portion in shown.portions():
        on_chip = simulate_batch(program, portion, threads=1).frames(shown.output)[:, shown.first :]
        frames = torch.from_numpy(np.ascontiguousarray(portion[name].swapaxes(0, 1), dtype=np.float32))
        values = model.window(rollout.pattern, {name: frames.unflatten(-1, (rows, columns, features))})
        by_model = class_scores(values[shown.output][shown.first :], classes).argmax(-1).numpy().T
        if not np.array_equal(decide(on_chip, classes), by_model):
            return False
    return True
