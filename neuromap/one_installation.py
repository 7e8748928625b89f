"""Refuse to run beside the other ``neuromap``: another project has the name of our package as its distribution.

It is an SDK for chips, and installs its files into the same folder ``neuromap/``: whichever comes later replaces the
``__init__.py`` and the program of the other, and both fail in ways that name neither. Where its ``__init__.py`` has
replaced ours, it opens our ``neuromap.network``, which asks here, too. Importing this file is asking.
"""

# pathlib takes longer to import than all that is done here
# ruff: noqa: PTH118, PTH119, PTH120, PTH122, PTH123, PTH208

from __future__ import annotations

import os
import sys

# What is installed to get this package.
DISTRIBUTION = "neuromap-rollouts"

_NAMESAKE = "neuromap-"
# Where our program starts; up to 0.1.0 our own distribution was called neuromap, too.
_OUR_ENTRY = "neuromap.cli.entry"


def refuse_namesake() -> None:
    """Look for the other project's record beside the modules that can be imported."""
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
    """Tell the program ``neuromap``, of either project, and ``python -m neuromap`` from whoever imports the package."""
    name = os.path.splitext(os.path.basename(sys.argv[0] if sys.argv else ""))[0]
    return name == "neuromap" or (name == "-m" and "neuromap" in sys.orig_argv)


refuse_namesake()
