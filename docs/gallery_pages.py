"""Pages of the notebooks in examples/notebooks, with their stored outputs, for Sphinx; nothing is executed.

``conf.py`` calls this before Sphinx looks for pages. They are written to docs/gallery, which git ignores: NAME.md, and
NAME.svg, the first picture of the notebook. In the repository the table of gallery.md leads to the notebooks;
the built page has their pictures and leads to these pages.
"""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "examples" / "notebooks"
_PICTURE = re.compile(r'src="data:image/svg\+xml;base64,([^"]+)"')
_LINK = re.compile(r"\]\((?:\.\./examples/notebooks/)?([\w-]+)\.ipynb\)")


def page_of(notebook: dict[str, Any], name: str) -> str:
    """Write a notebook as MyST Markdown: its text, its code, and what the cells gave."""
    parts = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(_LINK.sub(r"](\1.md)", text))
            continue
        parts.append(_fenced("python", text))
        parts += [_output(output) for output in cell["outputs"]]
    parts.append(f"This page is the notebook `examples/notebooks/{name}.ipynb`.")
    return "\n\n".join(parts) + "\n"


def first_picture(notebook: dict[str, Any]) -> str | None:
    """Give the first picture among a notebook's outputs as an SVG file; None without any."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            if found := _PICTURE.search("".join(output.get("data", {}).get("text/html", ()))):
                return base64.b64decode(found[1]).decode("utf-8")
    return None


def write_pages(folder: Path) -> None:
    """Write the pages and pictures of all notebooks into a folder."""
    folder.mkdir(exist_ok=True)
    for old in (*folder.glob("*.md"), *folder.glob("*.svg")):
        old.unlink()  # of a notebook that is no more
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        (folder / f"{path.stem}.md").write_text(page_of(notebook, path.stem), encoding="utf-8")
        if (picture := first_picture(notebook)) is not None:
            (folder / f"{path.stem}.svg").write_text(picture, encoding="utf-8")


def with_pictures(table: str, folder: Path) -> str:
    """Lead from the table of gallery.md to the pages in a folder beside it, and show their pictures."""

    def shown(row: re.Match[str]) -> str:
        title, name = row[1], row[2]
        has = (folder / f"{name}.svg").exists()
        picture = f"![{title}: its first picture]({folder.name}/{name}.svg)<br>" if has else ""
        return f"| {picture}[{title}]({folder.name}/{name}.md) |"

    return re.sub(r"^\| \[([^\]]+)\]\(\.\./examples/notebooks/([\w-]+)\.ipynb\) \|", shown, table, flags=re.MULTILINE)


def _output(output: dict[str, Any]) -> str:
    if "text" in output:
        return _fenced("text", "".join(output["text"]))
    if "text/html" in output["data"]:
        return _fenced("{raw} html", f'<div style="overflow-x: auto">{"".join(output["data"]["text/html"])}</div>')
    return _fenced("text", "".join(output["data"]["text/plain"]))


def _fenced(language: str, text: str) -> str:
    text = text.rstrip("\n")
    fence = "`" * max(3, *(len(found) + 1 for found in re.findall(r"`{3,}", text)), 3)
    return f"{fence}{language}\n{text}\n{fence}"
