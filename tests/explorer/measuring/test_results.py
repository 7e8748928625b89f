"""Files of results: what two processes, a crash or a hand can leave in them."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import InputError
from neuromap.explorer.candidates.core_estimate import core_weights
from neuromap.explorer.candidates.graph import graph_of
from neuromap.explorer.candidates.pattern_space import pattern_space
from neuromap.explorer.candidates.row_keys import RowKeys, Sharing
from neuromap.explorer.candidates.row_table import row_table
from neuromap.explorer.measuring.measured import Measured
from neuromap.explorer.measuring.results import FORMAT, explorer_results
from neuromap.jobs.results_file import with_checksum
from neuromap.rollout.patterns.class_numbers import all_class_numbers

HEAD = json.dumps({"format": FORMAT}) + "\n"
MAPPED = Measured("mapped", "", "steps", 1, 2, 3, 2, True, 4, 1.5e-6, 1e-9, None)
REFUSED = Measured("does not fit", "core (0, 0): needs 300 axons, has 256")


def line(key, result, **changes):
    return json.dumps(with_checksum({"key": key, **asdict(result), **changes})) + "\n"


@pytest.mark.parametrize(
    "result", [MAPPED, REFUSED, Measured("mapped", "", "ticks", 1, 1, 1, 1, False, 1, None, None, True)]
)
def test_what_is_written_is_read(result, tmp_path):
    path = tmp_path / "found.jsonl"
    explorer_results(path).add("a", result)
    assert explorer_results(path).get("a") == result


def test_two_processes_may_begin_a_file_at_the_same_moment(tmp_path):
    path = tmp_path / "found.jsonl"
    path.write_text(HEAD + line("a", MAPPED) + HEAD + line("b", REFUSED))
    both = explorer_results(path)
    assert (both.get("a"), both.get("b")) == (MAPPED, REFUSED)


@settings(deadline=None)
@given(cut=st.integers(1, len(line("b", MAPPED)) - 2))
def test_a_torn_line_in_the_middle_is_mapped_again(cut, tmp_path_factory):
    path = tmp_path_factory.mktemp("torn") / "found.jsonl"
    torn = line("b", MAPPED)[:cut]  # another process wrote on behind it
    path.write_text(HEAD + line("a", MAPPED) + torn + line("c", MAPPED) + line("d", REFUSED))
    kept = explorer_results(path)
    assert [kept.get(key) for key in "abcd"] == [MAPPED, None, None, REFUSED]
    kept.add("b", REFUSED)
    assert explorer_results(path).get("b") == REFUSED


@pytest.mark.parametrize("text", ["\n" + HEAD, "{\n" + HEAD, line("a", MAPPED), "[]\n" + HEAD])
def test_the_first_line_must_name_the_format(text, tmp_path):
    path = tmp_path / "found.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match="is no file of explorer results"):
        explorer_results(path)


WHOLE = ("frame_period_ticks", "first_response_ticks", "full_response_ticks", "worst_case_reaction_ticks", "cores")
WRONG = (
    *((MAPPED, {name: value}) for name in WHOLE for value in (0, -1, None, True, 1.0, 2**53 + 1, 10**400, [1])),
    *(
        (MAPPED, {name: value})
        for name in ("energy_joules", "energy_half_width_joules")
        for value in (-1.0, 10**400, float("nan"), float("inf"), True, "1")
    ),
    *((MAPPED, {"verified": value}) for value in (0, 1, 1.0, "true")),
    *((MAPPED, {"full_response_exact": value}) for value in (None, 0, 1)),
    *((MAPPED, {"status": value}) for value in (["mapped"], "does not fit", None)),
    *((MAPPED, {"schedule": value}) for value in (["steps"], "seconds", None)),
    *((REFUSED, {name: 1}) for name in (*WHOLE, "energy_joules", "energy_half_width_joules")),
    *((REFUSED, {name: True}) for name in ("verified", "full_response_exact")),
    *((REFUSED, {"message": value}) for value in ("", " \n", None, 3)),
    (REFUSED, {"status": "mapped"}),
)


@pytest.mark.parametrize(("result", "changes"), WRONG)
def test_results_that_cannot_be_are_refused(result, changes, tmp_path):
    path = tmp_path / "found.jsonl"
    path.write_text(HEAD + line("a", result) + line("b", result, **changes))
    with pytest.raises(InputError, match="line 3 is damaged"):
        explorer_results(path)


@pytest.mark.parametrize(
    ("old", "new"), [('"cores": 4', '"cores": 3'), ('"key": "b"', '"key": "c"'), ("1.5e-06", "1.4e-06")]
)
def test_a_line_that_was_edited_is_refused(old, new, tmp_path):
    path = tmp_path / "found.jsonl"
    written = line("b", MAPPED)
    assert old in written
    path.write_text(HEAD + line("a", MAPPED) + written.replace(old, new))
    with pytest.raises(InputError, match="line 3 was changed since it was written"):
        explorer_results(path)


def test_a_line_without_checksum_is_refused(tmp_path):
    path = tmp_path / "found.jsonl"
    path.write_text(HEAD + json.dumps({"key": "a", **asdict(MAPPED)}) + "\n")
    with pytest.raises(InputError, match="line 2 was changed"):
        explorer_results(path)


def test_files_of_the_first_format_are_refused_with_what_to_do(tmp_path):
    path = tmp_path / "found.jsonl"
    path.write_text(json.dumps({"format": "neuromap-explorer-results-1"}) + "\n")
    with pytest.raises(InputError, match="have no checksums; name a new file"):
        explorer_results(path)


@given(text=st.text(min_size=1).map(lambda t: f"x{t}\x1b[31m\n\u202eh"))
def test_messages_are_one_printable_line(text, tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "found.jsonl"
    path.write_text(HEAD + line("a", REFUSED, message=text))
    found = explorer_results(path).get("a")
    assert found.message.isprintable()
    assert found.message.startswith("x")


def test_keys_of_other_widths_say_other_things():
    # words are packed with as many bits as the executions need, so equal words of two tables may be other schedules
    net = nm.load_network("examples/structures/sr.toml")
    graph, given = graph_of(net), nm.RolloutPattern.streaming(net)
    space, weights = pattern_space(graph, [given]), core_weights(graph, nm.load_chip("truenorth"))
    values = np.array(given.values, np.uint8)
    makers = [RowKeys(graph, Sharing(), names) for names in (("pipelined",), ("pipelined:200",))]
    tables = [row_table(space, row_keys, values, weights, all_class_numbers(net)) for row_keys in makers]
    texts = [{table.key_text(row) for row in range(len(table))} for table in tables]
    assert texts[0].isdisjoint(texts[1])
    assert makers[0].meaning != makers[1].meaning
