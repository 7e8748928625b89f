"""A read-only mapping is a dictionary to who reads it, and none to who would write."""

import copy
import pickle
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

ENTRIES = st.dictionaries(st.text(max_size=3), st.integers(), max_size=5)


@given(ENTRIES)
def test_it_is_equal_to_a_dictionary_and_shown_and_copied_like_one(entries: dict[str, int]) -> None:
    mapping = ReadOnlyMapping(entries)
    assert mapping == entries
    assert (repr(mapping), list(mapping)) == (repr(entries), list(entries))
    for twin in (pickle.loads(pickle.dumps(mapping)), copy.copy(mapping), copy.deepcopy(mapping)):
        assert (type(twin), twin) == (ReadOnlyMapping, entries)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.__setitem__("a", 2),
        lambda m: m.__delitem__("a"),
        lambda m: m.__ior__({"a": 2}),
        lambda m: m.update(a=2),
        lambda m: m.setdefault("b", 2),
        lambda m: m.pop("a"),
        lambda m: m.popitem(),
        lambda m: m.clear(),
    ],
)
def test_nothing_changes_it(change: Callable[[ReadOnlyMapping[str, int]], object]) -> None:
    given_entries = {"a": 1}
    mapping = ReadOnlyMapping(given_entries)
    given_entries["a"] = 3
    with pytest.raises(TypeError, match="read-only"):
        change(mapping)
    assert mapping == {"a": 1}
