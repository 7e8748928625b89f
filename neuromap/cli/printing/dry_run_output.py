"""The answer of ``neuromap map --dry-run`` as tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from neuromap.cli.printing.text_output import one_line, print_line
from neuromap.files.messages import counted
from neuromap.render.table import text_table

if TYPE_CHECKING:
    from rich.console import Console

    from neuromap.mapping.diagnosis.dry_run import DryRun
    from neuromap.mapping.options.infeasibility import Infeasibility


def print_dry_run(found: DryRun, console: Console) -> None:
    """Print whether a rollout fits, what its nodes ask for, and what would help."""
    say = partial(print_line, console)
    label = f"{found.network} ({found.pattern}, {found.execution}) on {found.chip.name}"
    room = counted(found.chip.n_usable_cores, "core")
    say(f"{label}: fits in {found.cores} of {room}" if found.fits else f"{label}: does not fit")
    if found.bound is not None:
        which = "any mapping with these parts of sums" if any(node.parts for node in found.nodes) else "any mapping"
        say(f"cores of {which}: {found.bound.total} or more, for its {found.bound.by}")
    if found.split:
        edges = ", ".join(f"{u} -> {v}" for u, v in found.split)
        say(f"splitters on {edges}" + ("; the schedule is in ticks" if found.schedule == "ticks" else ""))
    if found.nodes:
        _print_nodes(found, console)
    for problem in found.problems:
        say(_head(problem))
        if problem.remedies:
            _print_remedies(problem, console)
    if found.problems and found.cores_with_remedies is not None:
        first = "the first remedy" if len(found.problems) == 1 else "the first remedy of each"
        say(f"with {first}: fits in {counted(found.cores_with_remedies, 'core')}")


def _head(problem: Infeasibility) -> str:
    head = f"node {problem.node}: " if problem.node else ""
    gap = f" ({problem.gap} too many)" if problem.bound else ""
    return f"{head}{problem.statement}{gap}"


def _print_nodes(found: DryRun, console: Console) -> None:
    chip, has_copies = found.chip, found.chip.kind.structure.ONE_TARGET  # a neuron of other cores sends anywhere itself
    has_parts = any(node.parts for node in found.nodes)
    added = [f"copies\nof {chip.neurons}", "relays", "splitters"] if has_copies else ["relays"]
    added += ["parts\nof sums"] if has_parts else []
    headers = ("node", "neurons", "sources", f"axons\nof {chip.axons}", *added, "cores")
    rows = []
    for node in found.nodes:
        axons = "none do" if node.axons is None else f"{node.axons}" + (" !" if node.axons > chip.axons else "")
        counts = [node.copies, node.relays, node.splitters] if has_copies else [node.relays]
        counts += [node.parts] if has_parts else []
        shown = ("-" if count is None else f"{count}" for count in (*counts, node.cores))
        rows.append((one_line(node.node), f"{node.neurons}", f"{node.sources}", axons, *shown))
    text_table(headers, rows).print(console)
    most = "sources, axons and copies" if has_copies else "sources and axons"
    console.print(f"{most}: of the neuron that needs most", markup=False)


def _print_remedies(problem: Infeasibility, console: Console) -> None:
    rows = []
    for remedy in problem.remedies:
        tried = "maps" if remedy.tried else "advice" if remedy.value is None else "-"
        rows.append((one_line(remedy.text), tried, "-" if remedy.cores is None else f"{remedy.cores}"))
    text_table(("remedy", "tried", "cores"), rows).print(console)
