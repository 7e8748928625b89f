"""Forms of an accuracy: text, JSON, CSV."""

from __future__ import annotations

from neuromap.accuracy.accuracy import Accuracy, FrameAccuracy, SureAnswers, SureMargin, seconds_of
from neuromap.files.messages import counted
from neuromap.render.document import COUNT, EXECUTION, NUMBER, PART, PATTERN, TEXT, const, document, each, record_of
from neuromap.render.numbers import joules, plain
from neuromap.render.table import Column, Table, csv_text

DOCUMENT = document(
    "accuracy",
    format=const("neuromap accuracy 1"),
    network=TEXT,
    pattern=PATTERN,
    execution=EXECUTION,
    **dict.fromkeys(("chip", "data", "part", "output"), TEXT),
    images=COUNT(at="n_images"),
    **dict.fromkeys(("classes", "seed", "cores"), COUNT),
    first_response_ticks=COUNT(at="first_response"),
    sampling_frequency_hz=NUMBER.or_null(at="sampling_frequency"),
    synaptic_events_per_frame=NUMBER.or_null(at="synaptic_events"),
    spikes_per_frame=NUMBER.or_null(at="spikes"),
    energy_per_frame_joules=NUMBER.or_null(at="joules"),
    images_of_costs=COUNT(at="n_costed"),
    summed=const(True).optional(at=lambda found: found.summed or None),
    frames=each(record_of(FrameAccuracy, update_step=NUMBER.or_null, accuracy=PART, seconds=NUMBER.optional)),
    sure=each(
        record_of(
            SureAnswers,
            accuracy=PART,
            tick=NUMBER,
            update_step=NUMBER.or_null,
            sure=PART,
            right_when_sure=PART.or_null,
            seconds=NUMBER.optional,
        )
    ).optional(at=lambda found: found.sure or None),
    chosen_margin=record_of(SureMargin, wanted=PART, right_when_sure=PART).optional,
)
# Conversion to plain values; times are since stimulus onset, costs per frame.
to_dict = DOCUMENT.of


def to_csv(found: Accuracy) -> str:
    """Write frame, update step and tick since onset, correct images and accuracy as CSV (RFC 4180, UTF-8)."""
    columns = ("frame", "update_step", "tick", "correct", "images", "accuracy")
    return csv_text([{**frame, "images": found.n_images} for frame in to_dict(found)["frames"]], columns)


def _percent(part: float | None) -> str:
    return "-" if part is None else f"{100 * part:.2f} %"


_COLUMNS: tuple[Column[FrameAccuracy], ...] = (
    Column("frame", lambda frame: str(frame.frame), left=True),
    Column("known at\n[update step]", lambda frame: plain(frame.update_step)),
    Column("known at\n[tick]", lambda frame: f"{frame.tick}{seconds_of(frame)}"),
    Column("right\n[images]", lambda frame: f"{frame.correct:,}"),
    Column("accuracy", lambda frame: _percent(frame.accuracy)),
)


_SURE: tuple[Column[SureAnswers], ...] = (
    Column("lead\n[votes]", lambda one: str(one.margin), left=True),
    Column("answered at\n[tick, mean]", lambda one: f"{one.tick:.2f}{seconds_of(one)}"),
    Column("sure", lambda one: _percent(one.sure)),
    Column("right\nwhen sure", lambda one: _percent(one.right_when_sure)),
    Column("accuracy", lambda one: _percent(one.accuracy)),
)
# Most points of a curve to print; the JSON document has all.
_MOST_MARGINS = 12


def render_text(found: Accuracy, width: int = 100) -> str:
    """Write a summary line, the accuracy by frame, update step and tick, and the costs."""
    sent, most = ("messages", "the greatest value") if found.is_graded else ("spikes", "most spikes")
    where = "in the frames up to it" if found.summed else "in it"
    return (
        f"{found.network} ({found.pattern}, {found.execution}) on {found.chip}, {found.n_images:,} {found.part} images "
        f"of {found.data}, {found.classes} classes with {counted(found.voters, 'neuron')} each\n\n"
        f"{Table(_COLUMNS, found.frames).text(width)}\n\n"
        f"{_sure_text(found, width)}"
        f"cores: {found.cores:,}; first response {found.response_told}; sampling frequency "
        f"{plain(found.sampling_frequency)} Hz\n"
        f"per frame in steady operation: {plain(found.synaptic_events)} synaptic events, {plain(found.spikes)} {sent}, "
        f"{joules(found.joules)} (mean over {found.n_costed} images)\n"
        f"a frame names the class with {most} of {found.output} {where}, the lowest of equals; frame 1 is the first "
        "response; steps and ticks since the onset of the stimulus\n"
    )


def _sure_text(found: Accuracy, width: int) -> str:
    """Write accuracy and time of sure answers by their required lead."""
    if not found.sure:
        return ""
    last, few = len(found.sure) - 1, min(len(found.sure), _MOST_MARGINS)
    rows = [found.sure[round(k * last / max(1, few - 1))] for k in range(few)]
    shown = "" if few == len(found.sure) else f"; {few} of {len(found.sure)} leads, --json has all"
    chosen = ""
    if (one := found.chosen_margin) is not None:
        chosen = (
            f"a lead of {one.margin} was chosen on {one.images:,} training images: the least whose sure answers are "
            f"right to {100 * one.wanted:g} % there ({_percent(one.right_when_sure)})\n"
        )
    return (
        f"{Table(_SURE, rows).text(width)}\n\n"
        f"answers as soon as one class leads by so many votes in all frames so far, else at frame "
        f"{found.n_frames}{shown}\n{chosen}\n"
    )
