"""Records of rows: what a crash or a hand can leave in a store."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import InputError
from neuromap.explorer.candidates.pattern_space import pattern_space, row_table
from neuromap.explorer.candidates.schedules import RowKeys, Sharing, core_weights, graph_of
from neuromap.explorer.search.measurements import Measured, measured_of, record_of
from neuromap.jobs.results_file import with_checksum
from neuromap.rollout.class_numbers import all_class_numbers

MAPPED = Measured("mapped", "", "steps", 1, 2, 3, 2, True, 4, 1.5e-6, 1e-9, None)
REFUSED = Measured("does not fit", "core (0, 0): needs 300 axons, has 256")


def changed(result, key="a", **changes):
    """A record with other members, and the checksum that goes with them."""
    members = {**json.loads(record_of(key, result)), **changes}
    return json.dumps({**members, "checksum": with_checksum({"key": key, **members})["checksum"]})


@pytest.mark.parametrize(
    "result",
    [
        MAPPED,
        REFUSED,
        Measured("mapped", "", "ticks", 1, 1, 1, 1, False, 1, None, None, True),
        Measured("mapped", "", "steps", Fraction(3, 2), 2, 3, 2, True, 4, 0.1, None, False),
    ],
)
def test_what_is_written_is_read(result):
    assert measured_of("a", record_of("a", result)) == result


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
def test_results_that_cannot_be_are_refused(result, changes):
    with pytest.raises(InputError, match=r"^record: is damaged$"):
        measured_of("a", changed(result, **changes))


@pytest.mark.parametrize(
    ("old", "new"), [('"cores": 4', '"cores": 3'), ("1.5e-06", "1.4e-06"), ('"checksum"', '"sum"')]
)
def test_a_record_that_was_edited_is_refused(old, new):
    written = record_of("b", MAPPED)
    assert old in written
    with pytest.raises(InputError, match="was changed since it was written"):
        measured_of("b", written.replace(old, new))


def test_a_record_of_another_row_is_refused():
    with pytest.raises(InputError, match="was changed since it was written"):
        measured_of("a", record_of("b", MAPPED))


@pytest.mark.parametrize("text", ["", "nonsense", "[]", "3", "[" * 100_000, "\0"])
def test_what_is_no_record_is_refused(text):
    with pytest.raises(InputError, match=r"^record: is not JSON object$"):
        measured_of("a", text)


@given(text=st.text(min_size=1).map(lambda t: f"x{t}\x1b[31m\n\u202eh"))
def test_messages_are_one_printable_line(text):
    found = measured_of("a", changed(REFUSED, message=text))
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
