"""Run the cells of examples/notebooks/*.ipynb and store what they print.

Notebooks are JSON documents whose code cells run one after the other in one namespace; that is all these need, so no
kernel is started. Stored are what a cell prints and the value of its last expression: as text, and as HTML where it has
a form for notebooks. Cells run in a temporary folder beside which the folders of the examples lie, as they do where
Jupyter runs them. With ``--check`` nothing is written: the exit code tells whether a notebook is out of date.
"""

from __future__ import annotations

import ast
import json
import sys
import tempfile
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "examples" / "notebooks"
_LONGEST_TEXT = 1000


def run_cell(source: str, namespace: dict[str, Any], name: str) -> tuple[str, Any]:
    """Run one code cell; give what it prints, and the value of its last expression or ``None``."""
    tree = ast.parse(source, name)
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = StringIO()
    with redirect_stdout(printed):
        exec(compile(tree, name, "exec"), namespace)
        value = None if last is None else eval(compile(last, name, "eval"), namespace)
    return printed.getvalue(), value


def outputs_of(printed: str, value: Any, count: int) -> list[dict[str, Any]]:
    """Make the stored outputs of a cell, as nbformat 4 has them."""
    found: list[dict[str, Any]] = []
    if printed:
        found.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(True)})
    if value is not None:
        text = repr(value)
        data = {"text/plain": [text if len(text) <= _LONGEST_TEXT else f"<{type(value).__name__}>"]}
        if hasattr(value, "_repr_html_"):
            data = {"text/html": value._repr_html_().splitlines(True), **data}
        found.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return found


def refreshed(path: Path) -> str:
    """Give the text of a notebook with the outputs that its cells have now."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    with tempfile.TemporaryDirectory() as folder:
        for beside in sorted((ROOT / "examples").iterdir()):
            if beside.is_dir() and beside != NOTEBOOKS:
                (Path(folder) / beside.name).symlink_to(beside)
        (Path(folder) / "notebooks").mkdir()
        with chdir(Path(folder) / "notebooks"):
            for count, cell in enumerate(cells, start=1):
                printed, value = run_cell("".join(cell["source"]), namespace, f"{path.name} cell {count}")
                cell |= {"execution_count": count, "outputs": outputs_of(printed, value, count)}
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    """Refresh or check all notebooks."""
    check = "--check" in sys.argv[1:]
    stale = 0
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        new = refreshed(path)
        if new != path.read_text(encoding="utf-8"):
            stale += 1
            print(f"{path.name} is out of date")
            if not check:
                path.write_text(new, encoding="utf-8")
    return int(check and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
