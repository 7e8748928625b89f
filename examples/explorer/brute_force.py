"""The front of a network's rollouts by brute force: every valid pattern in every execution is mapped.

It shares no code with the search (neuromap/explorer/search/, candidates/row_keys.py): what must agree are the
fronts. With two processes DSR1 on a chip takes about two hours of one core:

    python examples/explorer/brute_force.py examples/on_chip/dsr1.toml --processes 2
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import time
from typing import NamedTuple

import neuromap as nm
from neuromap.errors import DoesNotFitError
from neuromap.explorer.explore import explore
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.rollout.behaviour import equivalent
from neuromap.simulation.choose_frames import RandomFrames, choose_stimuli
from neuromap.simulation.cost.steady_figures import steady_figures
from neuromap.simulation.engine.engine_choice import EngineChoice

FRAMES = 8


class Point(NamedTuple):
    """Figures of one candidate, less is better: ticks, cores, joules per frame."""

    first: int
    full: int
    reaction: int
    period: int
    cores: int
    energy: float


def point_of(network: str, chip: str, values: tuple[int, ...], execution: str) -> Point | None:
    """Map one candidate and measure it; ``None`` where it does not fit."""
    net = nm.load_network(network)
    stimuli, _ = choose_stimuli(net, None, RandomFrames(FRAMES))
    try:
        mapping = map_with_stages(nm.Rollout(net, nm.RolloutPattern(net, values), execution), nm.load_chip(chip))
    except DoesNotFitError:
        return None
    rollout, program = mapping.rollout, mapping.program
    step = 1 if rollout.is_tick_level else program.ticks_per_step
    return Point(
        min(rollout.first_response(o) for o in net.outputs) * step,
        max(rollout.full_response(o) for o in net.outputs) * step,
        min(rollout.worst_case_reaction(o) for o in net.outputs) * step,
        program.period,
        program.n_cores,
        rounded(steady_figures(program, stimuli, EngineChoice(threads=1)).joules_per_frame),
    )


def rounded(energy: float | None) -> float:
    """Drop the last bits, in which sums in another order differ."""
    return 0.0 if energy is None else float(f"{energy:.11g}")


def front(points: set[Point], tolerance: float) -> set[Point]:
    """Points that no point of this set beats, energies within the tolerance being equal."""
    found: set[Point] = set()
    for point in sorted(points):  # what beats a point comes before it
        if not any(beats(other, point, tolerance) for other in found):
            found.add(point)
    return found


def beats(one: Point, other: Point, tolerance: float) -> bool:
    """Whether a point is as good everywhere and better somewhere."""
    exact = all(x <= y for x, y in zip(one[:-1], other[:-1], strict=True))
    if not exact or one.energy > other.energy * (1 + tolerance):
        return False
    return one[:-1] != other[:-1] or one.energy < other.energy * (1 - tolerance)


def main() -> int:
    """Compare the fronts; 0 if they are equal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network")
    parser.add_argument("--chip", default="truenorth")
    parser.add_argument("--given", default="streaming")
    parser.add_argument("--processes", type=int, default=1)
    chosen = parser.parse_args()
    net = nm.load_network(chosen.network)
    given = nm.RolloutPattern.named(net, chosen.given)

    patterns = [nm.RolloutPattern(net, v) for v in itertools.product((0, 1), repeat=len(net.edges))]
    valid = [pattern for pattern in patterns if pattern.is_valid]
    tasks = [
        (chosen.network, chosen.chip, pattern.values, execution)
        for pattern in valid
        for execution in ("windowed", "pipelined")
    ]
    print(f"{net.name}: {len(valid)} valid patterns, {len(tasks)} candidates", flush=True)
    start = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(chosen.processes) as pool:
        points = pool.starmap(point_of, tasks, chunksize=1)
    print(f"brute force: {time.monotonic() - start:.0f} s", flush=True)
    mapped = [(task[2], point) for task, point in zip(tasks, points, strict=True) if point is not None]
    own = {p for values, p in mapped if equivalent(given, nm.RolloutPattern(net, values)) is not None}
    start = time.monotonic()
    found = explore(net, chosen.chip, given, n_frames=FRAMES, verify=False, processes=chosen.processes)
    print(f"explorer: {time.monotonic() - start:.0f} s, {found.n_rows} rows, {found.n_mapped} mapped")
    print(found.gap.statement)
    tolerance = found.energy_tolerance
    expected = front({point for _, point in mapped}, tolerance), front(own, tolerance)
    rows = [
        {
            Point(
                row.first_response_ticks,
                row.full_response_ticks,
                row.worst_case_reaction_ticks,
                row.frame_period_ticks,
                row.cores or 0,
                rounded(row.energy_joules),
            )
            for row in some
        }
        for some in (found.front, found.class_front)
    ]
    for what, ours, theirs in zip(("front of all classes", "front of the given class"), rows, expected, strict=True):
        print(f"{what}: {len(ours)} points, {'equal' if ours == theirs else 'DIFFERENT'}")
        for point in sorted(ours | theirs):
            where = "" if point in ours and point in theirs else " explorer only" if point in ours else " brute only"
            print(f"  {point}{where}")
    return int(tuple(rows) != expected)


if __name__ == "__main__":
    raise SystemExit(main())
