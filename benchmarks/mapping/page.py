"""The page of the mapping benchmark: our figures beside published ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.mapping.bounds_page import bounds_text
from benchmarks.mapping.budgets_page import budgets_text
from benchmarks.mapping.gaps.gaps_page import gaps_text
from benchmarks.mapping.gaps.reasons import REASONS
from benchmarks.mapping.many_targets_page import many_targets_text

__all__ = ["page_text"]

_HEAD = """\
# Mapping benchmarks

<!-- Written by `python -m benchmarks.mapping`; edit benchmarks/mapping/page.py instead. -->

How many cores, deliveries and hops the [mapper](mapping.md) needs, and how long it takes. Every program passed the
checker, which shares no code with the mapper. `benchmarks/README.md` explains how to run this; `benchmarks/results`
has every figure, those without packing too.

## Networks

| network | what it is |
|---|---|
| convolution | input 48x48x16; 3x3 convolutions of 8 input channels per group: 48x48x16, 24x24x32 with stride 2, \
24x24x32, 12x12x64 with stride 2, 12x12x64. Sign-fixed: a source feature has one sign. Ternary: every weight is -1 or \
1; with zeros, -1, 0 or 1 |
| ten-fold | the same on a 152x152 image, on the board of 16 chips |
| irregular | 32 nodes of 32 to 1024 neurons, fan-in by a power law, mostly from near places, with cycles \
(`irregular_network`) |
| grouped DSR4 | `examples/on_chip/dsr4.toml`: the paper's sizes |
| 16 chips | 592x512 image of 4 features; depthwise convolutions with skips that add up, pools; 16-chip board |

Patterns are streaming, in windowed execution, unless the row says otherwise.
"""
_BUSY = 0.5
"""Load average above which times are not trusted."""
_COLUMNS = (
    *("network", "neurons", "synapses", "cores", "not packed", "bound", "axons in use"),
    *("deliveries", "weighted hops", "CPU time", "peak MB"),
)
_PUBLISHED = """\
## Compared with others

Deliveries are distinct pairs of a source neuron, inputs included, and a core that reads it. A part is illegal if it has
more than 256 neurons or reads more than 256 sources. Copies are not counted for the partitioners, while legal cores
hold them too. Rows marked * were measured earlier, with other code.

| method | network | cores or parts | illegal | deliveries |
|---|---|---:|---:|---:|
| mt-KaHyPar * | convolution | 504 | 495 | 230,000 |
| METIS * | convolution | 504 | 504 | 359,000 |
| exhaustive rectangle tiler * | convolution, sign-fixed | 1,104 | 0 | 229,744 |
| exhaustive rectangle tiler * | convolution, ternary | 2,880 | 0 | 340,000 |
"""
_NOTES = """\
Bound: no mapping of this rollout takes fewer cores. Axons in use: of those of the cores in use. Neurons and synapses of
the network: with its inputs, before mapping. CPU time: as a multiple of the first row's, measured in
the same run, with one thread, without building the network.
"""


def page_text(
    found: dict[str, Any],
    many_targets: dict[str, Any] | None = None,
    budgets: dict[str, Any] | None = None,
    proven: list[dict[str, Any]] | None = None,
    crops: list[dict[str, Any]] | None = None,
    tiles: list[dict[str, Any]] | None = None,
) -> str:
    """Make the page.

    Parameters
    ----------
    found : dict
        ``date``, ``machine``, ``rows`` and ``partitioners`` as ``python -m benchmarks.mapping`` stores them.
    many_targets : dict, optional
        What ``python -m benchmarks.mapping.many_targets`` stores.
    budgets : dict, optional
        What ``python -m benchmarks.mapping.budgets`` stores.
    proven : list of dict, optional
        What ``python -m benchmarks.mapping.gaps`` stores.
    crops : list of dict, optional
        What ``python -m benchmarks.mapping.gaps.crops`` stores.
    tiles : list of dict, optional
        What ``python -m benchmarks.mapping.gaps.fewest_tiles`` stores.

    Returns
    -------
    str
        Markdown.
    """
    machine, rows = found["machine"], found["rows"]
    reference = next(row for row in rows if "cores" in row)
    bounds = {row["case"]: row["bound"] for row in rows if "bound" in row}
    busy = " (others used the machine, so times are rough)" if machine["load_average"] > _BUSY else ""
    when = (
        f"Taken on {found['date']} on {machine['cpu']}, {machine['cpus']} CPUs, Python {machine['python']}, NumPy "
        f"{machine['numpy']}; the first row took {reference['cpu_seconds']:.1f} CPU seconds{busy}."
    )
    plain = {row["case"]: row.get("cores") for row in rows if not row["packing"]}
    packed = [row for row in rows if row["packing"]]
    figures = _table(_COLUMNS, [_figures(row, reference, bounds, plain) for row in packed])
    refused = [f"- {row['case']}, {_packing(row)}: {row['refused']}" for row in rows if "refused" in row]
    ours = [
        _line(("neuromap", row["case"], _n(row["cores"]), "0", _n(row["deliveries"])))
        for row in packed
        if row["case"].startswith(("convolution, ", "irregular")) and "cores" in row
    ]
    metis = [
        _line(("METIS", row["case"], _n(row["parts"]), _n(row["illegal"]), _n(row["deliveries"])))
        for row in found["partitioners"]
        if "parts" in row
    ]
    earlier = {row["case"]: row["taken"] for row in rows if "taken" in row}
    when += "".join(f" Rows marked *: {case}, taken on {day}." for case, day in earlier.items())
    parts = [_HEAD, when, "", "## Figures", "", *figures, "", _NOTES]
    if refused:
        parts += ["Refused:", "", *refused, ""]
    more = ["", many_targets_text(many_targets).rstrip("\n")] if many_targets else []
    more += ["", budgets_text(budgets).rstrip("\n")] if budgets else []
    more += ["", bounds_text(proven).rstrip("\n")] if proven else []
    more += ["", gaps_text(proven, crops, tiles or [], REASONS).rstrip("\n")] if proven and crops else []
    return "\n".join([*parts, _PUBLISHED.rstrip("\n"), *metis, *ours, *more, ""])


def _packing(row: dict[str, Any]) -> str:
    return "packed" if row["packing"] else "one tile per core"


def _table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    return [_line(header), "|---|" + "---:|" * (len(header) - 1), *map(_line, lines)]


def _figures(
    row: dict[str, Any], reference: dict[str, Any], bounds: dict[str, int], plain: dict[str, int | None]
) -> tuple[str, ...]:
    head = (row["case"] + (" *" if "taken" in row else ""), _n(row.get("neurons_with_input")))
    if "cores" not in row:
        return (*head, *("-" for _ in range(len(_COLUMNS) - len(head))))
    return (
        *head,
        _n(row["network_synapses"]),
        f"**{_n(row['cores'])}**",
        _n(plain.get(row["case"])),
        _n(bounds.get(row["case"])),
        f"{row['axons']:.0%}",
        *(_n(row[key]) for key in ("deliveries", "weighted_hops")),
        f"{row['cpu_seconds'] / reference['cpu_seconds']:.2g}",
        _n(round(row["peak_mb"])),
    )


def _n(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
