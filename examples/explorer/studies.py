"""What the explorer page is about, computed: explorations, brute force, schedules alone, and shortest ticks.

Every study gives a JSON-ready document. What takes long is kept under a folder for work in progress and taken from
there when the study is run again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import neuromap as nm
from examples.explorer.rows import document
from neuromap.explorer.candidates.pattern_space import pattern_space
from neuromap.explorer.candidates.schedules import graph_of, schedules_of
from neuromap.files.whole_file import write_whole
from neuromap.rollout.behaviour import behaviour_classes, count_behaviour_classes, enumerate_valid
from neuromap.rollout.schedule.execution import EXECUTIONS
from neuromap.simulation.choose_frames import choose_stimuli
from neuromap.simulation.cost.steady_figures import steady_figures

__all__ = ["STUDIES", "Study", "brute_force", "curves", "explored"]

EXAMPLES = Path(__file__).parents[1]
FILES = {
    **{f"digits-{name}": f"digits/{name}.toml" for name in ("ff", "s", "sr")},
    **{name: f"on_chip/{name}.toml" for name in ("sr", *(f"dsr{n}" for n in range(1, 7)))},
}
Study = Callable[[Path], dict[str, Any]]


def network_of(name: str) -> nm.Network:
    """Load a network of the studies."""
    return nm.load_network(EXAMPLES / FILES[name])


def explored(name: str, work: Path | None, **options: Any) -> dict[str, Any]:
    """Explore a network; rows that were mapped before are taken from its store.

    Parameters
    ----------
    name : str
        Of the network, as in ``FILES``.
    work : path or None
        Folder of the store.
    **options
        As for :func:`neuromap.explore`.
    """
    store = None if work is None else work / f"{name}.sqlite"
    return document(nm.explore(network_of(name), store=store, **options))


def brute_force(name: str, work: Path) -> dict[str, Any]:
    """Map every valid pattern in both executions, one by one; nothing of the search is used.

    Parameters
    ----------
    name : str
        Of the network.
    work : path
        Gets a file per candidate, so that it can be gone on with.
    """
    network = network_of(name)
    stimuli, _ = choose_stimuli(network)
    folder = work / f"brute-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for pattern in enumerate_valid(network):
        for execution in EXECUTIONS:
            bits = "".join(map(str, pattern.values))
            kept = folder / f"{bits}-{execution}.json"
            if not kept.exists():
                rollout = nm.Rollout(network, pattern, execution)
                program = nm.map_rollout(rollout)
                one = {
                    "first": min(rollout.first_response(o) for o in network.outputs),
                    "full": max(rollout.full_response(o) for o in network.outputs),
                    "reaction": min(rollout.worst_case_reaction(o) for o in network.outputs),
                    "period": program.period,
                    "cores": program.n_cores,
                    "energy": steady_figures(program, stimuli).joules_per_frame,
                }
                write_whole(kept, json.dumps(one).encode())
            one = json.loads(kept.read_text())
            joules = one.get("energy")
            found.append(
                [bits, execution, *(one[k] for k in ("first", "full", "reaction", "period", "cores")),
                 None if joules is None else float(f"{joules:.9g}")]
            )  # fmt: skip
    columns = ["pattern", "execution", "first_ticks", "full_ticks", "reaction_ticks", "period_ticks", "cores"]
    return {"network": network.name, "columns": [*columns, "energy_joules"], "rows": found}


def curves(name: str) -> dict[str, Any]:
    """First and full response of every class over the frame period, and of every windowed pattern.

    Classes are numbered with that of the sequential pattern first, then by first response at the least period.
    """
    network = network_of(name)
    special = {nm.RolloutPattern.named(network, title).values: title for title in ("streaming", "sequential")}
    longest = nm.Rollout(network, "sequential", "windowed").frame_period
    classes: list[dict[str, Any]] = []
    for patterns in behaviour_classes(network):
        points = []
        for period in range(1, longest + 2):
            rollout = nm.Rollout(network, patterns[0], f"pipelined:{period}")
            points.append([period, *_responses(rollout)])
        windowed: Counter[tuple[int, int, int]] = Counter()
        for pattern in patterns:
            rollout = nm.Rollout(network, pattern, "windowed")
            first, full = _responses(rollout)
            windowed[rollout.frame_period, first, full] += 1
        dots = [[*point, number] for point, number in sorted(windowed.items())]
        names = sorted(special[p.values] for p in patterns if p.values in special)
        classes.append({"patterns": len(patterns), "names": names, "curve": points, "windowed": dots})
    classes.sort(key=lambda c: ("sequential" not in c["names"], c["curve"][0][1:], c["curve"]))
    on = below = total = 0
    for c in classes:
        at = {period: (first, full) for period, first, full in c["curve"]}
        for period, first, full, number in c["windowed"]:
            total += number
            below += number * (first < at[period][0] or full < at[period][1])
            on += number * ((first, full) == at[period])
    return {
        "network": network.name, "windowed_patterns": total, "on_their_curve": on, "below_their_curve": below,
        "classes": classes,
    }  # fmt: skip


def _responses(rollout: nm.Rollout) -> tuple[int, int]:
    outputs = rollout.network.outputs
    return min(rollout.first_response(o) for o in outputs), max(rollout.full_response(o) for o in outputs)


def schedules(work: Path) -> dict[str, Any]:
    """Count patterns, classes, rows and distinct times of DSR1 to DSR6; nothing is mapped."""
    found = []
    for n in range(1, 7):
        network = network_of(f"dsr{n}")
        nothing = nm.explore(network, most_mapped=0, n_frames=2, verify=False)
        times: set[tuple[int, ...]] = set()
        for execution in EXECUTIONS:
            times |= {(period, first, full) for period, first, full in histogram(network, execution)}
        found.append(
            {
                "network": f"DSR{n}",
                "edges": len(network.edges),
                "valid_patterns": nothing.n_valid_patterns,
                "classes": count_behaviour_classes(network),
                "candidates": nothing.n_candidates,
                "distinct_rows": nothing.n_rows,
                "distinct_times": len(times),
                "core_bound": nothing.gap.core_bound,
            }
        )
    return {"rows": found}


def histogram(network: nm.Network, execution: str) -> Counter[tuple[int, int, int]]:
    """Count the patterns of a network by frame period, first and full response in update steps."""
    graph = graph_of(network)
    found: Counter[tuple[int, int, int]] = Counter()
    for values in pattern_space(graph, [nm.RolloutPattern.streaming(network)]).chunks():
        s = schedules_of(graph, values, execution)
        points, numbers = np.unique(np.stack([s.period, s.first, s.full], axis=1), axis=0, return_counts=True)
        for point, number in zip(points.tolist(), numbers.tolist(), strict=True):
            found[tuple(point)] += number
    return found


def heat(work: Path) -> dict[str, Any]:
    """Count the windowed patterns of DSR6 by frame period, first and full response."""
    counted = histogram(network_of("dsr6"), "windowed")
    return {
        "columns": ["period_ticks", "first_ticks", "full_ticks", "patterns"],
        "rows": [[*point, number] for point, number in sorted(counted.items())],
    }


def ticks(work: Path) -> dict[str, Any]:
    """Map some rows and run them: shortest tick of the network-on-chip, and the terms of energy."""
    wanted: list[tuple[str, nm.RolloutPattern, str]] = []
    network = network_of("sr")
    wanted += [("sr", pattern, "windowed") for pattern in enumerate_valid(network)]
    wanted += [("sr", nm.RolloutPattern.sequential(network), "pipelined")]
    network = network_of("dsr1")
    wanted += [("dsr1", nm.RolloutPattern.named(network, p), "windowed") for p in ("streaming", "sequential")]
    wanted += [("dsr1", nm.RolloutPattern.sequential(network), "pipelined")]
    # two between these: the first, or the last edges stream; the self-edge always does
    for values in ((1, 1, 1, 0, 0, 0, 0), (0, 1, 0, 1, 1, 1, 1)):
        wanted += [("dsr1", nm.RolloutPattern(network, values), "windowed")]
    return {"rows": [_kept(work, name, pattern, execution) for name, pattern, execution in wanted]}


def _kept(work: Path, name: str, pattern: nm.RolloutPattern, execution: str) -> dict[str, Any]:
    bits = "".join(map(str, pattern.values))
    kept = work / "ticks" / f"{name}-{bits}-{execution}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    if not kept.exists():
        rollout, mapped = nm.Rollout(pattern.network, pattern, execution), kept.with_suffix(".nmp")
        if not mapped.exists():
            nm.map_rollout(rollout).save(mapped)
        write_whole(kept, json.dumps(_tick(rollout, nm.load_program(mapped))).encode())
    titles = [p for p in ("streaming", "sequential") if nm.RolloutPattern.named(pattern.network, p) == pattern]
    return {"network": name, "pattern": bits, "name": "".join(titles), **json.loads(kept.read_text())}


def _tick(rollout: nm.Rollout, program: nm.Program) -> Mapping[str, Any]:
    found = nm.measure_steady_activity(program)
    traffic = found.activity.traffic
    first, full = _responses(rollout)
    return {
        "execution": rollout.execution,
        "period_ticks": program.period,
        "first_ticks": first,
        "full_ticks": full,
        "cores": program.n_cores,
        "shortest_tick_cycles": traffic.shortest_tick_cycles,
        "peak_mesh_link": 0 if traffic.busiest_link is None else traffic.busiest_link.spikes,
        "peak_core_link": 0 if traffic.busiest_core_link is None else traffic.busiest_core_link.spikes,
        "safe_tick_cycles": traffic.safe_tick_cycles,
        "safe_tick_any_cycles": traffic.safe_tick_any_cycles,
        "spikes_per_frame": round(found.spikes_per_frame, 3),
        "terms": [
            [t.title, t.included_in, float(f"{found.per_frame(t.joules):.9g}")]
            for t in found.energy.terms
            if t.joules is not None
        ],
    }


STUDIES: Mapping[str, Study] = {
    "digits-ff": lambda work: explored("digits-ff", work),
    "digits-s": lambda work: explored("digits-s", work),
    "digits-sr": lambda work: explored("digits-sr", work),
    "sr": lambda work: explored("sr", work),
    "brute-sr": lambda work: brute_force("sr", work),
    "curves-digits-s": lambda work: curves("digits-s"),
    "curves-dsr1": lambda work: curves("dsr1"),
    "curves-dsr2": lambda work: curves("dsr2"),
    "schedules": schedules,
    "heat-dsr6": heat,
    "ticks": ticks,
    "dsr1": lambda work: explored("dsr1", work),
    "brute-dsr1": lambda work: brute_force("dsr1", work),
    "dsr6": lambda work: explored("dsr6", work, given="sequential", most_mapped=5),
}
"""Every study by its name, which is also that of its document; the long ones are last."""
