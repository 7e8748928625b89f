"""Scene files: what was saved comes back, and whatever else is in them is refused in one line."""

import copy
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError, NeuromapError
from neuromap.faults.edited_program import DeadLink, SilentCore, ThresholdEdit, WeightEdit
from neuromap.studio.scene.scene import MOST_CHANGES, Change, Scene, Shown
from neuromap.studio.scene.scene_file import MOST_BYTES, network_bytes, network_from_bytes, read_scene, scene_bytes

EDITS = (
    ThresholdEdit("H", -2),
    ThresholdEdit("O", 1, 3),
    WeightEdit("I", 1, "H", 2, -3),
    SilentCore(0),
    DeadLink(1, 2, True),
)
JUNK = st.sampled_from([None, True, -1, 0, 1.5, 10**30, "", "x", "\x00", [], [0] * 9, {}, {"a": 1}, [[]], "ä" * 3000])


@pytest.fixture(scope="module")
def full(scene):
    """A scene with everything in it."""
    picture = np.arange(9, dtype=np.uint8).reshape(3, 3, 1)
    changes = (
        Change(0, shown=Shown("picture", {"I": picture}, 0.5, 0.25, 7, "drawn")),
        Change(2, run=1, edits=EDITS),
        Change(2, shown=Shown("random")),
        Change(9, run=0, edits=()),
    )
    stimulus = {"I": np.arange(45).reshape(5, 9) % 2 == 0}
    return Scene(scene.network, scene.chip, scene.runs, changes, 12, stimulus, (3, 2**32 - 1))


def test_everything_comes_back(full):
    found = read_scene(scene_bytes(full))
    assert scene_bytes(read_scene(scene_bytes(found))) == scene_bytes(found)
    assert found.changes[1].edits == EDITS
    assert found.runs[1].pattern.values == full.runs[1].pattern.values
    assert np.array_equal(found.stimulus["I"], full.stimulus["I"])
    assert np.array_equal(found.shown_at(1).pictures["I"], full.shown_at(1).pictures["I"])
    assert found.chip == full.chip
    assert (found.ticks, found.checksums) == (12, (3, 2**32 - 1))
    assert found.edits_at(8, 1) == EDITS
    assert found.edits_at(1, 1) == ()


def places(document, path=()):
    """Ways to every value inside."""
    items = document.items() if isinstance(document, dict) else ()
    items = enumerate(document) if isinstance(document, list) else items
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


@given(data=st.data())
@settings(deadline=None, max_examples=300)
def test_a_value_of_another_kind_is_refused_in_one_line_or_means_something(full, data):
    document = json.loads(scene_bytes(full))
    document["chip"] = {name: document["chip"][name] for name in document["chip"]}
    wrong = copy.deepcopy(document)
    *way, last = data.draw(st.sampled_from(list(places(document))))
    inner = wrong
    for key in way:
        inner = inner[key]
    if data.draw(st.booleans()):
        inner[last] = data.draw(JUNK)
    elif isinstance(inner, dict):
        inner[data.draw(st.text(max_size=5))] = inner.pop(last)
    else:
        inner.append(inner[last])
    try:
        found = read_scene(json.dumps(wrong).encode())
    except NeuromapError as error:
        found = str(error)
    assert isinstance(found, Scene) or ("\n" not in found.strip() and len(found) < 2000)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[1",
        b"\xff\xfe",
        b'{"format": NaN}',
        b"[" * 100_000,
        b"null",
        b'{"format": "other", "version": 1}',
        b'{"format": "\\ud800"}',
        b'{"version": %s}' % (b"9" * 500),
    ],
)
def test_what_is_no_scene_is_said_so(data):
    with pytest.raises(InputError) as error:
        read_scene(data, "scene file")
    assert str(error.value).startswith("scene file")
    assert "\n" not in str(error.value)


def test_bounds_are_kept(full, scene):
    with pytest.raises(InputError, match="at most"):
        read_scene(b" " * (MOST_BYTES + 1))
    document = json.loads(scene_bytes(full))
    document["changes"] = document["changes"][:1] * 5001
    with pytest.raises(InputError, match="has 5001 entries; at most 5000"):
        read_scene(json.dumps(document).encode())
    with pytest.raises(InputError, match="not in the order of their ticks"):
        Scene(scene.network, scene.chip, scene.runs, (Change(3, shown=Shown()), Change(2, shown=Shown())))
    most = [Change(k, edits=()) for k in range(MOST_CHANGES + 1)]
    assert len(Scene(scene.network, scene.chip, scene.runs, tuple(most[:-1])).changes) == MOST_CHANGES
    with pytest.raises(InputError, match=f"{MOST_CHANGES + 1} changes; at most {MOST_CHANGES}"):
        Scene(scene.network, scene.chip, scene.runs, tuple(most))
    assert Shown(seed=2**31 - 1, label="x" * 200).seed == 2**31 - 1
    for wrong in (
        {"noise": 1.1},
        {"density": -0.1},
        {"seed": -1},
        {"seed": 2**31},
        {"kind": "film"},
        {"label": "x" * 201},
    ):
        with pytest.raises(InputError, match=r"^shown: "):
            Shown(**wrong)


def of_another_node(stimulus):
    return {"J": stimulus["I"]}


def of_other_neurons(stimulus):
    return {"I": {**stimulus["I"], "shape": [9, 5]}}


def half_of_it(stimulus):
    return {"I": {**stimulus["I"], "bits": stimulus["I"]["bits"][:4]}}


@pytest.mark.parametrize("change", [of_another_node, of_other_neurons, half_of_it])
def test_a_stimulus_is_whole_and_of_an_input(full, change):
    document = json.loads(scene_bytes(full))
    document["stimulus"] = change(document["stimulus"])
    with pytest.raises(InputError, match="does not hold frames of an input node of network small"):
        read_scene(json.dumps(document).encode())


@pytest.mark.parametrize(
    "name",
    ["../secret.safetensors", "/etc/passwd", "a/b.safetensors", "..", "", "network.toml", "a\\u0000b", "x" * 300],
)
def test_a_network_names_no_file_but_the_one_that_came_with_it(scene, name):
    text, weights = network_bytes(scene.network)
    assert b'file = "network.safetensors"' in text
    with pytest.raises(InputError, match="must be the name of a file beside it"):
        network_from_bytes(text.replace(b"network.safetensors", name.encode()), weights)
    with pytest.raises(InputError, match="choose that file too"):
        network_from_bytes(text, None)
    with pytest.raises(InputError, match="is not a complete safetensors file"):
        network_from_bytes(text, weights[:50])
