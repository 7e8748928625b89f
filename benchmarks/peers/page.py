"""The page ``docs/benchmarks.md`` and its plot, made from a finished comparison."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.peers.catalogue import PEERS, Peer
from benchmarks.peers.comparison import Comparison, Measurement
from neuromap.files.whole_file import write_whole

__all__ = ["page_text", "write_page"]

_HEAD = """\
# Benchmarks

<!-- Written by `python -m benchmarks.peers`; edit benchmarks/peers/page.py instead. -->

How long one tick takes in neuromap and in other simulators of spiking neurons: the same network, the same start, one
thread each, in turn, and with equal spike counts, without which a figure is refused.

The network is the [characterisation network](bench.md#the-characterisation-network) of 256 neurons a core at 20 Hz,
delay 1, 128 synapses an axon; at 4096 cores, a whole TrueNorth chip, a tick has 2.7 million synaptic events. All
simulators are given the arrays of one neuromap program. `benchmarks/README.md` explains how to run this.
"""

_FAIRNESS = """\
## How each is used, and what the figures do not say

- The other simulators are more general: real-valued potentials and weights, any neuron model, plasticity, any
  connectivity. Most of neuromap's lead comes from knowing that it runs a chip of crossbars and small integers. RANC and
  SANA-FE simulate such chips too, in more detail (routers, energy).
- Time is CPU time of the whole process between two ticks, without the first {warm}, building and compiling; medians of
  {rounds} rounds, in each of which every simulator has its turn in a new process (fewer where a turn takes minutes to
  build).
- Brian2: `cpp_standalone` with its own compiler flags (-O3 -ffast-math -march=native), no OpenMP; two groups of
  synapses of constant weight, one scalar delay. One group with a weight per synapse was slower, single precision no
  faster.
- GeNN: single-threaded CPU backend, `-O3 -ffast-math -march=native`, sparse connectivity, a constant weight per
  population. GeNN is made for GPUs.
- NEST: `iaf_psc_delta` with a time constant of 10^9 ms, `static_synapse_hom_w`, 1 ms resolution, one thread.
- SANA-FE: its TrueNorth neuron and chip file cut to the cores in use, the `simple` timing model, no traces; the
  default timing model is no faster.
- Nengo: the reference simulator, a neuron type in NumPy, one `Sparse` connection: the whole matrix is multiplied in
  every step, however few neurons fire.
- RANC: its C++ simulator with -O3 -march=native, traces off while it is timed.
- C kernel: `benchmarks/engine/c_kernel`, written by hand with vector instructions for this class of programs.
- Memory is the largest resident size of any process, building and compiling included.
"""


def write_page(found: Comparison, docs: Path) -> bool:
    """Write page and plot.

    Parameters
    ----------
    found : Comparison
        What is shown.
    docs : Path
        The folder ``docs``.

    Returns
    -------
    bool
        False if matplotlib is missing; then the plot is left as it was.
    """
    write_whole(docs / "benchmarks.md", page_text(found))
    try:
        from benchmarks.peers.plot import draw
    except ModuleNotFoundError:
        return False
    write_whole(docs / "img" / "benchmarks-peers.svg", draw(found))
    return True


def page_text(found: Comparison) -> str:
    """Make the page."""
    machine = found.machine
    gib = f", {machine['memory_bytes'] / 2**30:.0f} GiB" if machine.get("memory_bytes") else ""
    when = (
        f"Taken on {found.date} on {machine['cpu']}, {machine['cpus']} CPUs{gib}, {machine['system']}, Python "
        f"{machine['python']}, NumPy {machine['numpy']}, Numba {machine['numba']}, neuromap {found.commit}. "
        "Ratios carry over to other machines better than milliseconds do."
    )
    if (machine.get("load_average") or 0) > 0.5:
        when += f" Other programs were at work at the start (load average {machine['load_average']:.1f})."
    parts = [
        _HEAD,
        "![Milliseconds per tick over cores](img/benchmarks-peers.svg)\n",
        textwrap.fill(when, 120, break_on_hyphens=False, break_long_words=False) + "\n",
        "## CPU milliseconds per tick\n",
        "In brackets: how many times neuromap's.\n",
        _time_table(found),
        "## Memory and preparation\n",
        "Largest resident memory in MB, and in brackets seconds from the arrays to the first tick. neuromap's kernels "
        "are\ncompiled once on a machine, which is not counted; Brian2 and GeNN compile every network.\n",
        _memory_table(found),
        _omissions(found),
        _FAIRNESS.format(warm=found.warm, rounds=found.rounds),
    ]
    return "\n".join(part for part in parts if part)


def _time_table(found: Comparison) -> str:
    rows = []
    for peer in PEERS:
        cells = [_time(found, found.of(peer.name, cores)) for cores in found.cores]
        if any(cells):
            rows.append([_label(peer, found), *(cell or "-" for cell in cells)])
    limits = [found.limit_ms(cores) for cores in found.cores]
    if any(limits):
        rows.append(["memory alone", *("in cache" if ms is None else _milliseconds(ms) for ms in limits)])
        speed = median(found.bandwidth) / 1e9
        note = (
            f"Memory alone: what neuromap moves in a tick at the {speed:.1f} GB/s that one thread streams here; left\n"
            "out where the last-level cache holds the program.\n"
        )
    else:
        note = ""
    return _table(["", *(f"{cores} cores" for cores in found.cores)], rows) + ("\n" + note if note else "")


def _memory_table(found: Comparison) -> str:
    rows = []
    for peer in PEERS:
        measured = [found.of(peer.name, cores) for cores in found.cores]
        if any(measured):
            cells = ["-" if m is None else f"{m.peak_mb:,.0f} ({m.build_s:.2g} s)" for m in measured]
            rows.append([peer.title, *cells])
    return _table(["", *(f"{cores} cores" for cores in found.cores)], rows)


def _omissions(found: Comparison) -> str:
    if not found.omissions:
        return ""
    titles = {peer.name: peer.title for peer in PEERS}
    lines = []
    for o in found.omissions:
        where = "" if o.cores == 0 else f" at {o.cores} cores"
        lines.append(f"- {titles[o.peer]}{where}: {o.reason}.")
    return "## Not run\n\n" + "\n".join(lines) + "\n"


def _time(found: Comparison, measured: Measurement | None) -> str:
    if measured is None:
        return ""
    ratio = found.ratio(measured)
    if measured.peer == "neuromap" or ratio is None:
        return f"**{_milliseconds(measured.ms)}**"
    return f"{_milliseconds(measured.ms)} ({_ratio(ratio)})"


def _label(peer: Peer, found: Comparison) -> str:
    version = next((m.version for m in found.measurements if m.peer == peer.name), "")
    return f"{peer.title} {version}, {peer.form}" if version != "here" else f"{peer.title}, {peer.form}"


def _milliseconds(value: float) -> str:
    digits = max(0, 2 - _magnitude(value)) if value < 100 else 0
    return f"{value:.{min(digits, 5)}f}"


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{float(f'{value:.2g}'):,.0f}"


def _magnitude(value: float) -> int:
    """Position of the first digit: 0 for 1 to 9.9, -1 for 0.1 to 0.99."""
    return int(f"{value:e}".partition("e")[2])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
