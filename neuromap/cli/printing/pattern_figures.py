"""Figures of a network's patterns: counts, bounds, times; the JSON and the tables of ``neuromap rollouts``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import neuromap as nm
from neuromap.cli.printing.text_output import text_console
from neuromap.files.messages import counted
from neuromap.render.numbers import as_number, json_count
from neuromap.render.table import Table, print_rest, print_text, text_table

if TYPE_CHECKING:
    from neuromap.network.edge import EdgeKey


def pattern_counts(network: nm.Network) -> dict[str, Any]:
    """Count the valid patterns of a network, with the bounds of Lemma 1 and whether each figure is proven."""
    valid = nm.rollout.count_valid_patterns(network)
    bounds = nm.rollout.lemma1_bounds(network)
    sequential = nm.rollout.most_sequential_summary(network)
    classes = nm.rollout.count_behaviour_classes(network)
    return {
        "network": network.name,
        "nodes": len(network.nodes),
        "inputs": list(network.inputs),
        "outputs": list(network.outputs),
        "counts": {
            "edges": len(network.edges),
            "self_edges": len(network.self_edges),
            **count_members("valid", valid.value),
            **count_members("forward_bound", bounds.forward_bound),
            **count_members("cycle_bound", bounds.cycle_bound),
            **count_members("upper_bound", bounds.upper_bound),
            **count_members("most_sequential", sequential.count),
            **count_members("behaviour_classes", classes),
        },
        "proven": {
            "valid": valid.proven,
            "cycle_bound": bounds.cycle_bound_proven,
            "most_sequential": sequential.proven,
            "behaviour_classes": classes is not None,
        },
    }


def pattern_figures(
    pattern: nm.RolloutPattern, behaviour_class: int | None, latencies: Mapping[EdgeKey, int] | None = None
) -> dict[str, Any]:
    """Time a pattern in both executions, in update steps, or ticks with latencies; invalid ones name their cycle."""
    from neuromap.rollout.schedule.execution import EXECUTIONS

    network = pattern.network
    streaming = nm.RolloutPattern.streaming(network)
    valid = pattern.is_valid
    shift = nm.rollout.equivalent(streaming, pattern) if valid else None
    busiest = max(latencies.values()) if latencies else 1  # a node accepts no frame before it has finished the last
    bridging = {_label(key): r for key, r in pattern.bridging_edges.items()}
    return {
        "name": pattern.name,
        "streaming_edges": [_label(key) for key in pattern.streaming_edges],
        **({"bridging_edges": bridging} if bridging else {}),
        "valid": valid,
        "cycle": list(pattern.cycle),
        "inference_factor": pattern.inference_factor if valid else None,
        "equally_model_parallel_to_streaming": pattern.equally_model_parallel(streaming),
        "behaviour_class": behaviour_class,
        "equivalent_to_streaming": shift is not None if valid else None,
        "shift_from_streaming": shift,
        "executions": {
            name: _execution(nm.Rollout(network, pattern, name, latencies, busiest)) if valid else None
            for name in EXECUTIONS
        },
    }


def _execution(rollout: nm.Rollout) -> dict[str, Any]:
    outputs = rollout.network.outputs
    return {
        "frame_period": as_number(rollout.frame_period),
        "delays": {_label(key): steps for key, steps in rollout.delays.items()},
        "first_response": {o: rollout.first_response(o) for o in outputs},
        "full_response": {o: rollout.full_response(o) for o in outputs},
        "full_response_is_exact": {o: rollout.full_response_is_exact(o) for o in outputs},
        "worst_case_reaction": {o: rollout.worst_case_reaction(o) for o in outputs},
        "best_input_reaction": {o: rollout.best_input_reaction(o) for o in outputs},
        "first_inputs": {o: rollout.first_inputs(o) for o in outputs},
    }


def _label(key: EdgeKey) -> str:
    return f"{key[0]} -> {key[1]}"


def count_members(name: str, number: int | None) -> dict[str, Any]:
    """Make the JSON members of a count."""
    # number: the count; ``None`` if not counted
    # returns ``{name: number, name_log2: float}``; from 2^53 on, the number is a decimal string, because readers that
    # use doubles would round it. Both are ``None`` if not counted, and the logarithm of 0 is ``None``
    if number is None:
        return {name: None, f"{name}_log2": None}
    return {name: json_count(number), f"{name}_log2": math.log2(number) if number > 0 else None}


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
    console.print(_unit(figures))
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


def _unit(figures: Mapping[str, Any]) -> str:
    """Return the unit of times, and F."""
    if figures.get("work_per_tick") is None:
        return "Times in update steps."
    return (
        f"Times in ticks, of {figures['work_per_tick']:,} multiply-accumulates in every node: a node takes as many as "
        "its work fills. F in update steps."
    )


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
