"""Brian2 as generated C++ (cpp_standalone), one thread, Brian2's own flags (-O3 -ffast-math -march=native).

    run_brian2.py ARRAYS WORK --warm 20 --ticks 200

Values are whole numbers in doubles, so decays are products cut toward zero by ``int``: one instruction in C++.
Currents do not wrap and voltages do not stop at rails, as none gets there. A population rate monitor counts spikes.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import brian2
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

from measure import Arguments, arguments, report
from run_brian2 import READ_CLOCKS


def _model(folder: Path) -> tuple[brian2.Network, brian2.PopulationRateMonitor]:
    value = {path.stem: np.load(path) for path in folder.glob("*.npy")}
    keep_u, keep_v = (1 - int(value[name][0]) / 4096 for name in ("current_decay", "voltage_decay"))
    scope = {
        "keep_u": keep_u,
        "keep_v": keep_v,
        "limit": int(value["threshold"][0]),
        "rests": int(value["refractory"][0]),
    }
    group = brian2.NeuronGroup(
        len(value["bias"]),
        "u : 1\nv : 1\ndue : 1\nrest : integer\nbias : 1 (constant)",
        threshold="v > limit",
        reset="v = 0\nrest = rests",
        namespace=scope,
    )
    tick = group.run_regularly(
        """u = int(u * keep_u) + due
        due = 0
        v = (int(v * keep_v) + u + bias) * int(rest <= 0)
        rest = rest - 1""",
        when="groups",
    )
    group.v, group.bias = value["voltage"].astype(float), value["bias"].astype(float)
    synapses = brian2.Synapses(group, group, "w : 1 (constant)", on_pre="due_post += w")
    synapses.connect(i=value["pre"], j=value["post"])
    synapses.w = value["weight"].astype(float)
    synapses.delay = (value["delay"] - 1) * brian2.ms  # the next time step begins with what has been delivered
    rates = brian2.PopulationRateMonitor(group)
    net = brian2.Network(group, tick, synapses, rates)
    net.schedule = ["start", "groups", "thresholds", "resets", "synapses", "end"]
    return net, rates


def _run(asked: Arguments) -> tuple[list[int], float, float]:
    """Spikes, CPU and wall seconds of the measured ticks."""
    project = asked.work.resolve() / "project"
    brian2.set_device("cpp_standalone", build_on_run=False, directory=str(project))
    brian2.prefs.devices.cpp_standalone.openmp_threads = 0
    brian2.defaultclock.dt = 1 * brian2.ms
    net, rates = _model(asked.network)
    net.run(asked.warm * brian2.ms)
    brian2.device.insert_code("main", READ_CLOCKS)
    net.run(asked.ticks * brian2.ms)
    brian2.device.insert_code("main", READ_CLOCKS)
    brian2.device.build(directory=str(project), compile=True, run=True, with_output=False)
    size = len(np.load(asked.network / "bias.npy"))
    counts = np.rint(np.asarray(rates.rate / brian2.Hz) * 1e-3 * size).astype(int)
    before, after = np.loadtxt(project / "clocks.txt")
    return [*counts[: asked.warm], counts[asked.warm :].sum()], *(after - before)


def main() -> None:
    """Generate, compile, run, read what the binary has written."""
    asked = arguments()
    start = time.perf_counter()
    spikes, cpu_s, wall_s = _run(asked)
    build_s = time.perf_counter() - start - wall_s
    report(asked, version=brian2.__version__, cpu_s=cpu_s, wall_s=wall_s, build_s=build_s, spikes=spikes)


if __name__ == "__main__":
    main()
