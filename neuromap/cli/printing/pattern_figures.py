"""Figures of a network's patterns: counts, bounds, times; the JSON of ``neuromap rollouts``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import neuromap as nm
from neuromap.render.numbers import as_number, json_count

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
