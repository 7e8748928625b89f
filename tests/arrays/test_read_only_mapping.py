"""A read-only mapping is a dictionary to who reads it, and none to who would write."""

import copy
import pickle

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
    assert list(reversed(mapping)) == list(reversed(entries))
    for twin in (pickle.loads(pickle.dumps(mapping)), copy.copy(mapping), copy.deepcopy(mapping)):
        assert (type(twin), twin) == (ReadOnlyMapping, entries)


def test_nothing_changes_it() -> None:
    entries = {"a": 1}
    mapping = ReadOnlyMapping(entries)
    entries["a"] = 3
    with pytest.raises(TypeError, match="does not support item assignment"):
        mapping["a"] = 2  # type: ignore[index]
    assert not {"clear", "pop", "popitem", "setdefault", "update", "__ior__", "__delitem__"} & set(dir(mapping))
    assert mapping == {"a": 1}
