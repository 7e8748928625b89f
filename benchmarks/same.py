"""Hold this checkout against another one: a redesign must leave programs, figures and speed as they were.

    git worktree add ../before COMMIT
    python -m benchmarks.same ../before                      programs, JSON, spikes, times: some minutes
    python -m benchmarks.same ../before --only programs,json
    python -m benchmarks.same ../before --large              with the ten-fold convolution and DSR4 to DSR6 too

Each checkout runs in processes of its own, with its own ``benchmarks`` and ``examples``; only public names of
``neuromap`` are used, so modules may move between the two. Compared are

- **programs** of all example and benchmark networks on crossbar and list cores, by a digest over every value in them
  (not over bytes of files, whose format may grow), or the words of the refusal; where digests differ, cores, deliveries
  and hops tell in which direction;
- **json**: what commands print with ``--json``, all but wall times and versions;
- **spikes** of the fast and of the readable engine, every spike of every core, here and there;
- **times**: CPU time of ``import neuromap``, ``--help``, mapping and ticks, in turns. What else runs on a machine only
  adds to a time, so the ratio is that of the best turns.

The exit code is 1 if anything differs, or a time has grown by more than ``--slower`` (3 %).
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parents[1]
PARTS = ("programs", "json", "spikes", "times")
CHIPS = {"crossbar": "truenorth", "list": "loihi1"}
PATTERNS = ("streaming", "sequential")
LARGE = re.compile(r"on_chip/dsr[456]|ten-fold|imports/")
SR, DIGITS = "examples/digits/sr.toml", "examples/on_chip/sr.toml"
_CLI = "import sys; from neuromap.cli.entry import main; sys.exit(main())"
COMMANDS = (
    f"rollouts {SR} --json",
    "rollouts examples/structures/dsr1.toml --json",
    "rollouts examples/structures/dsr6.toml --json",
    "chips --json",
    "chips truenorth --json",
    "chips loihi1 --json",
    f"map {SR} --json",
    f"map {DIGITS} --pattern sequential --execution pipelined --json",
    f"map {SR} --chip loihi1 --json",
    "map examples/spiking/current.toml --chip loihi1 --json",
    "map examples/spiking/leak.toml --json",
    "map examples/wide/mlp.toml --json",
    f"verify {SR} --frames 8 --json",
    f"verify {SR} --chip loihi1 --frames 8 --json",
    f"report {SR} --patterns streaming,sequential,hybrid --executions windowed,pipelined --json",
    f"report {SR} --chip loihi1 --patterns streaming,sequential --json",
    f"explore {SR} --json",
    f"accuracy {SR} --data digits --limit 50 --json",
    f"faults {SR} --kinds dead-cores,flipped-synapses --rates 0.1 --seeds 2 --json",
)
"""Commands whose JSON is compared; a command that refuses its options is compared in its words."""
NOISE = re.compile(r"second|elapsed|version|machine|date|cpu|memory_mb|path|rate_of_engine", re.IGNORECASE)
"""Members of JSON that differ between two runs of one checkout."""


def main() -> int:
    """Compare what is asked for; give the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="another checkout, with an environment like this one's")
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--large", action="store_true", help="networks that take minutes, too")
    parser.add_argument("--rounds", type=int, default=7, help="turns of every time")
    parser.add_argument("--slower", type=float, default=0.03, help="growth of a time that is still the same")
    asked = parser.parse_args()
    parts = asked.only.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    if not (asked.before / "neuromap" / "__init__.py").is_file():
        parser.error(f"{asked.before} is no checkout of neuromap")
    both = (asked.before.resolve(), HERE)
    differences = 0
    for part in parts:
        if part == "times":
            differences += _hold_times(both, asked.rounds, asked.slower)
        else:
            differences += _hold(part, both, asked.large)
    print(f"{differences} differences" if differences else "all the same")
    return int(differences > 0)


def _hold(part: str, both: tuple[Path, Path], large: bool) -> int:
    """Run one part in both checkouts at the same time, case by case, and print what differs."""
    streams = [_worker(checkout, part, large) for checkout in both]
    cases = differences = 0
    for lines in zip(*streams, strict=True):
        (name, before), (other, now) = map(json.loads, lines)
        if name != other:
            print(f"{part}: {name} before, {other} now: the checkouts have other cases; what follows is not compared")
            return differences + 1
        cases += 1
        if before != now:
            differences += 1
            print(f"{part}: {name} differs:\n{_told(before, now)}", flush=True)
    print(f"{part}: {cases} cases, {differences} differ", flush=True)
    return differences


def _told(before: Any, now: Any) -> str:
    texts = [json.dumps(value, indent=1, sort_keys=True).splitlines() for value in (before, now)]
    lines = list(difflib.unified_diff(*texts, "before", "now", lineterm="", n=1))[2:]
    return "\n".join(f"    {line[:150]}" for line in lines[:12])


