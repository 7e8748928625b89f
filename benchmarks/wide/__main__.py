"""Cores against first response of networks whose neurons are wider than a core, beside chips with wider cores.

    python -m benchmarks.wide                                           some minutes
    python -m benchmarks.wide --from benchmarks/results/wide.json       page and pictures again, nothing is run

It writes ``benchmarks/results/wide.json``, ``docs/img/wide-neurons.svg`` and the tables of ``docs/wide-neurons.md``.
Every row is verified: the chip's frames are those of the reference, and responses are measured on the program.
"""

from __future__ import annotations

import argparse
import datetime
import json
from pathlib import Path
from typing import Any

import neuromap as nm
from benchmarks.wide.networks import CASES, Case, wider_chip
from benchmarks.wide.page import PATTERNS, picture, with_tables
from neuromap.errors import DoesNotFitError
from neuromap.files.whole_file import write_whole
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.options import MappingOptions
from neuromap.verification.wave import measure

_ROOT = Path(__file__).resolve().parents[2]
_RESULTS = _ROOT / "benchmarks" / "results" / "wide.json"
_PAGE = _ROOT / "docs" / "wide-neurons.md"
_PICTURE = _ROOT / "docs" / "img" / "wide-neurons.svg"


def _row(case: Case, pattern: str, chip: ChipSpec, options: MappingOptions) -> dict[str, Any]:
    rollout = nm.Rollout(case.network, pattern)
    head = {"network": case.name, "pattern": pattern, "axons": chip.axons, "ticks": options.wide_ticks}
    try:
        mapped = map_with_stages(rollout, chip, options)
    except DoesNotFitError as refusal:
        return {**head, "refused": str(refusal)}
    program = mapped.program
    found = measure(program)["O"]
    return {
        **head,
        "parts": 0 if program.is_part is None else int(program.is_part.sum()),
        "cores": program.n_cores,
        "period": program.period,
        "predicted_first": mapped.rollout.first_response("O")
        * (1 if mapped.rollout.is_tick_level else program.ticks_per_step),
        "measured_first": found.first_response_ticks,
        "verified": nm.verify(rollout, program, n_frames=16).verified,
    }


def _rows(case: Case) -> list[dict[str, Any]]:
    rows = []
    for pattern in PATTERNS:
        for ticks in case.ticks:
            rows.append(_row(case, pattern, case.chip, MappingOptions(wide="partial-sums", wide_ticks=ticks)))
            print(rows[-1], flush=True)
        for axons in case.wider:
            rows.append(_row(case, pattern, wider_chip(case.chip, axons), MappingOptions()))
            print(rows[-1], flush=True)
    return rows


def main() -> int:
    """Measure, write results, page and picture."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--from", dest="stored", type=Path)
    asked = parser.parse_args()
    if asked.stored is None:
        found = {"date": datetime.date.today().isoformat(), "rows": [row for case in CASES for row in _rows(case)]}
        write_whole(_RESULTS, json.dumps(found, indent=1) + "\n")
    else:
        found = json.loads(asked.stored.read_text(encoding="utf-8"))
    write_whole(_PICTURE, picture(found))
    write_whole(_PAGE, with_tables(_PAGE.read_text(encoding="utf-8"), found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
