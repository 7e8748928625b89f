"""The part of the page on many-target cores: our figures beside those of a published mapper."""

from __future__ import annotations

from typing import Any

from benchmarks.mapping.hypergraphs import FAMILIES

__all__ = ["many_targets_text"]

_TEXT = """\
## Many-target cores

Cores that keep lists of synapses, as Loihi's do, send a spike to any number of cores and hold no copies. AxonFlow
(Ronzani and Silvano, "A Case for Hypergraphs to Model and Map SNNs on Neuromorphic Hardware", arXiv 2601.16118) is the
newest published mapper of such cores. These are its families of networks with its limits: neurons of a core, and
distinct neurons that a core reads. Inputs are neurons, all rates are 1.

| network | what it is | neurons of a core | axons of a core |
|---|---|---:|---:|
{families}

Deliveries are distinct pairs of a neuron and a core that reads it. Weighted hops are columns plus rows on a chip of
64x64 cores, summed over deliveries. One counter of ours counted all mappings; all keep the limits.

| network | method | cores | deliveries | weighted hops | partition, CPU time | placement, CPU time |
|---|---|---:|---:|---:|---:|---:|
{rows}

CPU time is a multiple of our partition of the LeNet-like network, which took {unit:.2f} CPU seconds; compiled code was
loaded before, in {compile:.1f} CPU seconds. Taken on {date} on {cpu}, {cpus} CPUs, one thread each, while others used
the machine. {earlier}

Ours takes at most as many cores, deliveries and hops everywhere. CPU time of our partition and placement over that of
AxonFlow's with the fewest hops: {ratios}.
{turns}
Our partition alone took {partitions} times that of the overlap partitioner, in the order of the table.
Filling cores in order is quicker on small networks, with more deliveries everywhere. {in_order}
Ours knows rows and columns of the layers; AxonFlow sees neurons and edges alone.

`benchmarks/README.md` says how AxonFlow was run, and which of its partitioners and placers did not end.
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
    families = {row["family"] for row in rows}
    rows = [_in_turns(row, rows) for row in rows]
    unit = next(row["partition_s"] for row in rows if row["method"].startswith("neuromap"))
    limits = [f"| {f.name} | {_WHAT[f.name]} | {f.neurons:,} | {f.axons:,} |" for f in FAMILIES if f.name in families]
    return _TEXT.format(
        families="\n".join(limits),
        rows="\n".join(_row(row, unit) for row in rows),
        unit=unit,
        compile=found["compile_s"],
        earlier=_earlier_text(rows),
        turns=_turns_text(rows, [f.name for f in FAMILIES if f.name in families]),
        in_order=_in_order_text(rows),
        ratios=", ".join(f"{_times(_ratio(rows, f.name))} ({f.name})" for f in FAMILIES if f.name in families),
        partitions=", ".join(f"{ratio:.2g}" for ratio in _beside_overlap(rows)),
        date=found["date"],
        cpu=machine["cpu"],
        cpus=machine["cpus"],
    )


def _ours(rows: list[dict[str, Any]], family: str) -> dict[str, Any]:
    return next(row for row in rows if row["family"] == family and row["method"] == "neuromap")


def _best(rows: list[dict[str, Any]], family: str) -> dict[str, Any]:
    """Find the other mapping with the fewest hops."""
    others = [row for row in rows if row["family"] == family and row["method"] != "neuromap" and row["hops"]]
    return min(others, key=lambda row: row["hops"])


def _in_turns(row: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Give a row of ours the times of the turns that it took with the other mapping with the fewest hops, if it did."""
    if row["method"] != "neuromap":
        return row
    best = _best(rows, row["family"])
    return row | best["ours"] if "turns" in best else row


def _beside(row: dict[str, Any], rows: list[dict[str, Any]], *keys: str) -> float:
    """Divide our time by that of another mapping: of the turns that both took, or of the run of the other."""
    mine = row.get("ours") or _ours(rows, row["family"])
    return float(sum(mine[key] for key in keys) / sum(row[key] for key in keys))


def _ratio(rows: list[dict[str, Any]], family: str) -> float:
    return _beside(_best(rows, family), rows, "partition_s", "place_s")


def _beside_overlap(rows: list[dict[str, Any]]) -> list[float]:
    """Divide the times of our partitions by those of the overlap partitioner."""
    return [_beside(row, rows, "partition_s") for row in rows if "overlap" in row["method"]]


def _earlier_text(rows: list[dict[str, Any]]) -> str:
    runs = {row["earlier"]["date"]: row["earlier"] for row in rows if "earlier" in row}
    said = [
        f"Rows marked * were taken earlier ({run['date']}) on\n{run['cpu']}, with the code of that time, in multiples "
        f"of the {run['unit_s']:.2f} CPU seconds of that run."
        for run in runs.values()
    ]
    return "\n".join(said)


def _turns_text(rows: list[dict[str, Any]], families: list[str]) -> str:
    best = {family: _best(rows, family) for family in families}
    said = [f"{row['turns']} each on {family}" for family, row in best.items() if "turns" in row]
    if not said:
        return "Each of the two was measured in the run of the other."
    return f"The two took turns ({', '.join(said)};\nmedians); of marked rows both are of that earlier run."


def _in_order_text(rows: list[dict[str, Any]]) -> str:
    """Say how much longer ours takes, placed, than filling in order where that is not what is compared above."""
    plain = [row for row in rows if "unordered" in row["method"] and row is not _best(rows, row["family"])]
    said = [f"{_times(_beside(row, rows, 'partition_s', 'place_s'))} ({row['family']})" for row in plain if row["hops"]]
    return f"Placed, ours takes {', '.join(said)} times as long." if said else ""


def _row(row: dict[str, Any], unit: float) -> str:
    method = row["method"] + (" *" if "earlier" in row else "")
    unit = row["earlier"]["unit_s"] if "earlier" in row else unit
    for short, long in _NAMES.items():
        method = method.replace(short, long)
    counts = " | ".join("-" if row[key] is None else f"{row[key]:,}" for key in ("cores", "deliveries", "hops"))
    times = " | ".join("-" if row[key] is None else _times(row[key] / unit) for key in ("partition_s", "place_s"))
    return f"| {row['family']} | {method} | {counts} | {times} |"


def _times(ratio: float) -> str:
    return f"{ratio:.2g}" if ratio < 10 else f"{ratio:,.0f}"
