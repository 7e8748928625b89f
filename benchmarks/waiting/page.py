"""The page on what users wait for."""

from __future__ import annotations

from typing import Any

__all__ = ["page_text"]

_WANTED_IMPORTS_S = 0.6
_MOST_PACKAGES = 5
_TEXT = """\
# What users wait for

<!-- Written by `python -m benchmarks.waiting`; edit benchmarks/waiting/page.py instead. -->

How long commands take in a fresh process, how much of it is importing, what first use costs, and how long whole
batches take. A command runs {rounds} times; the least time counts. CPU time is that of all threads and child
processes. `benchmarks/README.md` explains how to run this.

{taken}

## Commands

Seconds. Wanted: what each should take at most on a machine of two cores with nothing else to do.

| command | wall | CPU | wanted |
|---|---:|---:|---:|
{rows}

First use: neither Python's files nor the kernels are compiled. All else is warm. MLPs have ternary weights, drawn by
seed, and thresholds of 1; `benchmarks/waiting/cases.py` says what the networks are, `irregular` is that of the
[mapping benchmark](mapping-benchmarks.md).

These times are importing (below); where ticks run, half a second for Numba and loading compiled kernels (not for small
maps and refusals); then the search. `report` verifies and measures every row.

{slow}

## Imports

Seconds that a command imports for, as Python counts them (of every module the least of all rounds), of which
most in these packages; and seconds that a process takes to import a package and to end, beside other simulators and
PyTorch. Wanted are {imports_wanted:g} s at most.

| command | seconds | most of it |
|---|---:|---|
{imports}

| `import` | wall | CPU |
|---|---:|---:|
{peers}

## Batches

Random stimuli of density 0.2 through one program, compiled code loaded before; [batches](simulation.md) says how they
are run.

| program | stimuli | frames | threads | wall | CPU | CPU per stimulus |
|---|---:|---:|---:|---:|---:|---:|
{batches}

## Others

No other tool does as a whole what these commands do. Partition and placement stand beside
[AxonFlow](mapping-benchmarks.md#many-target-cores), and the seconds from arrays to the first tick beside [other
simulators](benchmarks.md#memory-and-preparation).
"""


def page_text(found: dict[str, Any]) -> str:
    """Write the page.

    Parameters
    ----------
    found : dict
        What ``python -m benchmarks.waiting`` stores.

    Returns
    -------
    str
    """
    machine = found["machine"]
    taken = (
        f"Taken on {found['date']} on {machine['cpu']}, {machine['cpus']} CPUs, Python {machine['python']}, NumPy "
        f"{machine['numpy']}, Numba {machine['numba']}, commit {found['commit']}."
    )
    if (machine["load_average"] or 0) > 1:
        taken += (
            f" Others were at work (load average {machine['load_average']:.1f} before the start): all times are longer"
            " than on a quiet machine, those of the processor too; ratios hold."
        )
    imports = found["imports"]
    return _TEXT.format(
        rounds=found["rounds"],
        taken=taken,
        rows="\n".join(map(_row, found["rows"])),
        slow=_slow(found["rows"]),
        imports_wanted=_WANTED_IMPORTS_S,
        imports="\n".join(_import(name, imports["now"][name]) for name in imports["now"]),
        peers="\n".join(_peer(name, times) for name, times in found["peers"].items()),
        batches="\n".join(_batch(row) for row in found["batches"]) or _line("not measured", *["-"] * 6),
    )


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _row(row: dict[str, Any]) -> str:
    wall, cpu = row["now"]
    return _line(row["title"], f"{wall:.2f}", f"{cpu:.2f}", "-" if row["wanted_s"] is None else f"{row['wanted_s']:g}")


def _slow(rows: list[dict[str, Any]]) -> str:
    """Say what stands between the commands that take longer than wanted and what is wanted."""
    told = [
        f"- {row['title']}, {row['now'][0]:.2f} s instead of {row['wanted_s']:g}: "
        + ", ".join(f"{stage} {100 * share:.0f} %" for stage, share in row["stages"].items())
        for row in rows
        if "stages" in row
    ]
    if not told:
        return "No command takes longer than wanted."
    head = (
        "What takes longer than wanted, and the parts of its time that a profile shows (stages hold what they import):"
    )
    return "\n".join([head, "", *told])


def _import(name: str, now: dict[str, float]) -> str:
    most = ", ".join(f"{package} {seconds:.2f}" for package, seconds in list(now.items())[:_MOST_PACKAGES])
    return _line(f"`{name}`", f"{sum(now.values()):.2f}", most)


def _peer(name: str, times: list[float] | None) -> str:
    return _line(f"`{name}`", *(["not measured"] * 2 if times is None else [f"{time:.2f}" for time in times]))


def _batch(row: dict[str, Any]) -> str:
    each = row["cpu_s"] / row["stimuli"] * 1e6
    return _line(
        row["name"],
        f"{row['stimuli']:,}",
        str(row["frames"]),
        str(row["threads"]),
        f"{row['wall_s']:.2f} s",
        f"{row['cpu_s']:.2f} s",
        f"{each:.1f} us",
    )
