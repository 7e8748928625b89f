"""Which examples of Brian2's gallery lie inside the class that the device neuromap runs, and what keeps the others out.

    git clone --depth 1 --branch 2.9.0 https://github.com/brian-team/brian2
    python -m benchmarks.brian2_gallery brian2/examples --out benchmarks/results/brian2_gallery.json
    python -m benchmarks.brian2_gallery --table benchmarks/results/brian2_gallery.json

Every example runs in a process of its own up to its first ``run``, whatever device it asks for, without drawing
anything; there its network is translated, put into integers and mapped onto loihi1, and runs for 50 ms. Of others the
first equation that is refused is quoted. Distances are from the float original, which is Brian2's run.
"""

from __future__ import annotations

import argparse
import builtins
import json
import multiprocessing
import os
import queue
import runpy
import sys
import types
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import MagicMock

import numpy as np

SECONDS = 240
FIRST_MS = 50
"""Milliseconds of the model that examples of the class are run for."""
_ABSENT = ("matplotlib", "mpl_toolkits", "cv2", "tqdm", "pandas", "joblib", "sbi", "torch", "cycler", "progressbar")
"""Packages that draw, or that only some examples need: whatever is asked of them is answered by nothing."""


_DRAWING = (
    "axhline axis axvline close colorbar figure gca gcf grid hist imshow legend loglog plot plt rcParams savefig "
    "scatter semilogx semilogy show subplot subplots text tight_layout title xlabel xlim xticks ylabel ylim yticks"
)
"""Names that examples have from pylab, through Brian2."""


def _subplots(nrows: int = 1, ncols: int = 1, **_: Any) -> tuple[Any, Any]:
    axes = np.array([[MagicMock() for _ in range(ncols)] for _ in range(nrows)])
    return MagicMock(), axes[0, 0] if axes.size == 1 else axes.squeeze()


class _Anything(types.ModuleType):
    """A module with every name."""

    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        if name == "__version__":
            return "3.9.0"
        if name.startswith("__"):
            raise AttributeError(name)
        return _subplots if name == "subplots" else MagicMock()


class _Nothing:
    """Finds the packages that are not there."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        import importlib.machinery

        if name.split(".")[0] in _ABSENT:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: Any) -> types.ModuleType:
        return _Anything(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__.setdefault("__all__", [])


class _StopHereError(BaseException):
    """The first run is reached."""


def prepare() -> None:
    """Import what all examples need, once, and put the classifying device in the place of all others."""
    sys.meta_path.insert(0, _Nothing())  # type: ignore[arg-type]
    for name in _DRAWING.split():
        setattr(builtins, name, _subplots if name == "subplots" else MagicMock())
    builtins.plt.subplots = _subplots  # type: ignore[attr-defined]
    import brian2
    from brian2.core.namespace import get_local_namespace
    from brian2.devices.device import all_devices

    from neuromap.backends.brian2.device import NeuromapDevice

    class Classifier(NeuromapDevice):
        """Loads the chip and runs nothing."""

        def activate(self, build_on_run: bool = True, **options: Any) -> None:
            super().activate(build_on_run)

        def network_run(
            self, net: Any, duration: Any, *_: Any, namespace: Any = None, level: int = 0, **__: Any
        ) -> None:
            found = get_local_namespace(level=level + 2) if namespace is None else namespace
            brian2.set_device(self)  # what else it asked for is of no matter
            super().network_run(net, min(duration, FIRST_MS * brian2.ms), namespace=found)
            raise _StopHereError(_inside(self.report()))

    brian2.prefs.codegen.target = "numpy"
    brian2.prefs.logging.file_log = False
    for name in list(all_devices):
        all_devices[name] = Classifier()
    brian2.set_device("runtime")


def _inside(report: Any) -> str:
    """Say how the first milliseconds of an example ran."""
    exact = "equal" if report.is_exact else "NOT EQUAL"
    distances = report.quantisation.distances
    far, silent = (sum(getattr(row, key) for row in distances) / len(distances) for key in ("distance", "of_silence"))
    return (
        f"inside; {report.cores} core{'s' * (report.cores != 1)}, a tick of {1e3 * report.quantisation.dt:g} ms; first "
        f"{1e3 * report.model_seconds:g} ms: {report.spikes:,} spikes, {exact} to the integer reference; distance "
        f"{far:.3f} (of silence {silent:.3f})"
    )


def verdict_here(path: Path) -> str:
    """Run an example up to its first ``run`` and give the verdict."""
    from neuromap.errors import NeuromapError

    os.chdir(path.parent)
    sys.path.insert(0, str(path.parent))
    try:
        runpy.run_path(str(path), run_name="__main__")
    except _StopHereError as stop:
        return str(stop)
    except NeuromapError as error:
        return f"outside; {error}"
    except BaseException as error:  # whatever an example may raise is a verdict
        return f"failed; {type(error).__name__}: {' '.join(str(error).split())}"
    return "no network is run"


def _tell(path: Path, answers: Any) -> None:
    sys.stdout = sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the process ends
    answers.put(verdict_here(path))


def classify(path: Path) -> str:
    """Classify an example in a fork of its own."""
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    process = context.Process(target=_tell, args=(path, answers))
    process.start()
    try:
        verdict: str = answers.get(timeout=SECONDS)
    except queue.Empty:
        verdict = f"failed; more than {SECONDS} s until its first run"
    process.kill()
    return verdict


def table(verdicts: dict[str, str]) -> str:
    """Write the verdicts as a table of Markdown."""
    lines = ["| example | inside | what keeps it out |", "|---|---|---|"]
    for name, verdict in sorted(verdicts.items()):
        kind, _, why = verdict.partition("; ")
        why = why.split("; inside are")[0].replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")
        lines.append(
            f"| `{name}` | {'yes' if kind == 'inside' else 'no'} | {why if kind == 'outside' else why or kind} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Classify a folder of examples, or write the table of what was found."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", nargs="?", type=Path)
    arguments.add_argument("--table", type=Path)
    arguments.add_argument("--out", type=Path)
    arguments.add_argument("--again", default="", help="only those whose verdict in --out has this text")
    given = arguments.parse_args()
    if given.table:
        print(table(json.loads(given.table.read_text(encoding="utf-8"))["examples"]), end="")
        return
    prepare()
    before = json.loads(given.out.read_text(encoding="utf-8")) if given.again else {}
    found: dict[str, str] = before.get("examples", {})
    for path in sorted(given.folder.rglob("*.py")):
        name = path.relative_to(given.folder).as_posix()
        if given.again and given.again not in found.get(name, ""):
            continue
        found[name] = classify(path.resolve())
        print(f"{name}: {found[name]}", flush=True)
        if given.out:
            given.out.write_text(json.dumps({"brian2": "2.9.0", "examples": found}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
