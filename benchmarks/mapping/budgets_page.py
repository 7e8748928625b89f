"""The part of the page on budgets of time: what each was, what it took, and what it bought."""

from __future__ import annotations

from typing import Any

__all__ = ["budgets_text"]

_TEXT = """\
## Budgets of time

`--seconds` bounds all searches of a request together ([mapping](mapping.md#budgets-of-time)). The least time is that of
a request whose searches are all ended at once: a first legal mapping takes it, whatever the budget. A budget is kept if
the request takes at most a fifth and a second more than the budget or the least time, whichever is longer; the ratio is
that of the time taken to the longer one. Streaming rollouts, windowed, on TrueNorth where no chip is named; cores of a
bound are those that it proves, those of an exploration the fewest of its rows.

| request | budget | took | CPU time | least time | ratio | kept | cores | cut short |
|---|---:|---:|---:|---:|---:|---|---:|---|
{rows}

Wall-clock time, compiled code loaded before. Taken on {date} on {cpu}, {cpus} CPUs, one thread, while others used the
machine: times say how budgets are kept, not how quick the mapper is.
"""


def budgets_text(found: dict[str, Any]) -> str:
    """Write the part of the page.

    Parameters
    ----------
    found : dict
        What ``python -m benchmarks.mapping.budgets`` stores.

    Returns
    -------
    str
    """
    machine = found["machine"]
    rows = "\n".join(_row(row) for row in found["rows"])
    return _TEXT.format(rows=rows, date=found["date"], cpu=machine["cpu"], cpus=machine["cpus"])


def _row(row: dict[str, Any]) -> str:
    budget = "none left" if row["budget_s"] < 0.001 else f"{row['budget_s']:g} s"
    cells = (
        row["request"],
        budget,
        f"{row['took_s']:.1f} s",
        f"{row['cpu_s']:.1f} s",
        f"{row['least_s']:.1f} s",
        f"{row['took_s'] / max(row['budget_s'], row['least_s'], 0.01):.2f}",
        "yes" if row["kept"] else "no",
        "-" if row["cores"] is None else f"{row['cores']:,}",
        ", ".join(row["cut_short"]) or "-",
    )
    return f"| {' | '.join(cells)} |"
