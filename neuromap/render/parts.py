"""Parts that several JSON documents have: labels of a program, unequal intervals, heads of networks and chips."""

from __future__ import annotations

from typing import Any

from neuromap.render.document import (
    COUNT,
    INTEGER,
    NUMBER,
    POSITIVE,
    RATE,
    TEXT,
    Shape,
    const,
    each,
    enum,
    kind,
    record,
)
from neuromap.render.numbers import intervals

PATTERN = TEXT("Rollout pattern; empty for programs by hand.")
EXECUTION = TEXT("windowed, pipelined, pipelined:P or pipelined:best; empty for programs by hand.")
PERIOD = NUMBER("Frame period in ticks; a mean where intervals are unequal.")
FILE = TEXT.or_null("File that was written.")
SENT = kind("boolean", "integer")
"""What a neuron sends: whether it spikes, or the value of a graded one."""
GRADED = const(True).optional(at=lambda verification: verification.is_graded or None)
"""Written of graded networks only, so that documents of others are as they were."""
ANYTHING = kind("number", "string", "boolean", "null")
COLUMNS = each(record(key=TEXT, title=TEXT, unit=TEXT))
EDGE = each(TEXT, minItems=2, maxItems=2)

NETWORK = record(
    name=TEXT,
    nodes=INTEGER(minimum=2, at=lambda network: len(network.nodes)),
    edges=POSITIVE(at=lambda network: len(network.edges)),
    inputs=each(TEXT, minItems=1),
    outputs=each(TEXT, minItems=1),
)
CHIP = record(
    name=TEXT,
    cores=POSITIVE("Cores of the board, dead ones included.", at="n_cores"),
    usable_cores=COUNT("Those that are not dead.", at="n_usable_cores"),
    tick_seconds=RATE,
    ticks=enum("timed")(
        "Only where ticks last as long as their work: tick_seconds is then no time that one takes.",
        at=lambda chip: "timed" if chip.is_timed else None,
    ).optional,
)
TIME_AXIS = record({"windowed": TEXT, "pipelined": TEXT, "pipelined:best": TEXT.optional})(
    "What the time axis of each execution is."
)
GAPS = record(
    frames=COUNT,
    ticks=COUNT,
    largest_gap_ticks=COUNT("Most ticks between two frames."),
)("Unequal intervals: so many frames in so many ticks.").optional


def _unequal(whole: Any) -> Any:
    return intervals(whole.frame_period_ticks).get("intervals")


INTERVALS = record(
    frames=INTEGER("Frames in every `ticks` ticks.", minimum=2),
    ticks=INTEGER("Ticks after which the intervals repeat.", minimum=3),
    largest_gap_ticks=INTEGER("Most ticks between two frames of one node.", minimum=2),
)("Only where frames come at unequal intervals: the mean frame period, exact.", at=_unequal).optional


def another(name: str, text: str) -> Shape:
    """Describe a member that is a document of its own, whose ``format`` says which."""
    return record(format=Shape({"const": name}))(text, additionalProperties=None)
