"""The classes of a search: each once, beside its nearest, with what it answers at the earliest."""

import itertools

import numpy as np
import pytest

import neuromap as nm
from neuromap.datasets.tracks import ImageSet
from neuromap.errors import InputError
from neuromap.rollout.behaviour import behaviour_classes, class_key, enumerate_valid, equivalent
from neuromap.rollout.pattern import first_frame
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


# Of streams: rollouts are of one class exactly if they say the same of every stream.

EXECUTIONS = ("windowed", "pipelined", "pipelined:3")


def weighted(seed):
    """A network of one input with cycles and skips, and a random stream that begins black.

    Black, since of the first frames some patterns see less over some edges.
    """
    draw = np.random.default_rng(seed)
    names = ["I", "A", "B", "O"]
    keys = [(u, v) for k, u in enumerate(names) for v in names[k + 1 :] if draw.random() < 0.5 or names[k + 1] == v]
    keys += [key for key in (("A", "A"), ("B", "A")) if draw.random() < 0.4]
    size = dict.fromkeys(names, 12)
    edges = {key: draw.integers(-2, 4, (size[key[1]], size[key[0]])) for key in keys}
    nodes = {name: ((1, 1, 12), None if name == "I" else int(draw.integers(1, 6))) for name in names}
    net = nm.build_network(nodes, edges, name=f"weighted {seed}", outputs=["O"])
    images = draw.integers(0, 2, (1, 60, 1, 1, 12)).astype(np.uint8)
    images[:, :12] = 0
    return net, ImageSet("film", "test", images, np.zeros(1, np.int64), ("0",), 1)


def said(rollout, film, n_frames=14):
    """Spikes of the output in its first frames that depend on the stream."""
    first = first_frame(rollout.pattern, "O")
    ticks = rollout.sample_ticks("O", first + n_frames)
    frames = film.shown(ticks, slice(None))[0].reshape(len(ticks), -1)
    return nm.reference(rollout, {"I": frames}, ["O"])["O"][first:].tobytes()


@pytest.mark.parametrize("seed", range(12))
def test_of_streams_rollouts_of_a_class_say_the_same_at_the_same_time(seed):
    net, film = weighted(seed)
    places = list_classes(net, None, 0, EXECUTIONS).places
    groups = [list(place.rollouts(EXECUTIONS)) for place in places]
    for group in groups:
        assert len({said(rollout, film) for rollout in group}) == 1
        assert len({rollout.frame_period for rollout in group}) == 1
    listed = [(rollout.pattern.values, rollout.execution) for group in groups for rollout in group]
    possible = [(p.values, how) for p in enumerate_valid(net) for how in EXECUTIONS if allowed(p, how)]
    assert sorted(listed) == sorted(possible)


def allowed(pattern, execution):
    try:
        nm.Rollout(pattern.network, pattern, execution)
    except InputError:
        return False
    return True


def test_behaviour_classes_alone_would_not_do_for_streams():
    net, film = weighted(0)
    of_stills = list_classes(net, None, 0).places
    assert any(len({said(rollout, film) for rollout in place.rollouts(EXECUTIONS)}) > 1 for place in of_stills)


def test_classes_that_share_patterns_are_still_trained_together_once_each():
    places = list_classes(weighted(1)[0], None, 0, EXECUTIONS).places
    chosen = spread_out(places, len(places))
    assert [place.number for place in chosen] == [place.number for place in places]


def test_a_class_that_no_execution_allows_has_no_rollout():
    net = nm.Network.from_edges([("I", "A"), ("A", "B"), ("B", "A"), ("B", "O")])
    places = list_classes(net, None, 0, ("pipelined:1",)).places
    late = [place for place in places if least_first_response(place, ("pipelined:1",)) is None]
    assert late
    assert all(not list(place.rollouts(("pipelined:1",))) for place in late)
