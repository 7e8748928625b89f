"""The part of the page on many-target cores: our figures beside those of a published mapper."""

from __future__ import annotations

from typing import Any

from benchmarks.mapping.hypergraphs import FAMILIES

__all__ = ["many_targets_text"]

_TEXT = """\
## Many-target cores

Cores that keep lists of synapses, as Loihi's do, send a spike to any number of cores and hold no copies. Beside ours
stands AxonFlow (Ronzani and Silvano, "A Case for Hypergraphs to Model and Map SNNs on Neuromorphic Hardware",
arXiv 2601.16118), the newest published mapper of such cores, on its families of networks with its limits: neurons of a
core, and distinct neurons that a core reads. Inputs are neurons here, as they are there; all rates are 1.

| network | what it is | neurons of a core | axons of a core |
|---|---|---:|---:|
{families}

Deliveries are distinct pairs of a neuron and a core that reads it; between cores, those whose neuron is in another
core, which is what AxonFlow counts. Weighted hops are columns plus rows on a chip of 64x64 cores, summed over
deliveries. One counter of ours counted all mappings, and found that all keep the limits.

| network | method | cores | deliveries | between cores | weighted hops | partition, CPU time | placement, CPU time |
|---|---|---:|---:|---:|---:|---:|---:|
{rows}

CPU time is a multiple of our partition of the LeNet-like network, which took {unit:.2f} CPU seconds; compiled code was
loaded before, in {compile:.1f} CPU seconds (from the cache, or compiled where there was none). Taken on {date} on
{cpu}, {cpus} CPUs, one thread each, while others used the machine.

Ours takes at most as many cores, deliveries and hops everywhere. On the convolution networks it partitions in a sixth
and less of the time of the overlap partitioner, on the random ones in 0.7 to 1.2 times its time (1.5, 14 and 208 CPU
seconds). It is not quicker than filling cores in order, and on the two largest networks its annealed placement makes
it the slower one in all. Ours knows rows and columns of the layers; AxonFlow sees neurons and edges alone.

How AxonFlow was run: its functions `partitionSequential` on the order of the neurons (ordered) and after
`feedForwardOrder` (sequential), `partitionHyperedgeHidingOnlyInbound` (overlap) and `partitionHMETIS` (hierarchical),
`hilbertPlacement` after `feedForwardOrder`, `spectralPlacement` (NetworkX), and `forceDirectedRefinement` on top with
and without `fixes`, copied by hand from the versions of its files that could be read in November 2026, in a folder
outside the project. Four departures: the refinement walks the whole rectangle of the layout (as found, it passes the
corners in an order in which its helper walks one line); hyperedges that reach one other partition are kept (as found,
they were dropped); the hierarchical refinement counts what a coarse node reads by its neurons (as found, by hyperedges
that the limits did not know); and its priority queue, of which only an earlier version was to be had, is one of the
same contract with stale entries dropped. Partitioners had 900 CPU seconds each and refinements 60 (120 for 16,384
neurons), after which what they had reached counts; at 65,536 neurons none ended in 300.

For every partition that was placed, the placer that took the fewest hops is shown. Not placed, because they took more
cores and deliveries than in order: overlap on the random networks (365, 1,810 and 3,527 cores; 361,396, 3,537,223 and
28,220,638 deliveries) and sequential (320 and 1,728 cores; 319,085 and 3,401,070 deliveries; not run on the largest).
`partitionHMETIS` did not end in 400 CPU seconds on 4,096 random neurons and was not run on the larger networks. Its
set-list partitioner, whose hash forest was not to be had, did not run, and neither did `partitionEdgeHiding`, the swap
partitioner, and the particle-swarm and TrueNorth placers.
"""
_WHAT = {
    "LeNet-like": "5x5 convolutions, 2x2 pools and dense layers on a 32x32x3 image: 11,166 neurons",
    "VGG-like": "VGG-11's convolutions on 32x32x3 at a quarter of their width, strides for pools: 39,946 neurons",
    "random 4k": "4,096 neurons that reach 128 others on average, mostly near ones",
    "random 16k": "16,384 neurons that reach 256",
    "random 64k": "65,536 neurons that reach 512",
}
_NAMES = {"unordered": "ordered", "hmetis": "hierarchical"}


def many_targets_text(
    found: dict[str, Any], *, partition_limit: int = 900, place_limit: str = "60 (120 from 16k)"
) -> str:
    """Make the part of the page.

    Parameters
    ----------
    found : dict
        As ``python -m benchmarks.mapping.many_targets`` stores it.

    Returns
    -------
    str
        Markdown.
    """
    rows, machine = found["rows"], found["machine"]
    unit = next(row["partition_s"] for row in rows if row["method"].startswith("neuromap"))
    families = {row["family"] for row in rows}
    limits = [f"| {f.name} | {_WHAT[f.name]} | {f.neurons:,} | {f.axons:,} |" for f in FAMILIES if f.name in families]
    return _TEXT.format(
        families="\n".join(limits),
        rows="\n".join(_row(row, unit) for row in rows),
        unit=unit,
        compile=found["compile_s"],
        date=found["date"],
        cpu=machine["cpu"],
        cpus=machine["cpus"],
    )


def _row(row: dict[str, Any], unit: float) -> str:
    method = row["method"]
    for short, long in _NAMES.items():
        method = method.replace(short, long)
    counts = " | ".join(f"{row[key]:,}" for key in ("cores", "deliveries", "between", "hops"))
    times = " | ".join(_times(row[key] / unit) for key in ("partition_s", "place_s"))
    return f"| {row['family']} | {method} | {counts} | {times} |"


def _times(ratio: float) -> str:
    return f"{ratio:.2g}" if ratio < 10 else f"{ratio:,.0f}"
