"""RANC's simulator, compiled with -O3 -march=native; it is deterministic, so one run counts and another is timed.

RANC prints no spikes but those to its output bus. What arrives at the cores can be traced, and here every spike
arrives at one axon a tick later: the traced run counts the ones. The timed run traces nothing; its CPU time is read
from the kernel whenever it says that a tick has started. This file uses nothing but Python's and NumPy's own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from measure import arguments, report
from network import Network, read_network

_SLOTS = 16


def _grid(n_cores: int) -> tuple[int, int]:
    """Width and height of a grid with room for the cores and the output bus; idle cores cost time, so few of them."""
    for places in range(n_cores + 1, 2 * n_cores + 2):
        width = next(w for w in range(int(places**0.5), 0, -1) if places % w == 0)
        if places <= 20 * width * width:
            return width, places // width
    raise AssertionError("a square number of places is always found")


def _write_input(network: Network, path: Path, width: int, bus: tuple[int, int]) -> None:
    """Write RANC's input file; potentials of neurons and rows of bits by core."""
    dx = network.target_core % width - np.arange(network.n_cores)[:, None] % width
    dy = network.target_core // width - np.arange(network.n_cores)[:, None] // width
    head = {"packets": [[]], "output_bus": {"coordinates": list(bus), "num_outputs": network.core_neurons}}
    with path.open("w") as file:
        file.write(json.dumps(head)[:-1] + ', "cores": [')
        for core in range(network.n_cores):
            neurons = [
                {
                    "reset_potential": network.reset,
                    "weights": network.weights[core, n].tolist(),
                    "leak": network.leak,
                    "positive_threshold": network.threshold,
                    "negative_threshold": -(10**9),
                    "destination_core_offset": [int(dx[core, n]), int(dy[core, n])],
                    "destination_axon": int(network.target_axon[core, n]),
                    "destination_tick": network.delay - 1,
                    "current_potential": int(network.potential[core, n]),
                    "reset_mode": 0,
                }
                for n in range(network.core_neurons)
            ]
            bits = np.unpackbits(network.crossbar[core], axis=1, count=network.core_neurons, bitorder="little")
            entry = {
                "axons": network.axon_types[core].tolist(),
                "neurons": neurons,
                "coordinates": [core % width, core // width],
            }
            file.write(("," if core else "") + json.dumps(entry)[:-1] + ', "connections": [')
            file.write(",".join(f"[{_commas(row)}]" for row in bits.T) + "]}")
        file.write("]}")


def _commas(bits: np.ndarray) -> str:
    text = np.full(2 * len(bits), ord(","), np.uint8)
    text[::2] = bits + ord("0")
    return text[:-1].tobytes().decode()


def _write_config(network: Network, path: Path, grid: tuple[int, int], trace: bool) -> None:
    config = {
        "num_neurons": network.core_neurons,
        "num_axons": network.crossbar.shape[1],
        "num_cores_x": grid[0],
        "num_cores_y": grid[1],
        "num_weights": network.weights.shape[2],
        "max_tick_offset": _SLOTS,
        "neuron_block_trace_verbosity": 0,
        "core_controller_trace_verbosity": int(trace),
        "scheduler_trace_verbosity": 0,
        "neuron_reset_type": 0,
    }
    path.write_text(json.dumps(config))


def _counts(trace: Path, n_ticks: int) -> list[int]:
    """Spikes that arrive in ticks 2, 3, ... of RANC are those of our ticks 0, 1, ..."""
    counts = [0] * (n_ticks + 2)
    tick = 0
    with trace.open() as file:
        for line in file:
            if " begins " in line:
                tick = int(line.split()[2])
            elif "Fetched spikes" in line:
                counts[tick] += line.rsplit(maxsplit=1)[1].count("1")
    return counts[2:]


def _timed(command: list[str], work: Path, first: int, last: int) -> tuple[float, float, float]:
    """CPU and wall seconds between the starts of two ticks, and wall seconds before the first of them."""
    marks = {}
    begun = time.perf_counter()
    with subprocess.Popen(command, cwd=work, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            words = line.split()
            if words[:1] == ["Tick"] and int(words[1]) in (first, last):
                cpu_ns = int(Path(f"/proc/{process.pid}/schedstat").read_text().split()[0])
                marks[int(words[1])] = cpu_ns / 1e9, time.perf_counter()
    cpu, wall = (marks[last][k] - marks[first][k] for k in (0, 1))
    return cpu, wall, marks[first][1] - begun


def main() -> None:
    """Write the input, run twice."""
    asked = arguments()
    network = read_network(asked.network)
    if network.delay >= _SLOTS:
        raise SystemExit(f"RANC: delays are at most {_SLOTS - 1}")
    binary = Path(os.environ.get("RANC_SIM", Path(sys.prefix).parent / "ranc" / "ranc_sim")).resolve()
    grid = _grid(network.n_cores)
    _write_input(network, asked.work / "input.json", grid[0], (grid[0] - 1, grid[1] - 1))
    n_ticks = asked.warm + asked.ticks
    for name in ("traced", "timed"):
        _write_config(network, asked.work / f"{name}.json", grid, trace=name == "traced")
    files = ["-i", "input.json", "-o", "output.txt", "-r", "1", "--ticks", str(n_ticks + 1)]
    traced = [str(binary), *files, "-c", "traced.json", "-t", "trace.txt"]
    subprocess.run(traced, cwd=asked.work, stdout=subprocess.DEVNULL, check=True)
    counts = _counts(asked.work / "trace.txt", n_ticks)
    timed = [str(binary), *files, "-c", "timed.json"]
    cpu_s, wall_s, build_s = _timed(timed, asked.work, asked.warm + 1, n_ticks + 1)
    report(
        asked,
        version="08ae4bd",
        cpu_s=cpu_s,
        wall_s=wall_s,
        build_s=build_s,
        spikes=[*counts[: asked.warm], sum(counts[asked.warm :])],
    )


if __name__ == "__main__":
    main()
