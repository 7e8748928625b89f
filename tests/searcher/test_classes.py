"""The classes of a search: each once, beside its nearest, with what it answers at the earliest."""

import itertools

import numpy as np
import pytest

import neuromap as nm
from neuromap.errors import InputError
from neuromap.rollout.behaviour import behaviour_classes, class_key, equivalent
from neuromap.searcher.classes import least_first_response, list_classes, spread_out

SR = nm.Network.from_edges([("I", "A"), ("A", "B"), ("B", "O"), ("A", "O"), ("A", "A")], name="sr")
RUNGS = [[(f"A{k}", f"B{k}"), (f"B{k}", f"A{k + 1}"), (f"A{k}", f"A{k + 1}")] for k in range(4)]
LADDER = nm.Network.from_edges([("I", "A0"), *itertools.chain(*RUNGS)], name="ladder")


def differing(one, other):
    return min(sum(a != b for a, b in zip(p.values, q.values, strict=True)) for p in one for q in other)


def test_every_class_is_listed_once_after_its_nearest():
    listed = list_classes(SR, None, 0)
    assert (listed.n_classes, listed.is_complete) == (4, True)
    known = {frozenset(p.values for p in patterns) for patterns in behaviour_classes(SR)}
    assert {frozenset(p.values for p in place.patterns) for place in listed.places} == known
    before = []
    for place in listed.places:
        assert (place.neighbour is None) == (not before)
        if before:
            nearest = next(one for one in before if one.number == place.neighbour)
            assert differing(place.patterns, nearest.patterns) == len(place.changed)
            assert len(place.changed) == min(differing(place.patterns, one.patterns) for one in before)
        before.append(place)


def test_many_classes_are_drawn_only_when_asked_to():
    with pytest.raises(InputError, match=r"^network ladder: has many behaviour classes \(256\).*--sample"):
        list_classes(LADDER, None, 0)
    drawn = list_classes(LADDER, 12, 3)
    assert (len(drawn.places), drawn.n_classes, drawn.is_complete) == (12, 256, False)
    assert len({class_key(place.pattern) for place in drawn.places}) == 12
    for place in drawn.places:
        assert all(equivalent(place.pattern, pattern) is not None for pattern in place.patterns)
    assert [p.pattern.values for p in drawn.places] == [p.pattern.values for p in list_classes(LADDER, 12, 3).places]


def test_some_that_are_trained_together_are_as_different_as_any():
    places = list_classes(LADDER, 12, 3).places
    chosen = spread_out(places, 4)
    assert len(chosen) == 4
    assert places[0] in chosen
    least = min(differing(a.patterns, b.patterns) for a, b in itertools.combinations(chosen, 2))
    others = [place for place in places if place not in chosen]
    assert all(min(differing(place.patterns, one.patterns) for one in chosen) <= least for place in others)


def test_the_first_response_of_a_class_is_that_of_its_quickest_pattern():
    for place in list_classes(SR, None, 0).places:
        found = [
            nm.Rollout(SR, pattern, execution).first_response("O")
            for pattern in place.patterns
            for execution in ("windowed", "pipelined")
        ]
        assert least_first_response(place, ("windowed", "pipelined")) == min(found)
    assert (
        np.unique([least_first_response(place, ("windowed",)) for place in list_classes(SR, None, 0).places]).size > 1
    )
