"""A program's use of its chip, as figures for people and programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import neuromap as nm
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.times import Time, largest_gap
from neuromap.files.messages import counted
from neuromap.render.numbers import seconds

if TYPE_CHECKING:
    from neuromap.hardware.program.chip_program import ChipProgram
    from neuromap.mapping.bounds.lower_bounds import CoreBound


# Figures in the table, and descriptions beside them.
UNITS = {
    "cores": "of {usable_cores}",
    "shared_cores": "hold neurons of several nodes",
    "neurons": "in use",
    "copies": "neurons that repeat another",
    "replicas": "neurons with copies in several cores",
    "splitters": "neurons that fan out",
    "relays": "neurons that lengthen a delay",
    "axons": "fed by a neuron or the host",
    "bias_axons": "of them carry a constant",
    "synapses": "crossings that are set",
    "neuron_utilisation": "of the neurons of the cores in use",
    "axon_utilisation": "of the axons of the cores in use",
    "deliveries": "pairs of a source and a core that it reaches",
    "mean_fan_out": "cores that a source reaches",
    "largest_fan_out": "cores",
    "weighted_hops": "from neurons to their targets, summed",
    "mean_hops": "per target",
    "longest_way": "hops",
    "chip_crossings": "chip boundaries on the ways to all targets",
    "output_axons": "pairs of a neuron and a core that it feeds",
    "synapse_memory_utilisation": "of the memory for synapses of the cores in use",
    "parts": "neurons that hold parts of sums wider than a core",
    "compartments": "in use, one for each current of a neuron",
    "frame_period_ticks": "ticks",
    "ticks_per_step": "ticks",
    "sampling_frequency_hz": "frames per second",
}

# Those that differ on synapse-list cores.
_ON_LISTS: Mapping[str, str] = ReadOnlyMapping(
    {"synapses": "in lists", "neuron_utilisation": "of the compartments of the cores in use"}
)

# Figures that only apply if a neuron sends to one axon.
_OF_CROSSBARS = ("copies", "replicas", "splitters")


def program_figures(program: ChipProgram, bound: CoreBound | None = None) -> dict[str, Any]:
    """Return the figures of a program's use of its chip."""
    from neuromap.cli.printing.documents import PROGRAM
    from neuromap.hardware.program.usage import count_usage

    found: dict[str, Any] = PROGRAM.write({**vars(count_usage(program)), "program": program, "core_bound": bound})
    return found


def figure_rows(figures: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Format figures for people."""
    rows, has_lists = [], figures["compartments"] is not None
    bound, gaps = figures.get("core_bound"), figures.get("intervals")
    for key, unit in UNITS.items():
        value = figures[key]
        if value is None or (has_lists and key in _OF_CROSSBARS and not value):
            continue
        shown, unit = _shown(key, value), unit.format(**figures)
        if has_lists:
            unit = _ON_LISTS.get(key, unit)
        if key == "cores" and bound is not None:
            which = "any mapping with these parts of sums" if figures.get("parts") else "any mapping"
            unit += f"; {which} takes {bound['total']} or more, for its {bound['by']}"
        if gaps is not None and key in ("frame_period_ticks", "sampling_frequency_hz"):
            unit += ", a mean"
        if gaps is not None and key == "frame_period_ticks":
            shown = f"{gaps['ticks']}/{gaps['frames']}"
            unit += f"; the largest gap is {counted(gaps['largest_gap_ticks'], 'tick')}"
        rows.append((key.removesuffix("_ticks").removesuffix("_hz").replace("_", " "), shown, unit))
    return rows


def main_rows(figures: dict[str, Any], rollout: nm.Rollout, program: ChipProgram) -> list[tuple[str, str, str]]:
    """Format the six main figures for comparing rollouts."""
    # cores, neurons, hops, frame period in ticks, and the responses predicted by the schedule, in ticks: the least
    # first and the greatest full response over outputs
    scale = 1 if rollout.is_tick_level else program.ticks_per_step
    responses = rollout.full_responses.values()
    first, full = scale * min(rollout.first_responses.values()), scale * max(one.steps for one in responses)
    at_most = "" if all(one.is_exact for one in responses) else "≤ "
    value = {name: (value, unit) for name, value, unit in figure_rows(figures)}
    chip = program.chip
    sampling = f"sampling at {value['sampling frequency'][0]} Hz" if "sampling frequency" in value else _TIMED
    return [
        ("cores", *value["cores"]),
        ("neurons", value["neurons"][0], _neurons_line(figures)),
        ("mean hops", value["mean hops"][0], "from a neuron to its target"),
        ("frame period", f"{program.period}", f"{_ticks(program.period, chip)}{_apart(program.period)}, {sampling}"),
        ("first response", f"{first}", f"{_ticks(first, chip)}, from stimulus onset"),
        ("full response", f"{at_most}{full}", f"{_ticks(full, chip)}, from stimulus onset"),
    ]


def _neurons_line(figures: dict[str, Any]) -> str:
    """Describe the neurons in use; synapse-list cores have no copies, but a neuron may take several compartments."""
    compartments = figures["compartments"]
    one_of = {"copies": "copy", "splitters": "splitter", "relays": "relay", "parts": "part of a sum"}
    extra = [
        counted(figures[key], one, "parts of sums" if key == "parts" else key)
        for key, one in one_of.items()
        if figures[key] or (key == "copies" and compartments is None)
    ]
    among = f", among them {', '.join(extra)}" if extra else ""
    return f"in use{among}" + ("" if compartments in (None, figures["neurons"]) else f"; {compartments} compartments")


def _apart(period: Time) -> str:
    gap = largest_gap(period)
    return "" if gap == period else f" on average, frames {gap - 1} or {gap} ticks apart"


_TIMED = "each as long as its work; neuromap report gives the seconds"


def _ticks(count: Time, chip: nm.ChipSpec) -> str:
    length = "" if chip.is_timed else f" = {seconds(count * chip.tick_seconds)}"
    return f"tick{'' if count == 1 else 's'}{length}"


def _shown(key: str, value: Any) -> str:
    if key.endswith("utilisation"):
        return f"{value:.1%}"
    return f"{value:.4g}" if isinstance(value, float) else f"{value}"
