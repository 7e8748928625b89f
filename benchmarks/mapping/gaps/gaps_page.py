"""Which side of found and proven is stuck, network by network, as text for the page of the mapping benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["gaps_text"]

_HEAD = """\
### Which side is stuck

Networks that were bounded whole, whose cores are more than a tenth above the bound, and the side that the nodes and
crops below show to be stuck. `benchmarks/results/bounds.json` has axons, copies and neurons per
core of each.
"""
_COLUMNS = ("network", "found", "bound", "found / bound", "stuck", "why")
_CROPS_HEAD = """\
### Crops

Small layers of the same kinds, read from the host alone, on cores with fewer axons
(`benchmarks/mapping/gaps/crops.py`). An integer program (HiGHS) excludes a number of cores, taking for granted that
two axons of a source make any weights, and finds a legal mapping for another. Where the solver did not end in time
the fewest lie between two numbers.

| crop | axons of a core | found | bound | fewest there are | stuck |
|---|---:|---:|---:|---:|---|
"""
_TILES_HEAD = """\
### Tiles of any shape

Nodes whose sources have one axon each, cut into sets of places of any shape by column generation (HiGHS). Least: no
mapping has the node's neurons in fewer cores, whatever it copies or shares. Most: a tiling with that many exists,
with room for the copies that the mapper's tiles hold. Where the solver did not end in time, least is the bound.

| network | node | tiles | bound | fewest there are | stuck |
|---|---|---:|---:|---:|---|
"""
_NEAR = 1.1
"""Found / proven up to which nothing is said to be stuck."""


def gaps_text(
    rows: list[dict[str, Any]],
    crops: list[dict[str, Any]],
    tiles: list[dict[str, Any]],
    reasons: Mapping[str, tuple[str, str]],
) -> str:
    """Make the tables.

    Parameters
    ----------
    rows : list of dict
        What ``python -m benchmarks.mapping.gaps`` stores.
    crops : list of dict
        What ``python -m benchmarks.mapping.gaps.crops`` stores.
    tiles : list of dict
        What ``python -m benchmarks.mapping.gaps.fewest_tiles`` stores.
    reasons : mapping of str to (str, str)
        Which side is stuck and why, by network; those that are within a tenth of the bound need none.

    Returns
    -------
    str
        Markdown, three sections.
    """
    whole = [row for row in rows if "read" in row]
    lines = [_line(row, reasons) for row in whole if _ratio(row) > _NEAR]
    near = [f"{row['network']} {_ratio(row):.2f}" for row in whole if _ratio(row) <= _NEAR]
    header = f"\n| {' | '.join(_COLUMNS)} |\n|---{'|---:' * 3}|---|---|\n"
    within = f"\nWithin a tenth: {', '.join(near)}.\n" if near else ""
    of_nodes = _TILES_HEAD + "".join(_tiles(row) for row in tiles)
    return "\n".join(
        [_HEAD + header + "".join(lines) + within, of_nodes, _CROPS_HEAD + "".join(_crop(row) for row in crops)]
    )


def _ratio(row: dict[str, Any]) -> float:
    counted_on = row.get("crop", row)
    return float(counted_on["found"] / counted_on["after"])


def _line(row: dict[str, Any], reasons: Mapping[str, tuple[str, str]]) -> str:
    counted_on = row.get("crop", row)
    cells = (
        f"{row['network']}, crop of 64x64" if "crop" in row else row["network"],
        f"{counted_on['found']:,}",
        f"{counted_on['after']:,}",
        f"{_ratio(row):.2f}",
        *reasons.get(row["network"], ("-", "-")),
    )
    return f"| {' | '.join(cells)} |\n"


def _tiles(row: dict[str, Any]) -> str:
    cells = (row["network"], row["node"], f"{row['tiles']}", f"{row['proven']}", *_fewest(row, row["tiles"]))
    return f"| {' | '.join(cells)} |\n"


def _crop(row: dict[str, Any]) -> str:
    cells = (row["crop"], f"{row['axons']}", f"{row['found']}", f"{row['proven']}", *_fewest(row, row["found"]))
    return f"| {' | '.join(cells)} |\n"


def _fewest(row: dict[str, Any], found: int) -> tuple[str, str]:
    """Say how few there are, and which side that shows to be stuck."""
    least, most = row["least"], row["most"]
    stuck = [name for name, is_stuck in (("bound", least > row["proven"]), ("mapper", most < found)) if is_stuck]
    fewest = f"{least}" if least == most else f"{least} to {most}"
    return fewest, " and ".join(stuck) or ("-" if least == most else "open")
