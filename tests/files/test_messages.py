"""What one-line messages say: one of a thing is not several, wherever the program counts."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neuromap as nm
from neuromap import errors
from neuromap.files.messages import counted, show, show_name

KINDS = [getattr(errors, name) for name in errors.__all__]

ONES = re.compile(
    r"(?<![\d.,/])\b1 (ticks|frames|cores|neurons|spikes|copies|relays|edges|nodes|values|steps|stimuli)\b"
)


def test_one_of_a_thing_is_not_several(tmp_path):
    assert [counted(n, "copy", "copies") for n in (0, 1, 2)] == ["0 copies", "1 copy", "2 copies"]
    net = nm.build_network({"I": (1, None), "O": (1, 1)}, {("I", "O"): [[1]]})
    rollout = nm.Rollout(net, "streaming")
    program = nm.map_rollout(rollout)
    frames = {"I": np.array([[0], [1]])}
    shown = [
        rollout, program, nm.simulate(program, frames), nm.verify(rollout, program, frames).message,
        nm.latency_report(net, frames=frames).rows[0], nm.latency_report(net, frames=frames).to_text(),
        nm.explore(net, frames=frames).to_text(),
    ]  # fmt: skip
    assert not [found[0] for value in shown for found in ONES.finditer(str(value))]


@given(st.sampled_from(KINDS), st.text(st.characters(exclude_categories=())), st.text(max_size=9), st.integers(0, 3000))
def test_whatever_a_message_quotes_it_is_one_line_that_can_be_printed(kind, found, remedy, times):
    message = str(kind(f"name {found * times}: wrong; {remedy!a}"))
    assert message.isprintable()
    assert len(message) <= 2000
    message.encode()
    assert message.startswith("name ")
    assert message.endswith(f"; {remedy!a}")


@pytest.mark.parametrize("value", ["x" * 58, "x" * 59, "x" * 9000, "a\n b", 3, [1] * 99])
def test_what_was_found_is_shown_in_sixty_characters_and_whole_where_it_fits(value):
    whole = " ".join(repr(value).split())
    assert show(value) == (whole if len(whole) <= 60 else f"{whole[:57]}...")
    assert show(10**9999) == "a huge int"


def test_a_name_stands_as_it_is_up_to_three_hundred_characters():
    assert show_name("n" * 300) == "n" * 300
    assert show_name("n" * 301) == show("n" * 301)
    assert show_name("a\tb") == repr("a\tb")


def test_a_message_that_can_be_printed_is_left_as_it_is():
    assert str(errors.InputError("limit 3 µs, größer → 5; give less")) == "limit 3 µs, größer → 5; give less"


@pytest.mark.parametrize("name", ["two\nlines", "\x1b[31mred", "\udcff", "n" * 3000])
def test_a_pattern_of_any_name_is_refused_in_one_line(name):
    net = nm.build_network({"I": (1, None), "O": (1, 1)}, {("I", "O"): [[1]]})
    for text in (name, f"I -> {name}"):
        with pytest.raises(errors.PatternError) as caught:
            nm.RolloutPattern.named(net, text)
        assert str(caught.value).isprintable()
        assert str(caught.value).endswith("patterns are streaming, sequential")


@pytest.mark.parametrize("given", [None, 3, ValueError("x")])
def test_what_is_no_text_is_written_as_text(given):
    assert str(errors.NeuromapError(given)) == str(given)
