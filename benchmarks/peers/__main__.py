"""Run neuromap and other simulators side by side on one network; write a table and a plot.

    python -m benchmarks.peers                                    everything that is installed, all sizes
    python -m benchmarks.peers --cores 16,256 --peers brian2      some of it
    python -m benchmarks.peers --from benchmarks/results/peers.json   table and plot again, nothing is run

Every simulator runs the same neurons and synapses from the same start, on one thread, in a process of its own; they
take turns, and figures are medians over the rounds. A row whose spike counts differ from neuromap's is refused.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.engine.c_kernel.bandwidth import measure_bandwidth
from benchmarks.peers.catalogue import PEERS, Peer, peer_named
from benchmarks.peers.comparison import Comparison, Measurement, Omission, load_comparison, save_comparison
from benchmarks.peers.network import write_network
from benchmarks.peers.page import write_page
from benchmarks.peers.turn import Failure, difference, reference_counts, ticks_for, turn
from neuromap.bench.bench_report import this_machine
from neuromap.bench.characterisation import characterisation_program
from neuromap.errors import NotSupportedError

_ROOT = Path(__file__).resolve().parents[2]
_RESULTS = _ROOT / "benchmarks" / "results" / "peers.json"


@dataclass(frozen=True)
class _Plan:
    peers: tuple[Peer, ...]
    home: Path
    warm: int
    rounds: int
    seconds: float
    memory_gb: float
    timeout_s: float
    patience_s: float


def main(argv: list[str] | None = None) -> int:
    """Run the command; 1 if a simulator's spikes differ, or the plot could not be drawn."""
    asked = _arguments(argv)
    if asked.source is not None:
        return _show(load_comparison(asked.source))
    names = [peer.name for peer in PEERS] if asked.peers is None else ["neuromap", *asked.peers]
    plan = _Plan(
        peers=tuple(peer_named(name) for name in dict.fromkeys(names)),
        home=asked.home,
        warm=asked.warm,
        rounds=asked.rounds,
        seconds=asked.seconds,
        memory_gb=asked.memory_gb,
        timeout_s=asked.timeout,
        patience_s=asked.patience,
    )
    found = Comparison(
        date=datetime.date.today().isoformat(),
        commit=_commit(),
        machine=asdict(this_machine()),
        warm=plan.warm,
        rounds=plan.rounds,
        cores=(),
        bandwidth=(),
        measurements=(),
        omissions=_absent(plan),
    )
    asked.results.parent.mkdir(parents=True, exist_ok=True)
    for cores in asked.cores:
        found = _at_size(found, plan, cores)
        save_comparison(found, asked.results)  # what is finished stays if a larger size is interrupted
    incomplete = _show(found) if asked.page else 0
    return incomplete or int(any("neuromap has" in omission.reason for omission in found.omissions))


def _show(found: Comparison) -> int:
    """Write page and plot; 1 if the plot could not be drawn."""
    if write_page(found, _ROOT / "docs"):
        return 0
    _tell("matplotlib is missing, the plot is left as it was; pip install -e '.[benchmarks]', then --from")
    return 1


