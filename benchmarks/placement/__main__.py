"""Place the cores of some networks with every placer and with SciPy's methods, side by side; write a table.

    python -m benchmarks.placement             the convolution benchmark (about a minute of mapping), two random graphs
    python -m benchmarks.placement --board     with 65,536 cores and 16.8 million wires too
    python -m benchmarks.placement --from benchmarks/results/placement.json    the table again, nothing is run

Every method runs once, on one thread, in the same process; times are its processor time, after what has to be compiled
was compiled. A layout's hops are counted here, from the wires, not by the placer.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import quadratic_assignment

import neuromap as nm
from benchmarks.mapping.networks import convolution_network
from neuromap.bench.bench_report import this_machine
from neuromap.files.whole_file import write_whole
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.place.place import place

Ints = NDArray[np.int64]

_ROOT = Path(__file__).resolve().parents[2]
_RESULTS = _ROOT / "benchmarks" / "results" / "placement.json"
_PAGE = _ROOT / "docs" / "placement.md"
_DENSE, _PYTHON = 1500, 128
"""Most cores for methods on matrices of all pairs, and for SciPy's 2-opt, which is a loop in Python."""
_HEAD = """\
# Placement

<!-- Written by `python -m benchmarks.placement`; edit benchmarks/placement/__main__.py instead. -->

Which core holds which part of the network decides how far spikes travel, not what is computed. *Weighted hops* are
the links that one spike per wire crosses, along x, then along y; a wire is a neuron with its target. Every placer
keeps dead cores vacant and pinned cores in their regions. Where a layout has targets out of reach, or routes that
meet a dead router or link, cores are exchanged until it has none, or all are laid on one side of what is dead, or it
is refused. The refusal says how many cores cannot be reached by all that feed them, and how many places the best
place reaches.

%s

A proposal of `exchange` costs the degree of a core, whatever the number of cores. Up to 64 cores it runs in NumPy;
beyond, it is compiled once. A seed gives the same layout on every machine, but not with a limit in seconds. Where chips
of a board are joined, `boundary_hops` of the chip's router is what crossing costs beyond the hop; absent, as for
TrueNorth, it costs nothing.

## Measured

"""


_PLACERS = (
    ("row-major", "rows of a nearly square box, in the order of the partition"),
    ("hilbert", "the same box along a Hilbert curve"),
    (
        "spectral",
        "two eigenvectors of the graph's Laplacian as coordinates, then places by assignment; above 1500 cores by rank",
    ),
    (
        "assignment",
        "SciPy's quadratic assignment: FAQ (Vogelstein et al. 2015), up to 128 cores 2-opt after it; at most 1500 "
        "cores",
    ),
    (
        "exchange",
        "from the better of curve and spectral layout: simulated annealing from three temperatures (cooled as in VPR, "
        "Betz and Rose 1997), each followed by exchanges until no exchange of two cores and no move to a vacant place "
        "saves; once where there is work for fewer than 8 proposals per core and temperature, and no annealing if a "
        "quarter of all pairs of cores is wired there",
    ),
    ("auto", "the default: `exchange`, whose work is bounded at every size"),
)


class Graph(NamedTuple):
    """Cores to place."""

    name: str
    n_cores: int
    wires: tuple[Ints, Ints]
    chip: ChipSpec


def main(argv: list[str] | None = None) -> int:
    """Run the command."""
    asked = _arguments(argv)
    if asked.source is None:
        found = _measure(asked.board)
        _RESULTS.parent.mkdir(parents=True, exist_ok=True)
        write_whole(_RESULTS, (json.dumps(found, indent=1) + "\n").encode())
    else:
        try:
            found = json.loads(asked.source.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            print(f"placement: {asked.source}: {error}", file=sys.stderr)
            return 2
    write_whole(_PAGE, page_text(found).encode())
    return 0


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.placement", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--board", action="store_true", help="65,536 cores too")
    parser.add_argument("--from", dest="source", type=Path, help="figures that were measured before")
    return parser.parse_args(argv)


def _measure(board: bool) -> dict[str, Any]:
    place(80, (np.arange(79), np.arange(1, 80)), load_chip("truenorth"))  # compile
    graphs = []
    for graph in _graphs(board):
        _tell(f"{graph.name}: {graph.n_cores} cores")
        runs = []
        for method, run in _methods(graph):
            start = time.process_time()
            where = run()
            seconds = time.process_time() - start
            hops = _hops(where, graph)
            _tell(f"  {method}: {hops:,} hops, {seconds:.2f} s")
            runs.append({"method": method, "hops": hops, "cpu_seconds": seconds})
        pairs = len(np.unique(graph.wires[0] * graph.n_cores + graph.wires[1]))
        graphs.append(
            {
                "name": graph.name,
                "cores": graph.n_cores,
                "wires": len(graph.wires[0]),
                "pairs": pairs,
                "runs": runs,
            }
        )
    return {"date": datetime.date.today().isoformat(), "machine": asdict(this_machine()), "graphs": graphs}


def _graphs(board: bool) -> Iterator[Graph]:
    chip = load_chip("truenorth")
    yield _random_local("random local", 11, 16, 2.0, chip)
    yield _convolution(chip)
    yield _random_local("random local", 64, 32, 2.0, chip)
    if board:
        yield _random_local("random local, 16 chips", 256, 256, 3.0, replace(chip, chips=(4, 4)))


def _convolution(chip: ChipSpec) -> Graph:
    """Map the convolution benchmark, sign-fixed: five layers, 6.3 million synapses."""
    network = convolution_network()
    program = nm.map_rollout(nm.Rollout(network, "streaming"), chip, placer="hilbert")
    target = program.target_core.astype(np.int64)
    source = np.repeat(np.arange(program.n_cores), target.shape[1])
    wired = target.ravel() >= 0
    return Graph("convolution benchmark", program.n_cores, (source[wired], target.ravel()[wired]), chip)


