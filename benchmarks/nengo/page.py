"""Write the tables of ``docs/nengo.md`` anew from the results: ``python benchmarks/nengo/page.py``."""

from __future__ import annotations

import json
import re
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
    """Make the counts over all files."""
    found = json.loads((RESULTS / "nengo_suite.json").read_text(encoding="utf-8"))
    slow = [name for name, why in found["left_out"].items() if why.startswith("slow tests")]
    refused = {name: why for name, why in found["left_out"].items() if name not in slow}
    counts = [len(names) for names in (found["on_chip"], found["on_host"], found["failed"], refused, slow)]
    head = "| tests | pass, with steps on the chip | pass, on the host alone | fail | left out | slow, not asked for |"
    lines = [head, "|---|---|---|---|---|---|", f"| {sum(counts)} | {' | '.join(map(str, counts))} |"]
    return "\n".join(lines)


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