def _at_size(so_far: Comparison, plan: _Plan, cores: int) -> Comparison:
    """Add one size to a comparison."""
    program = characterisation_program(cores)
    folder = plan.home / "networks" / str(cores)
    write_network(program, folder)
    program.save(folder / "program.safetensors")
    omitted = list(so_far.omissions)
    ready: dict[Peer, int] = {}
    for peer in plan.peers:
        need_gb = peer.mb_per_core * cores / 1e3
        if any(o.peer == peer.name and o.cores == 0 for o in omitted):
            continue
        if need_gb > plan.memory_gb:
            omitted.append(Omission(peer.name, cores, f"needs about {need_gb:.0f} GB, {plan.memory_gb:g} GB are given"))
        else:
            ready[peer] = ticks_for(peer, cores, plan.seconds)
    expected = reference_counts(program, plan.warm, list(ready.values()))
    answers: dict[Peer, list[dict[str, Any]]] = {peer: [] for peer in ready}
    spent_s = dict.fromkeys(ready, 0.0)
    bandwidth = list(so_far.bandwidth)
    for round_number in range(plan.rounds):
        for peer, ticks in list(ready.items()):
            if spent_s[peer] > plan.patience_s:
                continue
            _tell(f"{cores} cores, round {round_number + 1} of {plan.rounds}: {peer.title}, {ticks} ticks ...")
            work = plan.home / "work" / peer.name
            start = time.perf_counter()
            try:
                answer = turn(
                    peer, folder, work, plan.home, warm=plan.warm, ticks=ticks, timeout_s=plan.timeout_s
                )  # fmt: skip
                wrong = difference(answer["spikes"], expected[ticks])
                if wrong is not None:
                    raise Failure(wrong)
            except Failure as failure:
                _tell(f"  left out: {failure}")
                omitted.append(Omission(peer.name, cores, str(failure)))
                del ready[peer], answers[peer]
                continue
            _tell(f"  {answer['cpu_ms_per_tick']:.4g} ms per tick, {answer['peak_mb']:.0f} MB, spikes equal")
            answers[peer].append(answer)
            spent_s[peer] += time.perf_counter() - start
        bandwidth += _bandwidth()
    measured = [_measurement(peer, cores, ready[peer], given) for peer, given in answers.items()]
    return replace(
        so_far,
        cores=(*so_far.cores, cores),
        bandwidth=tuple(bandwidth),
        measurements=(*so_far.measurements, *measured),
        omissions=tuple(omitted),
    )


def _measurement(peer: Peer, cores: int, ticks: int, answers: list[dict[str, Any]]) -> Measurement:
    return Measurement(
        peer=peer.name,
        version=answers[0]["version"],
        cores=cores,
        ticks=ticks,
        cpu_ms=tuple(a["cpu_ms_per_tick"] for a in answers),
        wall_ms=tuple(a["wall_ms_per_tick"] for a in answers),
        build_s=max(a["build_s"] for a in answers),
        peak_mb=max(a["peak_mb"] for a in answers),
        bytes_per_tick=answers[0]["bytes_per_tick"],
        hot_bytes=answers[0]["hot_bytes"],
    )


def _bandwidth() -> list[float]:
    """Bytes per second that one thread streams, reading or updating, whichever is more; none without a C compiler."""
    try:
        streamed = measure_bandwidth(1, repeats=5)
    except NotSupportedError:
        return []
    return [max(streamed["read"], streamed["update"])]


def _absent(plan: _Plan) -> tuple[Omission, ...]:
    here = {peer.name for peer in plan.peers}
    absent = [Omission(peer.name, 0, "was not asked for") for peer in PEERS if peer.name not in here]
    for peer in plan.peers:
        if not peer.own and not (plan.home / peer.name / ".installed").exists():
            absent.append(Omission(peer.name, 0, f"is not installed; benchmarks/peers/install.sh {peer.name}"))
    return tuple(absent)


def _commit() -> str:
    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=_ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    return (git("rev-parse", "--short", "HEAD") or "unknown") + (
        "+" if git("status", "--porcelain", "--", "neuromap") else ""
    )


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    def whole_numbers(text: str) -> list[int]:
        return [int(part) for part in text.split(",")]

    def names(text: str) -> list[str]:
        for name in text.split(","):
            if name not in {peer.name for peer in PEERS}:
                raise argparse.ArgumentTypeError(f"{name} is not known")
        return text.split(",")

    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__.splitlines()[0])
    parser.add_argument("--cores", type=whole_numbers, default=[16, 64, 256, 1024, 4096], help="sizes, with commas")
    parser.add_argument("--peers", type=names, help=f"of {','.join(peer.name for peer in PEERS)}; all by default")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warm", type=int, default=20, help="ticks before the clock starts")
    parser.add_argument("--seconds", type=float, default=2.0, help="that each simulator is measured for, about")
    parser.add_argument("--memory-gb", type=float, default=10.5, help="a size that needs more is left out")
    parser.add_argument("--timeout", type=float, default=900.0, help="seconds for one turn, building included")
    parser.add_argument(
        "--patience", type=float, default=350.0, help="seconds after which a simulator has no more turns at a size"
    )
    parser.add_argument("--home", type=Path, default=_ROOT / "build" / "peers", help="folder of the environments")
    parser.add_argument("--results", type=Path, default=_RESULTS, help="JSON file that is written")
    parser.add_argument("--from", dest="source", type=Path, help="JSON file: only make table and plot again")
    parser.add_argument("--no-page", dest="page", action="store_false", help="write no table and plot")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
