"""Figures of a run: how rows, columns and documents call them, and what they are counted in."""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["RUN_FIGURES", "Kind", "RunFigure", "Unit"]

Unit = Literal["", "ticks", "s", "Hz", "J", "W", "yes"]
Kind = Literal["whole", "real", "yes"]


class RunFigure(NamedTuple):
    """A figure of every run."""

    key: str  # its name in rows, tables and documents, with its unit
    title: str  # what people read
    # in which it is counted; ``""`` for counts that the title names, ``"yes"`` for what holds or does not
    unit: Unit = ""
    kind: Kind = "whole"  # whole numbers, floats, or booleans
    is_shown: bool = False  # whether the table of the terminal has it; the others are in CSV, Parquet and JSON


RUN_FIGURES = (
    RunFigure("frame_period_ticks", "frame period, mean", "ticks", "real"),
    RunFigure("largest_gap_ticks", "frame period, at most", "ticks"),
    RunFigure("sampling_frequency_hz", "sampling frequency", "Hz", "real", is_shown=True),
    RunFigure("predicted_first_response_ticks", "first response, predicted", "ticks", "whole", is_shown=True),
    RunFigure("measured_first_response_ticks", "first response, measured", "ticks", "whole", is_shown=True),
    RunFigure("measured_first_response_seconds", "first response, measured", "s", "real"),
    RunFigure("predicted_full_response_ticks", "full response, predicted", "ticks", "whole"),
    RunFigure("measured_full_response_ticks", "full response, measured", "ticks", "whole"),
    RunFigure("measured_full_response_seconds", "full response, measured", "s", "real"),
    RunFigure("worst_case_reaction_ticks", "worst-case reaction", "ticks", "whole"),
    RunFigure("cores", "cores", "", "whole", is_shown=True),
    RunFigure("core_bound", "cores of any mapping, at least", "", "whole"),
    RunFigure("neurons", "neurons", "", "whole"),
    RunFigure("copies", "copies", "", "whole"),
    RunFigure("relays", "relays", "", "whole"),
    RunFigure("mean_hops", "hops to a target, mean", "", "real"),
    RunFigure("longest_way_hops", "hops to the farthest target", "", "whole"),
    RunFigure("spikes_per_frame", "spikes per frame", "", "real", is_shown=True),
    RunFigure("hops_per_frame", "hops per frame", "", "real", is_shown=True),
    RunFigure("synaptic_events_per_frame", "synaptic events per frame", "", "real"),
    RunFigure("joules_per_frame", "energy per frame", "J", "real", is_shown=True),
    RunFigure("watts", "power", "W", "real"),
    RunFigure("verified", "verified", "yes", "yes", is_shown=True),
)
"""In the order of columns; times are in ticks of the run's execution, from stimulus onset, over all outputs."""
