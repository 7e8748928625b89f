"""Output of commands if ``--set`` makes several chips."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import neuromap as nm
from neuromap.cli.printing.text_output import fail, give_shown, write_forms


def give_sweep(sweep: nm.sweep.ChipSweep, files: Mapping[str, str | None], *, every: bool, as_json: bool) -> None:
    """Write the requested files, print the table, and set the exit code by whether it fits any chip."""
    from neuromap.sweep.chip_sweep import print_sweep

    forms: dict[str, Callable[[], str]] = {"html": sweep.to_html, "csv": sweep.to_csv, "json": sweep.to_json}
    written = write_forms(*((path, forms[name]) for name, path in files.items()))
    give_shown(sweep, lambda console: print_sweep(sweep, console, every=every), *written, as_json=as_json)
    _leave(sweep)


def _leave(sweep: nm.sweep.ChipSweep) -> None:
    if not sweep.exit_code:
        return
    if sweep.failed:
        row = sweep.failed[0]
        line = f"{row.chip.name}: {', '.join((*row.labels, 'chip and reference differ'))}; neuromap verify says where"
    else:
        first = sweep.rows[0]
        line = f"none of {sweep.n_chips} chips is enough, first {first.chip.name}: {first.reason}"
    fail(line, sweep.exit_code)
