"""Write the tables of ``docs/nengo.md`` anew from the results: ``python benchmarks/nengo/page.py``."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import mean

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "nengo.md"
RESULTS = ROOT / "benchmarks" / "results"


def errors_table() -> str:
    """Make the table of the three networks."""
    found = json.loads((RESULTS / "nengo_three_networks.json").read_text(encoding="utf-8"))
    lines = ["| network | time of the model, s | RMSE, Nengo's LIF | RMSE, chip | ratio |", "|---|---|---|---|---|"]
    for name, row in found["networks"].items():
        theirs, ours = (row["mean"][which] for which in ("nengo", "chip"))
        lines.append(f"| {name} | {row['seconds']:g} | {theirs:.4f} | {ours:.4f} | {row['ratio']:.2f} |")
    return "\n".join(lines)


def crossbar_table() -> str:
    """Make the table of the three networks on crossbar cores."""
    found = json.loads((RESULTS / "nengo_crossbar.json").read_text(encoding="utf-8"))
    head = "| network | regularisation | cores | RMSE, Nengo's LIF | RMSE, chip | ratio |"
    lines = [head, "|---|---|---|---|---|---|"]
    for name, by_regularisation in found.items():
        for regularisation, rows in by_regularisation.items():
            theirs, ours = (mean(row[which] for row in rows.values()) for which in ("nengo", "chip"))
            cores = mean(row["cores"] for row in rows.values())
            figures = f"{theirs:.4f} | {ours:.4f} | {ours / theirs:.2f}"
            lines.append(f"| {name} | {regularisation} | {cores:.0f} | {figures} |")
    return "\n".join(lines)


def suite_tables() -> str:
    """Make the counts by file, the list of what stepped on the chip, and the reasons of what is left out."""
    found = json.loads((RESULTS / "nengo_suite.json").read_text(encoding="utf-8"))
    slow = [name for name, why in found["left_out"].items() if why.startswith("slow tests")]
    refused = {name: why for name, why in found["left_out"].items() if name not in slow}
    kinds = {"on_chip": found["on_chip"], "on_host": found["on_host"], "failed": found["failed"], "left_out": refused}
    counts: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys([*kinds, "slow"], 0))
    for kind, names in {**kinds, "slow": slow}.items():
        for name in names:
            counts[name.split("::")[0]][kind] += 1
    head = "| file | pass, with steps on the chip | pass, on the host alone | fail | left out | slow, not asked for |"
    lines = [head, "|---|---|---|---|---|---|"]
    for file, row in sorted(counts.items()):
        lines.append(f"| ``{file}`` | {' | '.join(str(n) for n in row.values())} |")
    total = [sum(row[kind] for row in counts.values()) for kind in [*kinds, "slow"]]
    lines += [f"| all {sum(total)} | {' | '.join(map(str, total))} |", "", "Left out:", ""]
    lines += [f"- ``{name}``: {why}." for name, why in sorted(refused.items())]
    lines += ["", "Tests in which an ensemble took steps on the chip:", ""]
    lines += [f"- ``{file}``: {', '.join(tests)}." for file, tests in _by_function(found["on_chip"])]
    return "\n".join(lines)


def _by_function(names: Iterable[str]) -> list[tuple[str, list[str]]]:
    """List test functions by file, with the number of their cases where there are several."""
    cases: dict[str, dict[str, int]] = defaultdict(dict)
    for name in sorted(names):
        file, test = name.split("::")[0], name.split("::")[1].split("[")[0]
        cases[file][test] = cases[file].get(test, 0) + 1
    return [
        (file, [f"`{test}`" + (f" ({n})" if n > 1 else "") for test, n in tests.items()])
        for file, tests in cases.items()
    ]


def main() -> None:
    """Replace what stands between the marks."""
    text = PAGE.read_text(encoding="utf-8")
    tables = {"errors": errors_table(), "crossbar": crossbar_table(), "suite": suite_tables()}
    for name, table in tables.items():
        pattern = rf"(<!-- {name}: benchmarks/nengo/page.py -->).*?(<!-- end -->)"
        text = re.sub(pattern, lambda m, t=table: f"{m[1]}\n\n{t}\n\n{m[2]}", text, flags=re.DOTALL)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
