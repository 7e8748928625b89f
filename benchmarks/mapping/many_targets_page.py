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

How AxonFlow was run: its functions `partitionSequential` on the order of the neurons (ordered) and after
`feedForwardOrder` (sequential), `partitionHyperedgeHidingOnlyInbound` (overlap) and `partitionHMETIS` (hierarchical),
`hilbertPlacement` after `feedForwardOrder`, `spectralPlacement` (NetworkX), and `forceDirectedRefinement` on top with
and without `fixes`, from the versions of its files that could be had in November 2026, in a folder of their own.
Two departures, both in its favour: the refinement walks the whole rectangle of the layout (as found, it passes the
corners in an order in which its helper walks one line), and its priority queue, of which only an earlier version was to
be had, is one of the same contract with stale entries dropped. Partitioners had 900 CPU seconds each and refinements
60 (120 for 16,384 neurons), after which what they had reached counts. `partitionHMETIS` did not end in 400 CPU seconds
on the random network of 4,096 neurons and was not run on larger ones; its set-list partitioner, whose hash forest was
not to be had, did not run, and neither did `partitionEdgeHiding`, whose time grows with neurons times cores times
sources. For every partition the placer that took the fewest hops is shown.
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
    return f"| {row['family']} | {method} | {counts} | {row['partition_s'] / unit:.2g} | {row['place_s'] / unit:.2g} |"
