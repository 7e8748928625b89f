"""The table of cores found and of their bounds, as text for the page of the mapping benchmark."""

from __future__ import annotations

from typing import Any

__all__ = ["bounds_text"]

_HEAD = """\
## Found and bound

Cores of the best mapping beside the [lower bound](lower-bounds.md). Family 1 to 20 are random convolution networks,
sign-fixed or ternary, with groups, strides, self-edges and skips (`benchmarks/mapping/family.py`; fixed before the
first was mapped, none left out); streaming, packed, on TrueNorth. With up to twelve
parts the bound is the solver's (HiGHS), not certified. Rows marked * were not recomputed.

"""


def bounds_text(rows: list[dict[str, Any]]) -> str:
    """Make the section.

    Parameters
    ----------
    rows : list of dict
        ``network``, ``found``, ``before`` and ``after``; ``after`` is None where it was not computed.

    Returns
    -------
    str
        Markdown, a line for every network that the next table lacks, then means of all.
    """
    lines = [_line(row) for row in rows if "crop" in row or "read" not in row]
    family = [row for row in rows if row["network"].startswith("family")]
    others = [row for row in rows if row not in family]
    means = ", ".join(f"{_mean(some):.2f} {name}" for name, some in (("the family", family), ("the others", others)))
    lines.append(f"\nMean of found / bound: {means}.\n")
    return _HEAD + "".join(lines)


def _line(row: dict[str, Any]) -> str:
    after = row["after"] or row["before"]
    mark = "" if row["after"] else " *"
    return f"- {row['network']}{mark}: {row['found']:,} found, {after:,} bound, {row['found'] / after:.2f}\n"


def _mean(rows: list[dict[str, Any]]) -> float:
    return sum(row["found"] / (row["after"] or row["before"]) for row in rows) / max(1, len(rows))