def _random_local(name: str, side: int, wires_per_core: int, spread: float, chip: ChipSpec) -> Graph:
    """Cores of a square, wired with near ones, in random order."""
    rng = np.random.default_rng(side)
    n = side * side
    source = np.repeat(np.arange(n), wires_per_core)
    x, y = (
        np.clip(np.rint(at + rng.normal(0, spread, len(at))), 0, side - 1).astype(np.int64)
        for at in (source % side, source // side)
    )
    number = rng.permutation(n)
    return Graph(name, n, (number[source], number[y * side + x]), chip)


def _methods(graph: Graph) -> Iterator[tuple[str, Callable[[], Ints]]]:
    n, wires, chip = graph.n_cores, graph.wires, graph.chip
    for placer in ("row-major", "hilbert", "spectral"):
        yield f"`{placer}`", partial(place, n, wires, chip, placer)
    if n <= _DENSE:
        places = place(n, wires, chip, "hilbert")
        flow = _flow(graph)
        way = np.abs(places[:, None] - places).sum(axis=2).astype(np.float64)
        found: list[Ints] = []

        def faq() -> Ints:
            found.append(quadratic_assignment(flow, way, method="faq").col_ind)
            return places[found[0]]

        yield "SciPy FAQ", faq
        if n <= _PYTHON:
            guess = np.stack([np.arange(n), found[0]], axis=1)
            yield (
                "SciPy 2-opt after FAQ",
                lambda: places[
                    quadratic_assignment(flow, way, method="2opt", options={"partial_guess": guess}).col_ind
                ],
            )
        yield "best-swap 2-opt in NumPy after FAQ", lambda: _best_swap(places[found[0]], flow)
        spectral = place(n, wires, chip, "spectral")
        yield "best-swap 2-opt in NumPy after `spectral`", lambda: _best_swap(spectral, flow)
    yield "`exchange` (`auto`)", lambda: place(n, wires, chip, "exchange")


def _flow(graph: Graph) -> NDArray[np.float64]:
    flow = np.zeros((graph.n_cores, graph.n_cores))
    np.add.at(flow, graph.wires, 1)
    np.fill_diagonal(flow, 0)
    return flow + flow.T


def _best_swap(start: Ints, flow: NDArray[np.float64]) -> Ints:
    """Exchange, core by core, with the partner that saves most, until a sweep saves nothing."""
    way = np.abs(start[:, None] - start).sum(axis=2).astype(np.float64)
    n = len(start)
    at = np.arange(n)
    cost = flow @ way  # of every core at every place, while the others stay
    saved = True
    while saved:
        saved = False
        for a in range(n):
            gain = cost[a, at[a]] + cost[np.arange(n), at] - cost[a, at] - cost[:, at[a]] - 2 * flow[a] * way[at[a], at]
            gain[a] = 0
            b = int(np.argmax(gain))
            if gain[b] > 0:
                step = way[at[b]] - way[at[a]]
                for core, sign in ((a, 1), (b, -1)):
                    near = np.flatnonzero(flow[core])
                    cost[near] += sign * flow[near, core][:, None] * step
                at[[a, b]] = at[[b, a]]
                saved = True
    return np.asarray(start[at])


def _hops(where: Ints, graph: Graph) -> int:
    return sum(int(np.abs(where[s] - where[t]).sum()) for s, t in zip(*_chunks(graph.wires), strict=True))


def _chunks(wires: tuple[Ints, Ints]) -> tuple[list[Ints], list[Ints]]:
    parts = max(1, len(wires[0]) // 2**20)
    return np.array_split(wires[0], parts), np.array_split(wires[1], parts)


def page_text(found: dict[str, Any]) -> str:
    """Make the page from what was measured.

    Parameters
    ----------
    found : dict
        As written to ``benchmarks/results/placement.json``.

    Returns
    -------
    str
        Markdown.
    """
    machine = found["machine"]
    lines = [
        f"Taken on {found['date']} on {machine['cpu']}, {machine['system']}, Python {machine['python']}, NumPy "
        f"{machine['numpy']}, Numba {machine['numba']}; one thread, processor time, every method once in one run. "
        "Relative: to `exchange`. What is compiled was compiled before. The seconds of 2-opt do not hold those of its "
        "start.",
        "",
        "| graph | method | weighted hops | relative | seconds | relative |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for graph in found["graphs"]:
        last = graph["runs"][-1]
        name = f"{graph['name']}: {graph['cores']:,} cores, {graph['wires']:,} wires, {graph['pairs']:,} pairs"
        for run in graph["runs"]:
            hops, seconds = run["hops"] / last["hops"], run["cpu_seconds"] / last["cpu_seconds"]
            cells = (
                name,
                run["method"],
                f"{run['hops']:,}",
                f"{hops:.2f}",
                f"{run['cpu_seconds']:.2f}",
                f"{seconds:.2f}",
            )
            lines.append(f"| {' | '.join(cells)} |")
            name = ""
    rows = [f"| `{name}` | {text} |" for name, text in _PLACERS]
    placers = "\n".join(["| placer | what it does |", "| --- | --- |", *rows])
    return _HEAD % placers + "\n".join(lines) + "\n"


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":  # read when NumPy is imported
        environment = os.environ | {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "MKL", "OMP")}
        os.execve(sys.executable, [sys.executable, "-m", "benchmarks.placement", *sys.argv[1:]], environment)
    sys.exit(main())
