"""The part of the page on budgets of time: what each was, what it took, and what it bought."""

from __future__ import annotations

from typing import Any

__all__ = ["budgets_text"]

_TEXT = """\
## Budgets of time

`--seconds` bounds all searches of a request together ([mapping](mapping.md#budgets-of-time)). A first legal mapping
takes the least time, whatever the budget. A budget is kept if the request takes at most a fifth and a second more than
the budget or the least time, whichever is longer. Each cell: seconds that the request took, and cores (of a bound those
that it proves, of an exploration the fewest of its rows). Streaming, windowed, on TrueNorth where no chip is named.
Requests whose result no longer changes after the first second are left out.

| request | {budgets} |
|---|{ruler}
{rows}

{kept} Wall-clock time, compiled code loaded before, {date}, {cpu}, {cpus} CPUs, one thread, while others used the
machine. `benchmarks/results/mapping_budgets.json` has every request, and the stages that were cut short.
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
    requests: dict[str, list[dict[str, Any]]] = {}
    for row in found["rows"]:
        requests.setdefault(row["request"], []).append(row)
    budgets = [_budget(row) for row in next(iter(requests.values()))]
    return _TEXT.format(
        budgets=" | ".join(budgets),
        ruler="---:|" * len(budgets),
        rows="\n".join(
            f"| {' | '.join([name, *map(_cell, rows)])} |" for name, rows in requests.items() if _gains(rows)
        ),
        kept=f"All {len(found['rows'])} were kept."
        if all(row["kept"] for row in found["rows"])
        else "Marked !: not kept.",
        date=found["date"],
        cpu=machine["cpu"],
        cpus=machine["cpus"],
    )


def _gains(rows: list[dict[str, Any]]) -> bool:
    return len({row["cores"] for row in rows[1:]}) > 1


def _budget(row: dict[str, Any]) -> str:
    return "none left" if row["budget_s"] < 0.001 else f"{row['budget_s']:g} s"


def _cell(row: dict[str, Any]) -> str:
    cores = "-" if row["cores"] is None else f"{row['cores']:,}"
    return f"{row['took_s']:.1f} s, {cores}{'' if row['kept'] else ' !'}"