def _worker(checkout: Path, part: str, large: bool) -> Iterator[str]:
    """Run this file in a checkout; a line of JSON for every case."""
    command = [sys.executable, "-P", "-c", _IN_CHECKOUT, str(Path(__file__).resolve()), part, str(int(large))]
    with subprocess.Popen(
        command, cwd=checkout, env=_environment(checkout), stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        yield from child.stdout
    if child.returncode:
        raise SystemExit(f"{checkout}: {part} ended with exit code {child.returncode}")


_IN_CHECKOUT = """
import runpy, sys
_, file, part, large = sys.argv
runpy.run_path(file, run_name="same")["tell"](part, bool(int(large)))
"""


def _environment(checkout: Path) -> dict[str, str]:
    # one thread, so that CPU time is that of the work
    return {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1", "COLUMNS": "120", "NO_COLOR": "1"}


# ---- in a checkout --------------------------------------------------------------------------------------------------


def tell(part: str, large: bool) -> None:
    """Print a line for every case of a part: its name and what came of it."""
    for name, value in {"programs": _programs, "json": _documents, "spikes": _spikes}[part](large):
        print(json.dumps([name, value]), flush=True)


def _networks(large: bool) -> Iterator[tuple[str, Any]]:
    """Name all networks of the examples and the benchmarks that can be computed."""
    import neuromap as nm
    from benchmarks.mapping.networks import convolution_network, irregular_network

    for path in sorted(Path("examples").rglob("*.toml")):
        if large or not LARGE.search(path.as_posix()):
            try:
                yield path.as_posix(), nm.load_network(path)
            except nm.errors.NeuromapError:
                continue  # a sweep, an experiment
    for signs in ("sign-fixed", "ternary", "ternary with zeros"):
        yield f"convolution, {signs}", convolution_network(signs)
    yield "irregular", irregular_network()
    if large:
        yield "convolution ten-fold", convolution_network(side=152)


def _programs(large: bool) -> Iterator[tuple[str, Any]]:
    for name, network in _networks(large):
        for pattern in PATTERNS:
            for kind, chip in CHIPS.items():
                yield f"{name}, {pattern}, {kind}", _said(lambda: _figures(_mapped(network, pattern, chip)))  # noqa: B023


def _mapped(network: Any, pattern: str, chip: str) -> Any:
    import neuromap as nm

    return nm.map_rollout(nm.Rollout(network, pattern), chip)


def _said(make: Callable[[], Any]) -> Any:
    import neuromap as nm

    try:
        return make()
    except nm.errors.NeuromapError as error:
        return f"{type(error).__name__}: {error}"


def _figures(program: Any) -> dict[str, Any]:
    """Tell a program by its digest, and what a partitioner is judged by."""
    digest = hashlib.blake2b(digest_size=16)
    _feed(digest, program)
    return {"digest": digest.hexdigest(), "cores": len(program.coordinates), **_traffic(program)}


def _traffic(program: Any) -> dict[str, int]:
    """Count distinct pairs of a source neuron and a target core, and hops between them, from the program alone."""
    xy, n = np.asarray(program.coordinates, np.int64), program.chip.neurons
    if hasattr(program, "targets"):
        starts = np.asarray(program.targets.start)
        source, target = np.repeat(np.arange(len(starts) - 1), np.diff(starts)), program.targets.core
    else:
        core, neuron = np.nonzero(program.target_core >= 0)
        source, target = core * n + neuron, program.target_core[core, neuron]
    pairs = np.unique(np.column_stack([source, target]), axis=0)
    return {"deliveries": len(pairs), "hops": int(np.abs(xy[pairs[:, 0] // n] - xy[pairs[:, 1]]).sum())}


def _feed(digest: Any, value: Any) -> None:
    """Add every value that can be reached from one: arrays by their numbers, dataclasses by their fields, in order."""
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.name}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif is_dataclass(value):
        digest.update(type(value).__name__.encode())
        for field in fields(value):
            _feed(digest, getattr(value, field.name))
    elif isinstance(value, (tuple, list)):
        digest.update(f"[{len(value)}".encode())
        for item in value:
            _feed(digest, item)
    elif hasattr(value, "items"):
        _feed(digest, sorted(value.items(), key=lambda pair: str(pair[0])))
    elif value is None or isinstance(value, (str, int, float, bool, Fraction, np.generic)):
        digest.update(repr(value.item() if isinstance(value, np.generic) else value).encode())
    else:
        raise TypeError(f"a program holds {type(value).__name__}, which this comparison does not know")


def _documents(large: bool) -> Iterator[tuple[str, Any]]:
    """Run the commands; this process only waits for them."""
    del large
    for command in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _CLI, *command.split()],
            capture_output=True,
            text=True,
            check=False,
        )
        try:
            yield command, _quiet(json.loads(done.stdout))
        except ValueError:
            yield command, {"exit code": done.returncode, "words": done.stderr.strip().splitlines()[-3:]}


def _quiet(value: Any) -> Any:
    """Leave out what differs between two runs."""
    if isinstance(value, dict):
        return {key: _quiet(member) for key, member in value.items() if not NOISE.search(key)}
    return [_quiet(item) for item in value] if isinstance(value, list) else value


def _spikes(large: bool) -> Iterator[tuple[str, Any]]:
    """Run both engines on random frames; every spike of every neuron counts."""
    import neuromap as nm

    small = [(name, net) for name, net in _networks(False) if re.search(r"digits/s|on_chip/sr|spiking/|wide/", name)]
    for name, network in small:
        for kind, chip in CHIPS.items():
            for pattern in PATTERNS:
                yield f"{name}, {pattern}, {kind}", _said(lambda: _both_engines(nm, network, pattern, chip))  # noqa: B023


def _both_engines(nm: Any, network: Any, pattern: str, chip: str) -> dict[str, str]:
    program = _mapped(network, pattern, chip)
    frames, digests = nm.random_frames(network, 12, seed=7), {}
    for engine in ("fast", "numpy"):
        trace = nm.simulate(program, frames, engine=engine, record=nm.Recording("all"))
        digest = hashlib.blake2b(digest_size=16)
        for array in (trace.tick, trace.core, trace.neuron):
            digest.update(np.ascontiguousarray(array, np.int64).tobytes())
        digests[engine] = digest.hexdigest()
    return digests


# ---- times ----------------------------------------------------------------------------------------------------------

_START = {"import neuromap": ["-c", "import neuromap"], "neuromap --help": ["-c", _CLI, "--help"]}
_WORK = """
import sys, time
import neuromap as nm
from benchmarks.mapping.networks import convolution_network, irregular_network

networks = {"sr": lambda: nm.load_network("examples/on_chip/sr.toml"), "convolution": convolution_network}
mapped, what = {}, {}
def mapping(name, chip):
    rollout = nm.Rollout(networks[name](), "streaming")
    rollout.network, [edge.matrix() for edge in rollout.network.edges.values()]
    return lambda: nm.map_rollout(rollout, chip)
def ticks(name, chip, frames):
    network = networks[name]()
    program = nm.map_rollout(nm.Rollout(network, "streaming"), chip)
    frames = nm.random_frames(network, frames, seed=3)
    return lambda: nm.simulate(program, frames, threads=1)
cases = {
    "map on-chip SR, crossbar": lambda: mapping("sr", "truenorth"),
    "map on-chip SR, list": lambda: mapping("sr", "loihi1"),
    "map convolution, crossbar": lambda: mapping("convolution", "truenorth"),
    "map convolution, list": lambda: mapping("convolution", "loihi1"),
    "ticks of on-chip SR, crossbar": lambda: ticks("sr", "truenorth", 4000),
    "ticks of on-chip SR, list": lambda: ticks("sr", "loihi1", 4000),
    "ticks of convolution, crossbar": lambda: ticks("convolution", "truenorth", 100),
}
for line in sys.stdin:
    name = line.strip()
    if name not in mapped:
        mapped[name] = cases[name]()
        mapped[name]()
    began = time.process_time()
    mapped[name]()
    print(time.process_time() - began, flush=True)
"""
_CASES = tuple(re.findall(r'^    "([^"]+)": lambda', _WORK, re.MULTILINE))


def _hold_times(both: tuple[Path, Path], rounds: int, slower: float) -> int:
    differences = 0
    for name, words in _START.items():
        turns = [[_start_seconds(checkout, words) for checkout in both] for _ in range(3 * rounds)]
        differences += _tell_times(name, turns, slower)
    workers = [
        subprocess.Popen(
            [sys.executable, "-P", "-c", _WORK],
            cwd=c,
            env=_environment(c),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for c in both
    ]
    for name in _CASES:
        turns = [[_work_seconds(worker, name) for worker in workers] for _ in range(rounds)]
        differences += _tell_times(name, turns, slower)
    for worker in workers:
        worker.communicate()
    return differences


def _tell_times(name: str, turns: list[list[float]], slower: float) -> int:
    before, now = (min(turn[i] for turn in turns) for i in (0, 1))
    grown = now > before * (1 + slower)
    print(
        f"times: {name}: {now / before:.3f} of before ({before:.3g} s of CPU){'  SLOWER' if grown else ''}", flush=True
    )
    return int(grown)


def _start_seconds(checkout: Path, words: list[str]) -> float:
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-P", *words], cwd=checkout, env=_environment(checkout), stdout=subprocess.DEVNULL, check=True
    )
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime


def _work_seconds(worker: subprocess.Popen[str], name: str) -> float:
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(f"{name}\n")
    worker.stdin.flush()
    return float(worker.stdout.readline())


if __name__ == "__main__":
    began_at = time.monotonic()
    code = main()
    print(f"{time.monotonic() - began_at:.0f} s")
    sys.exit(code)
