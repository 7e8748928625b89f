"""Build the paper from paper.typ: build/paper/paper.pdf, and its pages as pictures where they are asked for.

    python paper/build.py [--pages] [--out build/paper]

Needs typst, and DejaVu Sans, which matplotlib carries; no font of the system is looked at, so all machines build the
same.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path

import typst

HERE = Path(__file__).resolve().parent
DATE = 1795737600
"""27 November 2026, in seconds since 1970: the date of the document, not that of the build."""


def fonts() -> list[str]:
    """Find the folder of fonts of matplotlib, without importing it."""
    found = find_spec("matplotlib")
    assert found is not None
    assert found.submodule_search_locations
    return [str(Path(next(iter(found.submodule_search_locations))) / "mpl-data" / "fonts" / "ttf")]


def main() -> None:
    """Build what is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pages", action="store_true", help="pictures of all pages beside the PDF")
    parser.add_argument("--out", type=Path, default=HERE.parent / "build" / "paper")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    given = {
        "input": str(HERE / "paper.typ"),
        "root": str(HERE.parent),
        "font_paths": fonts(),
        "ignore_system_fonts": True,
        "timestamp": DATE,
    }
    typst.compile(output=str(asked.out / "paper.pdf"), **given)
    if asked.pages:
        typst.compile(output=str(asked.out / "page-{0p}.png"), format="png", ppi=110.0, **given)
    print(asked.out / "paper.pdf")


if __name__ == "__main__":
    main()
