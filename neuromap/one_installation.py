"""Refuse to run beside the other ``neuromap``: another project's distribution has the name of our package.

It is an SDK for chips that installs its files into the same folder ``neuromap/``: the later installation replaces the
``__init__.py`` and the program of the other, and both fail in ways that name neither. If its ``__init__.py`` has
replaced ours, it imports our ``neuromap.network``, which runs the check, too. Importing this file runs the check.
"""

# pathlib takes longer to import than everything done here
# ruff: noqa: PTH118, PTH119, PTH120, PTH122, PTH123, PTH208

from __future__ import annotations

import os
import sys

# Name of our distribution.
DISTRIBUTION = "neuromap-rollouts"

_NAMESAKE = "neuromap-"
# Entry point of our program; up to 0.1.0 our own distribution was called neuromap, too.
_OUR_ENTRY = "neuromap.cli.entry"


def refuse_namesake() -> None:
    """Search the import path for the other project's installation record."""
    library = os.path.dirname(os.__file__)
    own = ("", library, os.path.join(library, "lib-dynload"))
    for folder in sys.path:
        try:
            names = [] if folder in own else os.listdir(folder)
        except OSError:  # an archive, or nothing at all
            continue
        for name in names:
            if name.startswith(_NAMESAKE) and name.endswith((".dist-info", ".egg-info")):
                _refuse_unless_ours(os.path.join(folder, name))


def _refuse_unless_ours(record: str) -> None:
    try:
        with open(os.path.join(record, "entry_points.txt"), encoding="utf-8", errors="replace") as file:
            if _OUR_ENTRY in file.read():
                return
    except OSError:
        pass
    _refuse(
        f"{record}: neuromap, an SDK of another project, is installed beside {DISTRIBUTION} and has files of the same "
        f"names; keep one in an environment: pip uninstall -y neuromap {DISTRIBUTION}, then install that one again"
    )


def _refuse(line: str) -> None:
    from neuromap.errors import InstallationError

    if _is_program():
        if sys.stderr is not None:
            sys.stderr.write(f"neuromap: {line}\n")
        raise SystemExit(InstallationError.exit_code)
    raise InstallationError(line)


def _is_program() -> bool:
    """Return whether this is the program ``neuromap``, of either project, or ``python -m neuromap``, not an import."""
    name = os.path.splitext(os.path.basename(sys.argv[0] if sys.argv else ""))[0]
    return name == "neuromap" or (name == "-m" and "neuromap" in sys.orig_argv)


refuse_namesake()
