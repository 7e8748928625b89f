"""``neuromap rollouts``: the patterns of a network, their number and their times."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import neuromap as nm
from neuromap.cli.arguments.command import command
from neuromap.cli.arguments.options import AS_JSON, NETWORK, check_destinations, read_pattern, split_patterns
from neuromap.cli.arguments.run_options import FrameFlags
from neuromap.cli.printing.text_output import print_json, progress_bar, text_console
from neuromap.errors import InputError
from neuromap.options import option
from neuromap.render.table import print_rest, print_text

EXAMPLES = """\
\b
Examples:
  neuromap rollouts examples/structures/sr.toml
  neuromap rollouts examples/digits/sr.toml --pattern hybrid --json
  neuromap rollouts examples/structures/sr.toml --pattern "H1 -> H1, H1 -> O"
  neuromap rollouts examples/structures/dsr3.toml --all --limit 20
  neuromap rollouts examples/imports/resnet50.toml --node-times work
  neuromap rollouts examples/digits/sr.toml --chip loihi1 --svg cores.svg
"""

_TICKS_OF_SLOWEST = 1000
# Most patterns that --all lists by default.
_LISTED = 100


@command
def rollouts(
    network: Path = NETWORK,
    *,
    pattern: list[str] | None = option(
        "PATTERN  Only this pattern: a name, several names separated by commas, or streaming edges ('H1 -> O, H2 -> "
        "O'). May be repeated. By default streaming, sequential and those of the file."
    ),
    every: bool = option("--all  List every valid pattern, up to --limit, with every column.", False),
    limit: int | None = option(
        "N  Most patterns that --all lists, at most 100000.  [default: 100]", within=(1, 100_000)
    ),
    node_times: str | None = option(
        "WHICH  work: every node takes as long as its multiply-accumulates, which the table work of the network file "
        "holds; times are ticks.  [default: an update step for every node]",
        group="times",
    ),
    work_per_tick: int | None = option(
        "N  Multiply-accumulates of a node in a tick, with --node-times work.  [default: so that the slowest node "
        "takes 1000 ticks]",
        within=(1, None),
        group="times",
    ),
    chip: str | None = option(
        "CHIP  Seconds too, on a packaged chip or a chip file, over the number of cores; neurons evenly spread, work "
        "counted on input frames.",
        group="times",
    ),
    cores: tuple[int, ...] | None = option(
        "CORES  With --chip: numbers of cores, separated by commas.  [default: powers of two up to those of the chip]",
        items="int",
        within=(1, 1_000_000),
        group="times",
    ),
    fed: FrameFlags,
    svg: str | None = option(
        "--svg FILE  With --chip: draw first response and frame period over cores.", group="times"
    ),
    as_json: bool = AS_JSON,
) -> None:
    """List rollout patterns with their times in update steps; count all valid ones.

    Every time is of windowed or of pipelined execution. Patterns of one behaviour class compute the same function,
    so trained weights carry over.
    """
    from neuromap.cli.printing.pattern_figures import pattern_counts, pattern_figures, print_rollouts
    from neuromap.network.build import require_frames
    from neuromap.rollout.class_numbers import class_numbers

    if every and pattern:
        raise InputError("--all and --pattern: give one of them")
    if limit is not None and not every:
        raise InputError(f"--limit {limit}: is for --all; give that too")
    net = nm.load_network(network)
    require_frames(net, "rollouts", "its one rollout is streaming, a frame a tick; neuromap report shows its times")
    over: nm.report.SecondsOverCores | None = None
    if chip is None:
        fed.refuse("is for --chip; give that too")
        for flag, value in (("--cores", cores), ("--svg", svg)):
            if value:
                raise InputError(f"{flag}: is for --chip; give that too")
    elif every:
        raise InputError(f"--all and --chip {chip}: give one of them; the best of all patterns is among the seconds")
    else:
        check_destinations({"--svg": svg}, {"network file": network, "stimulus file": fed.frames})
        random = fed.random()
        how: dict[str, Any] = {"n_frames": random.n_frames, "seed": random.seed, "density": random.density}
        frame_work = nm.simulation.count_frame_work(net, chip, fed.frames, **how)
        over = nm.report.seconds_over_cores(frame_work, _chosen_patterns(net, pattern or []), cores=cores)
        if svg is not None:
            over.save(svg)
    work = _work_per_tick(net, node_times, work_per_tick)
    latencies = None if work is None else nm.rollout.latencies_of(net, net.tables["work"], work)
    chosen, complete = _chosen_patterns(net, pattern or []), False
    if every:  # the first valid patterns, and whether these are all
        most = limit or _LISTED
        found = list(islice(nm.rollout.enumerate_valid(net), most + 1))
        chosen = [nm.RolloutPattern(net, p.values, f"#{n}") for n, p in enumerate(found[:most], start=1)]
        complete = len(found) <= most
    figures = pattern_counts(net)
    numbers = class_numbers(net, chosen, in_order=every)
    classes = numbers.of_patterns(chosen)
    rows: list[dict[str, Any]] = []
    with progress_bar("timing patterns") as progress:
        for done, (one, number) in enumerate(zip(chosen, classes, strict=True), start=1):
            rows.append(pattern_figures(one, number, latencies))
            progress(done, len(chosen))
    figures |= {
        **({} if work is None else {"work_per_tick": work}),
        "listed": len(rows),
        "complete": complete,
        "class_numbers_are_of_network": numbers.are_of_network,
        "patterns": rows,
    }
    if as_json:
        if over is not None:
            from neuromap.report.over_cores import SECONDS

            figures["seconds"] = SECONDS.write(over)
        print_json(figures)
        return
    print_rollouts(figures, every=every)
    if over is not None:
        from neuromap.report.over_cores import tables

        console = text_console()
        for title, table in tables(over):
            console.print(title, markup=False)
            table.print(console, brief=not every)
            if left := [] if every else table.left_out(console.width):
                print_rest(console, left, "--all or --json")
        for lead in over.leads:
            print_text(console, f"{lead.told}.")


def _work_per_tick(network: nm.Network, node_times: str | None, given: int | None) -> int | None:
    """Return the multiply-accumulates per tick if nodes take as long as their work."""
    if node_times is None:
        if given is not None:
            raise InputError(f"--work-per-tick {given}: is for --node-times work; give that too")
        return None
    if node_times != "work":
        raise InputError(f"--node-times {node_times}: unknown; choose work")
    table = network.tables.get("work")
    if not table:
        raise InputError(
            f"network {network.name}: has no table work, so --node-times work says nothing; neuromap import writes it"
        )
    return given or max(1, -(-max(table.values()) // _TICKS_OF_SLOWEST))


def _chosen_patterns(network: nm.Network, values: Sequence[str]) -> list[nm.RolloutPattern]:
    """Read the requested patterns."""
    names = split_patterns(values) or values or network.pattern_names
    return [read_pattern(network, name) for name in names]
