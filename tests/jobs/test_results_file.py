"""Files of results of any kind: whole records or none, and nothing of another kind."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError
from neuromap.jobs.results_file import ResultKind, ResultsFile, with_checksum


def number_of(record):
    value = record.get("value")
    return value if isinstance(value, int) else None


NUMBERS = ResultKind("numbers-1", "numbers", lambda value: {"value": value}, number_of)
REALS = ResultKind("numbers-1", "numbers", lambda value: {"value": value}, lambda record: float(record["value"]))
HEAD = '{"format": "numbers-1"}\n'


@settings(deadline=None, max_examples=20)  # every record is written through to the disk
@given(results=st.dictionaries(st.text(), st.integers(), min_size=1), cut=st.integers(0, 40))
def test_what_was_whole_is_there_after_a_crash(results, cut, tmp_path_factory):
    path = tmp_path_factory.mktemp("crash") / "numbers.jsonl"
    kept = ResultsFile(path, NUMBERS)
    for fingerprint, result in results.items():
        kept.add(fingerprint, result)
    assert len(kept) == len(results)
    whole = path.read_bytes()
    path.write_bytes(whole[: max(0, len(whole) - cut)])
    again = ResultsFile(path, NUMBERS)
    assert all(again.get(fingerprint) in (result, None) for fingerprint, result in results.items())
    for fingerprint, result in results.items():
        if again.get(fingerprint) is None:
            again.add(fingerprint, result)
    assert path.read_bytes() == whole


def test_without_a_path_results_are_kept_in_memory():
    kept = ResultsFile(None, NUMBERS)
    kept.add("a", 3)
    assert (kept.get("a"), kept.get("b"), len(kept)) == (3, None, 1)


def test_refusals_name_the_kind(tmp_path):
    path = tmp_path / "other.jsonl"
    path.write_text('{"format": "letters-1"}\n')
    with pytest.raises(InputError, match=r"is not a file of numbers \(numbers-1\); name a new file"):
        ResultsFile(path, NUMBERS)
    path.write_text(HEAD + json.dumps(with_checksum({"key": "a", "value": "three"})) + "\n")
    with pytest.raises(InputError, match="line 2 is damaged; remove it or name a new file"):
        ResultsFile(path, NUMBERS)
    path.write_text(HEAD + json.dumps(with_checksum({"key": "a", "value": 10**400})) + "\n")
    with pytest.raises(InputError, match="line 2 is damaged; remove it or name a new file"):
        ResultsFile(path, REALS)  # which no floating-point number is
    with pytest.raises(InputError, match="folder"):
        ResultsFile(tmp_path, NUMBERS)
    with pytest.raises(InputError, match="is not a regular file"):
        ResultsFile("/dev/null", NUMBERS)
