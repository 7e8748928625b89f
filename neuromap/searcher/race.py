"""``search``: train classes by successive halving, map their rollouts, compare each point with its model."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from neuromap.accuracy.measure import MOST_FRAMES, accuracy_on_chip
from neuromap.arrays.array_types import Floats
from neuromap.datasets.tracks import ImageSet
from neuromap.errors import DoesNotFitError, InputError, NeuromapError
from neuromap.explorer.answer.advice import map_command, most_frequent_refusal
from neuromap.explorer.answer.exploration import Exploration
from neuromap.explorer.answer.limits import CORES, ENERGY, FIRST, OBJECTIVES, SAMPLING, ExploredRow, Objective
from neuromap.explorer.explore import explore
from neuromap.explorer.search.front import front_of
from neuromap.explorer.search.measurements import options_of
from neuromap.files.argument_checks import needs
from neuromap.files.messages import counted
from neuromap.files.whole_file import write_whole
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.network.build import require_frames
from neuromap.network.network import Network
from neuromap.options import keywords_of
from neuromap.proof.prove import is_proven
from neuromap.render.quantities import with_unit
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.searcher.classes import ClassPlace, Entrant, least_first_response, list_classes, spread_out
from neuromap.searcher.halving import Plan, Standing, beaten_by, default_budget, full_plan, plan_of
from neuromap.searcher.options import FOUND, ROWS, SearchOptions
from neuromap.searcher.result import AccuracyAt, SearchedClass, SearchPoint, SearchResult
from neuromap.searcher.rung import (
    TRAININGS,
    Rung,
    RungSetting,
    Trainings,
    accuracy_by_model,
    agrees_with_model,
    claim_folder,
    first_images,
)
from neuromap.training.chip_training import checked_encoding
from neuromap.training.network_training import require_parts
from neuromap.training.options.node_settings import choose_for_chip
from neuromap.training.options.training_options import HardwareOptions, chosen_options, require_torch
from neuromap.verification.law import verify

_AGAIN = 0.5
"""Ratio of the learning rate of a continued training to that of the training before."""
TOGETHER = 8
"""Most classes between which the training of the trunk alternates."""
_PROMISING = 16
"""Most rows of a class that are mapped with the trunk's weights, for each set of times those of the fewest estimated
cores first. All are mapped in the end, with the weights that count; where a limit could drop a class, at once."""
_MOST_MOMENTS, _FRAMES = 8, 4
"""Without a deadline: most moments at which classes are compared, and frames of every row that they cover."""
_SEEN = (FIRST.title, SAMPLING.title)
"""Times that determine how many frames of a row are known at a moment, and so its accuracy then."""
_OF_PLAN = {"epochs", "learning_rate", "seed"}
"""Training options that differ from rung to rung."""


@keywords_of(SearchOptions)
def search(network: Network | Sequence[Network], asked: SearchOptions) -> SearchResult:
    """Search patterns and weights together: one network for each behaviour class, trained by successive halving.

    Weights have the same shapes under every pattern, so all classes of a network start from one set of weights, the
    trunk, whose training alternates between several classes. Several networks, which may differ in layers, bits of
    weights or codes of inputs, are searched as one: their classes share the budget and are compared. A budget of epochs
    is divided into rungs; after each rung, classes are dropped that others beat beyond the margin in everything they
    could be chosen for. Rollouts of the surviving classes are mapped as by :func:`neuromap.explore`; each point of the
    front is verified and run on all images.

    Parameters
    ----------
    network : Network or sequence of Network
        Networks with shapes, each with a name of its own; weights, if any, are not used.
    chip : chip
        Name of a packaged chip, a chip file, or a chip.
    images : mapping of str to ImageSet
        ``"train"`` and ``"validation"``; points are run on ``"test"`` if present, else on ``"validation"``.
    deadline : float, optional
        Seconds from stimulus onset. Without one, rollouts are compared at up to eight moments at which an answer may
        arrive, and the front holds all that are best at some of them.
    max_cores : int, optional
        Limit on cores.
    objectives : sequence of str
        What to weigh against accuracy: ``"cores"``, ``"energy"``, and times by their names in :func:`neuromap.explore`.
    executions : sequence of str
        As in :func:`neuromap.explore`.
    budget : int, optional
        Epochs of all trainings together, for each seed. By default a quarter of the epochs to train all classes fully.
    full : bool
        Whether to train every class fully from random weights instead and drop none: the baseline for a search.
    seeds : sequence of int
        Seeds of trainings. With several, classes are compared by their means, and the network of the best is kept.
    sample : int, optional
        Number of classes to search of each network, if there are many.
    margin : float
        Number of standard errors by which an accuracy must be beaten.
    training : mapping of str to Any, optional
        Options of training and of training for a chip, as for :func:`neuromap.training.train_for_chip`; ``epochs`` are
        those of a full training.
    folder : str or path, optional
        Folder for trainings, mapped rows and networks; a search that was killed resumes from it.
    processes : int
        Number of concurrent trainings and mappings; scripts that use more than one need
        ``if __name__ == "__main__"``. The result does not depend on it.
    scheduler : str, optional
        Address of the scheduler of a Dask cluster whose workers train and map instead.
    progress : callable
        ``progress(text, epochs done, epochs)``.

    Returns
    -------
    SearchResult
        The front, and the outcome for every class.

    Raises
    ------
    InputError
        If images, options and networks do not match, the deadline is before any response, a network has too many
        classes, or the folder belongs to another search.
    DoesNotFitError
        If nothing fits the chip or the limit on cores.
    NotSupportedError
        If PyTorch is not installed, or a scheduler is given and Dask is not installed.
    TrainingError
        If a loss is not a number.
    NeuromapError
        If workers are not available; completed work is kept in the folder.
    """
    networks = _networks(network)
    require_torch("search")
    images = _images(asked)
    chip, training = load_chip(asked.chip), dict(asked.training or {})
    named = {f.name: training[f.name] for f in fields(HardwareOptions) if f.name in training}
    hardware, train = HardwareOptions(**named), images["train"]
    graded = {_chosen(one, chip, images, hardware, several=len(networks) > 1).is_graded for one in networks.values()}
    if len(graded) > 1:
        raise InputError(f"search: networks {', '.join(networks)}: some send values, others spikes; search them apart")
    full, *_ = chosen_options(training, len(train.images), train.shape, 1, graded=graded.pop())
    sampled_by = asked.executions if train.is_stream else None
    listed = [list_classes(one, asked.sample, asked.seeds[0], sampled_by) for one in networks.values()]
    places, n_classes = [place for each in listed for place in each.places], [each.n_classes for each in listed]
    entrants = _entrants(places, asked, chip, is_stream=train.is_stream)
    of_live = [one.network for one in entrants if one.is_live]
    n_live, n_trunks = len(of_live), len({*of_live})
    budget = default_budget(n_live, full.epochs, n_trunks) if asked.budget is None else asked.budget
    plan = full_plan(n_live, full.epochs) if asked.full else plan_of(budget, n_live, full.epochs, n_trunks)
    with ExitStack() as opened:
        folder = Path(opened.enter_context(TemporaryDirectory()) if asked.folder is None else asked.folder)
        held = {"train": images["train"], "validation": first_images(images["validation"])}
        rest = {name: value for name, value in training.items() if name not in _OF_PLAN}
        setting = RungSetting(networks, chip, held, rest, folder / TRAININGS)
        digest = claim_folder(folder, setting, images)
        race = _Race(entrants, asked, chip, folder, images, plan, full.learning_rate, digest)
        with Trainings(setting, asked.workers, race.tell) as trainings:
            race.run(trainings)
        points = race.points()
        found = SearchResult(
            network=", ".join(networks),
            chip=chip.name,
            data=images["train"].name,
            deadline=asked.deadline,
            moments=race.moments,
            max_cores=asked.max_cores,
            objectives=tuple(one.title for one in race.costs),
            seeds=tuple(asked.seeds),
            n_images=len(images["validation"].images),
            n_classes=None if None in n_classes else sum(number or 0 for number in n_classes),
            budget=plan.budget,
            spent=race.spent,
            full_epochs=full.epochs,
            margin=asked.margin,
            points=points,
            classes=tuple(
                race.described(one)
                for one in sorted(entrants, key=lambda one: ([*networks].index(one.network), one.place.number))
            ),
            is_exact=all(one.explored.gap.is_exact for one in race.live if one.explored is not None),
            folder="" if asked.folder is None else str(folder),
        )
        if asked.folder is not None:
            _remove_networks(folder, {Path(point.file).name for point in points})
            write_whole(folder / FOUND, found.to_json())
    return found


def _networks(given: Network | Sequence[Network]) -> dict[str, Network]:
    """Check the networks, and key them by name."""
    found = dict[str, Network]()
    for one in given if isinstance(given, Sequence) else [given]:
        needs("search", one, Network)
        require_frames(one, "search", "its one rollout is streaming, a frame a tick")
        if one.name in found:
            raise InputError(f"search: two networks have the name {one.name}; give each a name of its own")
        found[one.name] = one
    if not found:
        raise InputError("search: no network is given; give one or more")
    return found


def _chosen(
    network: Network, chip: ChipSpec, images: Mapping[str, ImageSet], hardware: HardwareOptions, *, several: bool
) -> Network:
    """Return a network as it is trained, checked against all images before anything is trained."""
    try:
        found = choose_for_chip(network, chip, images["train"], hardware).network
        checked_encoding(found, images)
    except NeuromapError as error:
        raise type(error)(f"network {network.name}: {error}") if several else error from None
    return found


def _remove_networks(folder: Path, kept: Set[str]) -> None:
    """Remove the networks of an earlier front that are not of this one: only those that its result names."""
    try:
        points = json.loads((folder / FOUND).read_text(encoding="utf-8"))["points"]
        before = {Path(point["file"]).name for point in points}  # the folder may have moved since
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return
    for name in before - kept:
        for suffix in (".toml", ".safetensors") if name.endswith(".toml") else ():
            (folder / name).with_suffix(suffix).unlink(missing_ok=True)


def _images(asked: SearchOptions) -> Mapping[str, ImageSet]:
    if asked.images is None:
        raise InputError("search: no images are given; give images with train and validation (--data SOURCE)")
    require_parts(asked.images)
    for part in ("train", "validation"):
        if part not in asked.images:
            raise InputError(
                f"search: images have no part {part}; classes are trained on train, compared on validation"
            )
        needs(f"search: images, {part}", asked.images[part], ImageSet)
    return asked.images


def _entrants(places: Sequence[ClassPlace], asked: SearchOptions, chip: ChipSpec, *, is_stream: bool) -> list[Entrant]:
    """Enter all classes, and exclude those whose times no training can change."""
    found, earliest = [Entrant(place) for place in places], list[float]()
    if asked.deadline is not None and not chip.is_timed and asked.deadline / chip.tick_seconds >= MOST_FRAMES + 1:
        raise InputError(
            f"deadline {with_unit(asked.deadline, 's')}: is more than {MOST_FRAMES:,} ticks of {chip.name}; no more "
            "frames are decided on, give an earlier one"
        )
    if not is_stream and (asked.deadline is None or chip.is_timed):
        return found
    for one in found:
        steps = least_first_response(one.place, asked.executions)
        if steps is None:
            one.leave("excluded", _NOT_ALLOWED)
        if steps is None or asked.deadline is None or chip.is_timed:  # lengths of timed ticks are known once mapped
            continue
        earliest.append(steps * chip.tick_seconds)
        if earliest[-1] > asked.deadline * (1 + 1e-9):
            least = with_unit(earliest[-1], "s")
            one.leave("excluded", f"answers after {least} at the earliest, whatever its weights")
    if not any(one.is_live for one in found):
        late = None if asked.deadline is None or not earliest else _too_early(asked.deadline, earliest)
        raise late or DoesNotFitError(f"search: {_NOT_ALLOWED}")
    return found


_NOT_ALLOWED = "no execution that is asked for allows its cycles"
_SLOW_STEPS = "its update steps take several ticks on the chip, but one in training on streams"


def _too_early(deadline: float, earliest: Iterable[float]) -> InputError:
    wanted, least = with_unit(deadline, "s"), with_unit(min(earliest), "s")
    return InputError(
        f"deadline {wanted}: is before the first response of every rollout, {least} at the earliest; give {least} or "
        "more"
    )


class _Race:
    """Rungs one after the other, with decisions between them; then the front."""

    def __init__(
        self,
        entrants: Sequence[Entrant],
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
        self.costs = asked.costs if asked.max_cores is None or CORES in asked.costs else (CORES, *asked.costs)
        self.moments: tuple[float, ...] = ()
        self.spent = 0
        self._tolerance = 0.0
        self._told = 0
        self._trunk: dict[tuple[str, int], Rung] = {}
        self._names = list(dict.fromkeys(one.network for one in entrants))

    @property
    def _tick(self) -> float | None:
        return None if self._chip.is_timed else self._chip.tick_seconds

    @property
    def live(self) -> list[Entrant]:
        return [one for one in self._entrants if one.is_live]

    def tell(self, rung: Rung) -> None:
        self._told += rung.epochs
        self._asked.progress("training", self._told, self._plan.budget * len(self._asked.seeds))

    @property
    def _is_stream(self) -> bool:
        return self._images["train"].is_stream

    # training

    def _trained_as(self, place: ClassPlace) -> tuple[tuple[int, ...], str]:
        """Pattern and execution under which the network of a class is trained; for stills any execution will do."""
        if not self._is_stream:
            return place.pattern.values, "windowed"
        rollout = next(place.rollouts(self._asked.executions))
        return rollout.pattern.values, rollout.execution

    def run(self, trainings: Trainings) -> None:
        """Train the trunk, then the surviving classes in rungs; map them with their final weights."""
        if self._asked.full:
            self._train(trainings, self.live, self._plan.full, 0)
        else:
            self._run_rungs(trainings)
        self._map({one: one.networks[self._asked.seeds[0]] for one in self.live})
        if not self.moments:
            self.moments = self._moments()
        self._measure()
        kept = {one: one.networks[one.kept] for one in self.live if one.keep_best() != self._asked.seeds[0]}
        if kept:  # the best of several seeds, whose rows may take other numbers of cores
            self._map(kept)
            self._measure()

    def _run_rungs(self, trainings: Trainings) -> None:
        trunk, asked = self._train_trunks(trainings), self._asked
        limits = asked.max_cores is not None or (asked.deadline is not None and self._chip.is_timed)
        is_mapped = limits or len(self._plan.rungs) > 1  # mapping these weights can spare a class some training
        if is_mapped:
            self._map(trunk, of_trunk=True)
            self.moments = self._moments()
            self._drop_late()
        left_over = trained = 0
        for number, all_epochs in enumerate(self._plan.rungs):
            live = self.live
            epochs = self._plan.epochs(number, len(live), left_over)
            left_over += all_epochs - epochs * len(live)
            before = {one: {k: (one.rungs[k], one.networks[k], one.accuracy[k]) for k in one.accuracy} for one in live}
            if epochs:
                trained += 1
                self._train(trainings, live, epochs, trained)
            if is_mapped:
                self._measure()
                for one in live:
                    one.keep_better_rung(before[one])
                self._drop(number)

    def _train_trunks(self, trainings: Trainings) -> dict[Entrant, Network]:
        """Train weights that all classes of a network start from, alternating between some that differ the most."""
        places = dict[str, dict[tuple[int, ...], ClassPlace]]()
        for one in self.live:  # for streams, classes may share a pattern
            places.setdefault(one.network, {}).setdefault(one.place.pattern.values, one.place)
        for name, found in places.items():
            together = spread_out(list(found.values()), TOGETHER)
            patterns, executions = zip(*map(self._trained_as, together), strict=True)
            epochs, of = self._plan.trunk, executions if self._is_stream else ()
            for seed in self._asked.seeds:
                self._trunk[name, seed] = Rung(name, patterns, seed, 0, epochs, self._rate, self._digest, True, of)
            self.spent += epochs
        trained = trainings.train(self._trunk, {})
        return {one: trained[one.network, self._asked.seeds[0]] for one in self.live}

    def _train(self, trainings: Trainings, entrants: Sequence[Entrant], epochs: int, number: int) -> None:
        """Continue the training of classes, with ``number`` trainings before."""
        # counted here, not by the start: one that goes on from a rung before the last is another training than the last
        rate = self._rate * _AGAIN**number
        rungs, starts = dict[tuple[Entrant, int], Rung](), dict[tuple[Entrant, int], Rung]()
        for one in entrants:
            values, execution = self._trained_as(one.place)
            of = (execution,) if self._is_stream else ()
            for seed in self._asked.seeds:
                start = one.rungs.get(seed, self._trunk.get((one.network, seed)))
                lineage = self._digest if start is None else start.name
                one.rungs[seed] = Rung(one.network, (values,), seed, number, epochs, rate, lineage, executions=of)
                rungs[one, seed] = one.rungs[seed]
                if start is not None:
                    starts[one, seed] = start
        trained = trainings.train(rungs, starts)
        for one in entrants:
            one.networks = {seed: trained[one, seed] for seed in self._asked.seeds}
            one.epochs += epochs
        self.spent += epochs * len(entrants)

    # what is known of the classes

    def _map(self, networks: Mapping[Entrant, Network], *, of_trunk: bool = False) -> None:
        """Map the rollouts of classes with the given weights, for their times, cores and energy."""
        most = self._asked.max_cores
        is_cut = of_trunk and most is None and self._asked.deadline is not None and not self._chip.is_timed
        refusals, too_many = list[str](), dict[int, str]()
        for one, network in networks.items():
            found = self._explored(one, network, _PROMISING if is_cut else None)
            if is_cut and not any(row.on_class_front for row in found.rows):
                found = self._explored(one, network, None)  # none of these fits: one of the others may
            mapped = [row for row in found.rows if row.on_class_front and one.samples_as(row)]
            one.rows = [row for row in mapped if most is None or (row.cores or 0) <= most]
            one.explored = found
            if ENERGY in self.costs:
                self._tolerance = max(self._tolerance, found.energy_tolerance)
            if not mapped:
                is_slow = one.place.period is not None and self._chip.delay[0] > 1
                none = _SLOW_STEPS if is_slow else _NOT_ALLOWED
                refusals.append(most_frequent_refusal(row.message for row in found.rows) or none)
                one.leave("does not fit", refusals[-1])
            elif not one.rows:
                least = min(row.cores or 0 for row in mapped)
                why = f"takes {counted(least, 'core')}, with max_cores {most}; give {least} or more"
                too_many[least] = why
                one.leave("dropped", f"{why}, with the weights that it starts from" if of_trunk else why)
        if not self.live:
            why = too_many[min(too_many)] if too_many else most_frequent_refusal(refusals)
            raise DoesNotFitError(f"search: no rollout is left: {why}")

    def _explored(self, one: Entrant, network: Network, most_mapped: int | None) -> Exploration:
        workers = self._asked.workers
        return explore(
            network,
            self._chip,
            RolloutPattern(network, one.place.pattern.values, one.place.pattern.name),
            within="class",
            executions=self._asked.executions,
            objectives=list(dict.fromkeys([*_SEEN, *(cost.title for cost in self.costs)])),
            limits=None if one.place.period is None else one.samples_as,
            most_mapped=most_mapped,
            verify=False,  # only the points need it
            store=self._folder / ROWS,
            processes=workers.processes,
            scheduler=workers.scheduler,
        )

    def _moments(self) -> tuple[float, ...]:
        """Return the deadline, or moments at which frames become known, late enough for every class to have some."""
        if self._asked.deadline is not None:
            return (float(self._asked.deadline),)
        spans = [[(row.first_response_seconds, 1 / row.sampling_frequency_hz) for row in one.rows] for one in self.live]
        first = min(first for rows in spans for first, _ in rows)
        last = max(min(first + (_FRAMES - 1) * period for first, period in rows) for rows in spans)
        if self._chip.is_timed:  # times change with the weights
            return tuple(float(f"{at:.3g}") for at in np.geomspace(1.1 * first, 1.1 * last, _MOST_MOMENTS))
        tick = self._chip.tick_seconds  # frames at unequal intervals become known at the next tick
        known = {math.ceil((a + k * b) / tick - 1e-6) for rows in spans for a, b in rows for k in range(_FRAMES)}
        every = [float(f"{ticks * tick:.12g}") for ticks in sorted(known)]
        every = [moment for moment in every if moment < last + tick * (1 - 1e-6)]
        chosen = np.unique(np.linspace(0, len(every) - 1, min(_MOST_MOMENTS, len(every))).round().astype(int))
        return tuple(every[k] for k in chosen)

    def _drop_late(self) -> None:
        """Drop classes none of whose rows answers by the last moment; for timed ticks."""
        last, answers = self.moments[-1], dict[Entrant, float]()
        for one in self.live:
            answers[one] = min(row.first_response_seconds for row in one.rows)
            if answers[one] > last * (1 + 1e-9):
                late = with_unit(answers[one], "s")
                one.leave("dropped", f"answers after {late}, with the weights that it starts from")
        if not self.live:
            raise _too_early(last, answers.values())

    def _measure(self) -> None:
        """Measure the accuracy of all rows of the surviving classes at all moments."""
        for one in self.live:
            one.accuracy = {seed: self._accuracy_of(one, network) for seed, network in one.networks.items()}

    def _accuracy_of(self, one: Entrant, network: Network) -> Floats:
        found = np.full((len(one.rows), len(self.moments)), math.nan)
        shown, most, known = self._images["validation"], dict[_Shown, int](), dict[_Shown, Floats]()
        seen = [(row.candidate.values, row.candidate.execution if self._is_stream else "") for row in one.rows]
        for key, row in zip(seen, one.rows, strict=True):
            most[key] = max(most.get(key, 1), _frames_by(row, self.moments[-1], self._tick))
        for (values, execution), n_frames in most.items():
            rollout = Rollout(network, RolloutPattern(network, values), execution or "windowed")
            known[values, execution] = accuracy_by_model(rollout, shown, n_frames)
        for k, row in enumerate(one.rows):
            for m, moment in enumerate(self.moments):
                if n := _frames_by(row, moment, self._tick):
                    found[k, m] = known[seen[k]][n - 1]
        return found

    def _drop(self, rung: int) -> None:
        """Drop the classes that are beaten in everything they could be chosen for."""
        live = self.live
        standings = [Standing(one.mean(), np.array([self._cost(row) for row in one.rows])) for one in live]
        margin, n_images = self._asked.margin, len(self._images["validation"].images)
        for one, better in zip(live, beaten_by(standings, margin, n_images), strict=True):
            if better is not None:
                of = "" if live[better].network == one.network else f" of {live[better].network}"
                by = f"{live[better].name}{of}"
                one.leave("dropped", f"after rung {rung + 1}: beaten by {by} by more than the margin")

    def _cost(self, row: ExploredRow) -> list[float]:
        values = [(one, getattr(row, one.name)) for one in self.costs]
        return [one.sign * value if value is not None else 0.0 for one, value in values]

    def described(self, one: Entrant) -> SearchedClass:
        """Outcome for a class."""
        nothing = [None] * len(self.moments)
        means, spreads = (tuple(found or nothing) for found in one.best())
        return SearchedClass(
            network=one.network,
            number=one.place.number,
            pattern=one.name,
            n_patterns=len(one.place.patterns),
            frame_period_steps=None if one.place.period is None else float(one.place.period),
            status=one.status,
            why=one.why,
            neighbour=one.place.neighbour,
            changed=tuple(f"{u} -> {v}" for u, v in one.place.changed),
            epochs=one.epochs,
            accuracy=means,
            spread=spreads,
        )

    # the front

    def points(self) -> tuple[SearchPoint, ...]:
        """Run the rows that are on the front at some moment on all images."""
        best_at = dict[tuple[Entrant, int], list[float]]()
        for m, moment in enumerate(self.moments):
            for entrant_and_row in self._front(m):
                best_at.setdefault(entrant_and_row, []).append(moment)
        if not best_at:  # with the final weights ticks last longer
            raise _too_early(self.moments[-1], (row.first_response_seconds for one in self.live for row in one.rows))
        points, files, before = list[SearchPoint](), dict[Entrant, str](), dict[str, tuple[int, ...]]()
        for (one, k), moments in best_at.items():
            if one not in files:
                files[one] = self._saved(one)
            streaming = (1,) * len(one.place.pattern.values)
            points.append(self._point(one, k, tuple(moments), before.get(one.network, streaming), files[one]))
            before[one.network] = points[-1].values
        return tuple(points)

    def _front(self, moment: int) -> list[tuple[Entrant, int]]:
        """Rows on the front at a moment; of those equal in all objectives, the earliest."""
        places, figures = list[tuple[Entrant, int]](), list[list[float]]()
        for one in self.live:
            accuracy = one.accuracy[one.kept]
            for k, row in enumerate(one.rows):
                if not math.isnan(accuracy[k, moment]):
                    places.append((one, k))
                    figures.append([1 - float(accuracy[k, moment]), *self._cost(row)])
        kept = dict[tuple[float, ...], tuple[Entrant, int]]()
        on_front = [n for n, is_on in enumerate(front_of(figures, self._tolerance)) if is_on]
        for n in sorted(on_front, key=lambda n: [_rank(places[n][0].rows[places[n][1]], axis) for axis in OBJECTIVES]):
            kept.setdefault(tuple(figures[n]), places[n])
        return list(kept.values())

    def _saved(self, one: Entrant) -> str:
        """Save the network of a class and return its file; empty if nothing is kept."""
        if self._asked.folder is None:
            return ""
        name = one.place.pattern.name or ""
        names = [each.place.pattern.name for each in self._entrants if each.network == one.network]
        is_own = names.count(name) == 1  # for streams, classes may share a pattern
        stem = name if is_own and re.fullmatch(r"[A-Za-z0-9_-]{1,60}", name) else f"class-{one.place.number}"
        if len(self._names) > 1:
            stem = f"{self._names.index(one.network) + 1}-{stem}"
        one.networks[one.kept].save(self._folder / f"{stem}.toml")
        return str(self._folder / f"{stem}.toml")

    def _point(
        self, one: Entrant, k: int, best_at: tuple[float, ...], before: tuple[int, ...], file: str
    ) -> SearchPoint:
        row, seed = one.rows[k], one.kept
        network, values = one.networks[seed], row.candidate.values
        assert one.explored is not None, "its rows are of it"
        rollout = Rollout(network, RolloutPattern(network, values, row.pattern), row.candidate.execution)
        mapped = map_with_stages(rollout, self._chip, options_of(row.candidate).meant_for(self._chip))
        part = "test" if "test" in self._images else "validation"
        shown, n_frames = self._images[part], max(1, _frames_by(row, self.moments[-1], self._tick))
        verified = verify(mapped.rollout, mapped.program, threads=1).verified
        on_chip = accuracy_on_chip(mapped.rollout, mapped.program, shown, n_frames, threads=1).frames
        tick, chip = self._chip.tick_seconds, self._asked.chip
        chip_words = None if isinstance(chip, ChipSpec) else {self._chip.name: [str(chip)]}
        edges = zip(network.edges, values, before, strict=True)
        curve = zip(self.moments, one.accuracy[seed][k].tolist(), strict=True)
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
            curve=tuple(AccuracyAt(at, accuracy) for at, accuracy in curve if not math.isnan(accuracy)),
            best_at=best_at,
            part=part,
            n_images=len(shown.images),
            on_chip=tuple(AccuracyAt(f.tick * tick if f.seconds is None else f.seconds, f.accuracy) for f in on_chip),
            agrees=agrees_with_model(mapped.rollout, mapped.program, shown, n_frames),
            verified=verified,
            proven=verified and is_proven(mapped.rollout, mapped.program),
            seed=seed,
            epochs=one.epochs,
            file=file,
            map_command=map_command(one.explored, row, file or "NET", chip_words),
            network=network,
        )


_Shown = tuple[tuple[int, ...], str]
"""R of every edge and, for streams, the execution: what frame accuracies depend on besides weights."""


def _frames_by(row: ExploredRow, seconds: float, tick: float | None) -> int:
    """Count the output frames of a row known at a moment; with ticks of fixed length, at the last whole tick."""
    if tick is not None:
        seconds = math.floor(seconds / tick * (1 + 1e-9)) * tick
    left = seconds * (1 + 1e-9) - row.first_response_seconds
    return 0 if left < 0 else min(MOST_FRAMES, math.floor(left * row.sampling_frequency_hz * (1 + 1e-9)) + 1)


def _rank(row: ExploredRow, objective: Objective) -> float:
    value = getattr(row, objective.name)
    return math.inf if value is None else float(objective.sign * value)
