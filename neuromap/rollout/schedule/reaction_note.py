"""Which input a worst-case reaction refers to, in one sentence: of several inputs, the one answered last."""

from __future__ import annotations

from collections.abc import Iterable

from neuromap.rollout.schedule.rollout import Rollout

MOST_ROLLOUTS = 64
"""Most rollouts for which inputs are named one by one; for more, the sentence is general."""
_MOST_NAMED = 3


def reaction_note(rollouts: Iterable[tuple[str, Rollout]]) -> str | None:
    """Sentence on the input and output that the worst-case reaction over all outputs refers to."""
    # returns ``None`` if there is no choice: the network has one input
    rows = list(rollouts)
    if not rows or len(rows[0][1].network.inputs) < 2:
        return None
    inputs = rows[0][1].network.inputs
    others = "an event at another input may be answered sooner."
    if len(rows) > MOST_ROLLOUTS:
        which = f"that of the inputs {_listed(inputs)} which is answered last"
        return f"worst-case reaction: to an event at {which}; {others}"
    named: dict[str, dict[str, None]] = {}
    for name, rollout in rows:
        named.setdefault(_listed(_ways(rollout), most=2 * _MOST_NAMED), {})[name] = None
    each = "; ".join(f"{ways} in {_listed(list(names))}" for ways, names in named.items())
    told = f", {next(iter(named))}" if len(named) == 1 else f" ({each})"
    return f"worst-case reaction: to an event at the input that is answered last{told}; {others}"


def _ways(rollout: Rollout) -> list[str]:
    """List input -> output pairs that attain the slowest answer of all inputs."""
    last = rollout.slowest_response()
    slowest = [source for source, steps in rollout.answers.items() if steps == last]
    return [f"{u} -> {o}" for u in slowest for o, steps in rollout.responses_of_inputs[u].items() if steps == last]


def _listed(names: Iterable[str], most: int = _MOST_NAMED) -> str:
    every = list(names)
    shown = every[:most] + ([f"{len(every) - most} more"] if len(every) > most else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
