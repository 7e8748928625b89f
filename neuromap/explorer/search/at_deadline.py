"""A search for accuracy at a deadline: the networks that it is given, and what it says of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neuromap.errors import InputError
from neuromap.explorer.answer.deadline import Deadline, TrainedClass
from neuromap.explorer.answer.quantities import with_unit
from neuromap.explorer.candidates.named_patterns import NamedPatterns, named_patterns
from neuromap.explorer.candidates.pattern_space import PatternSpace
from neuromap.explorer.candidates.trained_networks import TrainedNetwork, trained_networks
from neuromap.explorer.candidates.trained_spaces import untrained_classes
from neuromap.explorer.search.deadline_accuracy import DeadlineAccuracy
from neuromap.explorer.search.search_rows import SearchRows
from neuromap.network.network import Network
from neuromap.rollout.behaviour import class_key, count_behaviour_classes
from neuromap.rollout.class_numbers import ClassNumbers
from neuromap.rollout.pattern import RolloutPattern

__all__ = ["asked_networks", "check_deadline", "deadline_of", "names_with"]


def asked_networks(network: Network, trained: Any, images: Any, deadline: Any) -> tuple[TrainedNetwork, ...]:
    """Read the trained networks: they, images and a deadline are given together, or none of them."""
    given = {"trained": trained, "images": images, "deadline": deadline}
    missing = [name for name, value in given.items() if value is None]
    if len(missing) == len(given):
        return ()
    if missing:
        there = next(name for name, value in given.items() if value is not None)
        raise InputError(
            f"explore: {there} is given and {missing[0]} is not; accuracy at a deadline takes trained, images and "
            "deadline"
        )
    return trained_networks(network, trained)


def names_with(network: Network, given: RolloutPattern | str, weights: Sequence[TrainedNetwork]) -> NamedPatterns:
    """Collect the patterns with names: those of trained networks are some, and the given one has weights."""
    others = [RolloutPattern(network, one.pattern.values, one.pattern.name) for one in weights]
    names = named_patterns(network, given, others)
    keys = [class_key(other) for other in others]
    return names if not others or class_key(names.given) in keys else named_patterns(network, others[0], others)


def deadline_of(
    space: PatternSpace,
    numbers: ClassNumbers,
    names: NamedPatterns,
    accuracy: DeadlineAccuracy | None,
    weights: Sequence[TrainedNetwork],
) -> Deadline | None:
    """Say what accuracies are of, and which classes have none."""
    # gives ``None`` where there is no deadline
    if accuracy is None:
        return None
    mine = [number or 0 for number in numbers.of_patterns([one.pattern for one in weights])]
    n_classes, images = count_behaviour_classes(space.graph.network), accuracy.images
    titled = zip(mine, weights, strict=True)
    return Deadline(
        seconds=accuracy.seconds,
        data=images.name,
        part=images.part,
        n_images=len(images.images),
        classes=len(images.classes),
        seed=accuracy.seed,
        trained=tuple(
            TrainedClass(number, names.name_of(one.pattern.values), one.network.name, one.file)
            for number, one in titled
        ),
        n_untrained=None if n_classes is None else n_classes - len(mine),
        untrained=untrained_classes(space, numbers, names, mine),
    )


def check_deadline(rows: SearchRows) -> None:
    """Refuse a deadline before any response."""
    if rows.accuracy is None:
        return
    earliest = min((group for group in rows.groups), key=lambda group: group.bounds.first_response)
    if not rows.accuracy.n_frames(earliest.first_ticks, earliest.period_ticks, earliest.choice.chip.tick_seconds):
        wanted, least = (with_unit(s, "s") for s in (rows.accuracy.seconds, earliest.bounds.first_response))
        raise InputError(
            f"deadline {wanted}: is before the first response of every row, {least} at the earliest; give {least} or "
            "more"
        )
