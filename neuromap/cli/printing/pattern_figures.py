"""Figures of a network's patterns: counts, bounds, times; the JSON and the tables of ``neuromap rollouts``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import neuromap as nm
from neuromap.cli.printing.documents import NETWORK_COUNTS, PATTERN_FIGURES
from neuromap.cli.printing.text_output import text_console
from neuromap.files.messages import counted
from neuromap.render.table import Table, print_rest, print_text, text_table
from neuromap.rollout.schedule.execution import EXECUTIONS

if TYPE_CHECKING:
    from neuromap.network.edge import EdgeKey


def pattern_counts(network: nm.Network) -> dict[str, Any]:
    """Count the valid patterns of a network, with the bounds of Lemma 1 and whether each figure is proven."""
    found: dict[str, Any] = NETWORK_COUNTS.write(
        {
            "network": network,
            "valid": nm.rollout.count_valid_patterns(network),
            "bounds": nm.rollout.lemma1_bounds(network),
            "sequential": nm.rollout.most_sequential_summary(network),
            "classes": nm.rollout.count_behaviour_classes(network),
        }
    )
    return found


def pattern_figures(
    pattern: nm.RolloutPattern, behaviour_class: int | None, latencies: Mapping[EdgeKey, int] | None = None
) -> dict[str, Any]:
    """Time a pattern in both executions, in update steps, or ticks with latencies; invalid ones name their cycle."""
    streaming, is_valid = nm.RolloutPattern.streaming(pattern.network), pattern.is_valid
    busiest = max(latencies.values()) if latencies else 1  # a node accepts no frame before it has finished the last
    rollouts = {
        name: nm.Rollout(pattern.network, pattern, name, latencies, busiest) if is_valid else None
        for name in EXECUTIONS
    }
    found: dict[str, Any] = PATTERN_FIGURES.write(
        {
            "pattern": pattern,
            "streaming": streaming,
            "shift": nm.rollout.equivalent(streaming, pattern) if is_valid else None,
            "behaviour_class": behaviour_class,
            "executions": rollouts,
        }
    )
    return found


# The same as tables.


_LONGEST_NUMBER = 15
_HEADERS = (
    "pattern",
    "streaming\nedges",
    "F",
    "class",
    "execution",
    "frame\nperiod",
    "first\nresponse",
    "full\nresponse",
    "worst-case\nreaction",
)
_NAMES = {
    "valid": "valid patterns",
    "forward_bound": "  at least (2 to the edges on no cycle)",
    "cycle_bound": "  at least (node-disjoint simple cycles)",
    "upper_bound": "  at most (2 to the edges but self-edges)",
    "most_sequential": "most sequential patterns",
    "behaviour_classes": "behaviour classes",
}


def print_rollouts(figures: Mapping[str, Any], *, every: bool = True) -> None:
    """Print counts, then a table of the listed patterns; all times in update steps."""
    console = text_console()
    counts, proven = figures["counts"], figures["proven"]
    console.print(
        f"{figures['network']}: {counted(figures['nodes'], 'node')}, {counted(counts['edges'], 'edge')} "
        f"({counts['self_edges']} from a "
        f"node to itself); inputs {_listed(figures['inputs'])}; outputs {_listed(figures['outputs'])}",
        markup=False,
    )
    numbers = []
    for key, name in _NAMES.items():
        note = "" if proven.get(key, True) or counts[key] is None else "not proven"
        numbers.append((name, _number(counts[key], counts[f"{key}_log2"]), note))
    text_table(("count", "number", ""), numbers).print(console)
    rows = figures["patterns"]
    times = "Times in update steps."
    if (work := figures.get("work_per_tick")) is not None:
        times = (
            f"Times in ticks, of {work:,} multiply-accumulates in every node: a node takes as many as its work fills."
        )
        times += " F in update steps."
    console.print(times)
    table = _times(rows, counts["edges"], len(figures["outputs"]))
    table.print(console, brief=not every)
    for row in rows:
        if not row["valid"]:
            cycle = " -> ".join([*row["cycle"], row["cycle"][0]])
            console.print(f"{row['name']}: invalid, its sequential edges form the cycle {cycle}", markup=False)
    _print_notes(rows, len(figures["inputs"]), numbers_are_of_network=figures["class_numbers_are_of_network"])
    if left := [] if every else table.left_out(console.width):
        print_rest(console, left, "--all or --json")
    if figures["listed"] < len(rows) or (rows and rows[0]["name"] == "#1" and not figures["complete"]):
        console.print(f"The first {figures['listed']} valid patterns; --limit shows more.")


def _times(rows: list[Mapping[str, Any]], n_edges: int, n_outputs: int) -> Table[Sequence[str]]:
    """Make the table of times."""
    lines = []
    for row in rows:
        head = [
            row["name"],
            f"{len(row['streaming_edges'])} of {n_edges}",
            "-" if row["inference_factor"] is None else f"{row['inference_factor']}",
            "-" if row["behaviour_class"] is None else f"{row['behaviour_class']}",
        ]
        for execution, times in row["executions"].items():
            if times is None:
                lines.append([*head, "-", "-", "-", "-", "-"])
                break
            cells = [
                _responses(times[key], times["full_response_is_exact"] if key == "full_response" else {}, n_outputs)
                for key in ("first_response", "full_response", "worst_case_reaction")
            ]
            lines.append([*head, execution, f"{times['frame_period']}", *cells])
            head = ["", "", "", ""]
    return text_table(_HEADERS, lines, (0, 4), last=1, repeated=(0, 4))


def _responses(steps: Mapping[str, int], exact: Mapping[str, bool], n_outputs: int) -> str:
    shown = [(o, f"{'' if exact.get(o, True) else '<= '}{k}") for o, k in steps.items()]
    if n_outputs == 1:
        return shown[0][1]
    some = [f"{o} {text}" for o, text in shown[:4]]
    return ", ".join(some + (["..."] if len(shown) > 4 else []))


def _print_notes(rows: list[Mapping[str, Any]], n_inputs: int, *, numbers_are_of_network: bool) -> None:
    console = text_console()
    say = partial(print_text, console)
    say(
        "F: inference factor. First response: from stimulus onset to the first output that depends on it; full "
        "response: to the first output that the longest path from the input has reached."
    )
    if n_inputs > 1:
        say(
            "With several inputs, the first response is that of the input answered first, the worst-case reaction to "
            "an event at the one answered last."
        )
    if any(not all(t["full_response_is_exact"].values()) for r in rows for t in r["executions"].values() if t):
        say("<=: an upper bound, the search for the longest path was cut off.")
    if any(row["behaviour_class"] not in (None, 1) for row in rows):
        say(
            "Class: patterns of one behaviour class compute the same function up to a shift by whole frames; to change "
            "from one class to another, a network must be trained anew. Class 1 is streaming's."
        )
    if not numbers_are_of_network:
        say("Too many valid patterns to enumerate: classes without a named pattern have the next free numbers.")


def _number(value: int | str | None, log2: float | None) -> str:
    if value is None:
        return "not counted"
    text = str(value)
    return text if len(text) <= _LONGEST_NUMBER else f"2^{log2:.2f}"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
