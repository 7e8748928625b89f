"""``neuromap map``: map a rolled-out network onto a chip."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import neuromap as nm
from neuromap.cli.arguments import options as shared
from neuromap.cli.arguments.command import command
from neuromap.cli.arguments.mapping_flags import MappingFlags, SeededMappingFlags
from neuromap.cli.printing import text_output
from neuromap.errors import DoesNotFitError, InputError
from neuromap.files.messages import counted
from neuromap.options import option
from neuromap.render.table import text_table

if TYPE_CHECKING:
    from rich.console import Console

    from neuromap.mapping.diagnosis.apply_remedy import Request
    from neuromap.mapping.options.budget import Budget


EXAMPLES = """\
\b
Examples:
  neuromap map examples/digits/sr.toml
  neuromap map examples/digits/sr.toml --pattern hybrid --execution pipelined -o sr.nmp
  neuromap map examples/digits/sr.toml --pattern "H1 -> H1, H1 -> O" --chip ./my_chip.toml --json
  neuromap map examples/digits/sr.toml --all
  neuromap map examples/digits/sr.toml --dry-run
  neuromap map examples/digits/sr.toml --splitters never --no-packing --placer hilbert
  neuromap map examples/digits/sr.toml --set core.axons=128,256,512 --html sweep.html
"""

# Default time for trying remedies of a refusal, in seconds, without ``--seconds``.
TRYING = 10.0


@command
def map_command(
    network: Path = shared.NETWORK,
    pattern: str = shared.PATTERN,
    execution: str = shared.EXECUTION,
    *,
    onto: shared.ChipFlags,
    flags: SeededMappingFlags,
    dry_run: bool = option(
        "Only say whether it fits and, if not, what would help; write nothing. Remedies are tried, "
        f"for {TRYING:g} seconds or --seconds.",
        False,
    ),
    every: bool = option("--all  Print every figure of the program, not only six.", False),
    output: str | None = option("--output, -o FILE  Write the program to this file."),
    html: str | None = option(
        "FILE  Write the table of several chips (--set) as one self-contained HTML page to this file."
    ),
    as_json: bool = shared.AS_JSON,
) -> None:
    """Map a rolled-out network onto a chip, print what it takes, and write the program.

    Where it does not fit (exit code 3), node, demand, bound and remedies are named. Where --set gives a figure of the
    chip several values, one table says what each chip takes.
    """
    from neuromap.mapping.diagnosis.apply_remedy import Request
    from neuromap.mapping.diagnosis.dry_run import refuse_early
    from neuromap.mapping.diagnosis.remedies import try_remedies
    from neuromap.mapping.options.budget import Budget

    if dry_run and output is not None:
        raise InputError(f"--output {output}: --dry-run writes no program; leave one of them away")
    if onto.make_several:
        onto.refuse_with_several(output=output, dry_run=dry_run)
    elif html is not None:
        raise InputError(f"--html {html}: is for several chips; make them with --set core.axons=256,512")
    read = {"network file": network, "chip file": onto.file, **flags.files}
    shared.check_destinations({"--output": output, "--html": html}, read)
    net = nm.load_network(network)
    rollout = nm.Rollout(net, shared.read_pattern(net, pattern), execution)
    spec = flags.chip(onto.name, onto.of_one)
    request = Request(rollout, spec, flags.options(net, spec))
    if onto.make_several:
        with text_output.progress_bar("mapping") as progress:
            sweep = nm.sweep.sweep_mappings(rollout, spec, onto.figures, request.options, progress)
        text_output.give_sweep(sweep, {"html": html}, every=every, as_json=as_json)
        return
    if dry_run:
        _dry_run(request, flags, as_json=as_json)
        return
    began = monotonic()
    with text_output.progress_bar("mapping") as progress:
        try:
            early = refuse_early(request)
            if early is not None:
                raise early
            options = request.options.after(monotonic() - began)
            mapping = nm.mapping.map_with_stages(rollout, spec, options, progress)
        except DoesNotFitError as refusal:
            seconds = TRYING if flags.seconds is None else max(0.0, flags.seconds - (monotonic() - began))
            with text_output.progress_bar("trying what would fit") as progress:
                found = try_remedies(request, refusal.infeasibility, seconds, progress)
            raise DoesNotFitError(found.message, found) from None
    budget = Budget(request.options.after(monotonic() - began).seconds)
    if output is not None:
        mapping.program.save(output)
    _print_mapping(mapping, budget, output, every=every, as_json=as_json)


def _print_mapping(
    mapping: nm.mapping.MappedRollout, budget: Budget, output: str | None, *, every: bool, as_json: bool
) -> None:
    from dataclasses import asdict

    from neuromap.cli.printing.program_figures import figure_rows, main_rows, program_figures
    from neuromap.hardware.program.ports import left_out_line
    from neuromap.hardware.program.usage import copies_line, count_copies

    program = mapping.program
    nodes = count_copies(program)
    figures: dict[str, Any] = program_figures(
        program, nm.mapping.core_bound(mapping.network, program.chip, budget=budget)
    )
    cut_short = [*mapping.cut_short, *budget.cut]
    split = [f"{u} -> {v}" for u, v in sorted(mapping.split)]
    is_tick_level = mapping.rollout.is_tick_level
    if as_json:
        schedule = "ticks" if is_tick_level else "steps"
        text_output.print_json(
            {
                **figures,
                "nodes_on_chip": [asdict(node) for node in nodes],
                "schedule": schedule,
                "split_edges": split,
                "left_out": dict(mapping.left_out),
                "cut_short": cut_short,
                "phases": None if mapping.phases is None else asdict(mapping.phases),
                "file": output,
            }
        )
        return
    console = text_output.text_console()
    label = f"{program.name} ({program.pattern}, {program.execution}) on {program.chip.name}"
    console.print(label, markup=False)
    rows = figure_rows(figures) if every else main_rows(figures, mapping.rollout, program)
    text_table(("figure", "value", ""), rows, (0, 2)).print(console)
    if line := copies_line(nodes):
        console.print(text_output.one_line(line), markup=False)
    if split:
        text = f"splitters on {', '.join(split)}" + (
            ": without slack there, so the schedule is in ticks" if is_tick_level else ": within the slack of delays"
        )
        text_output.print_line(console, text)
    if mapping.left_out:
        text_output.print_line(console, left_out_line(program.nodes, mapping.left_out))
    if program.scales:
        times = sorted(set(program.scales.values()))
        said = "; ".join(
            f"{', '.join(n for n, k in program.scales.items() if k == one)} times 2^{one}" for one in times
        )
        text_output.print_line(console, f"weights, thresholds and biases in units of {program.chip.name}: {said}")
    if mapping.phases is not None:
        text_output.print_line(console, mapping.phases.statement)
    if cut_short:
        stages = ", ".join(cut_short)
        text_output.print_line(console, f"cut short by --seconds: {stages}; each kept the best that it had found")
    if not every:
        text_output.print_line(
            console, f"times: of {program.execution} execution, predicted from the schedule; all figures: --all"
        )
    text_output.print_written(console, output)


def _dry_run(request: Request, flags: MappingFlags, *, as_json: bool) -> None:
    with text_output.progress_bar("dry run") as progress:
        found = nm.mapping.dry_run(
            request.rollout, request.chip, request.options, seconds=flags.seconds or TRYING, progress=progress
        )
    if as_json:
        text_output.print_json(found.to_dict())
    else:
        _print_dry_run(found, text_output.text_console())
    if not found.fits:
        text_output.fail(found.problems[0].message, DoesNotFitError.exit_code)


def _print_dry_run(found: nm.mapping.DryRun, console: Console) -> None:
    """Print whether a rollout fits, the demands of its nodes, and remedies."""
    say = partial(text_output.print_line, console)
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
        head = f"node {problem.node}: " if problem.node else ""
        say(f"{head}{problem.statement}" + (f" ({problem.gap} too many)" if problem.bound else ""))
        rows = []
        for remedy in problem.remedies:
            tried = "maps" if remedy.tried else "advice" if remedy.value is None else "-"
            rows.append((text_output.one_line(remedy.text), tried, "-" if remedy.cores is None else f"{remedy.cores}"))
        if rows:
            text_table(("remedy", "tried", "cores"), rows).print(console)
    if found.problems and found.cores_with_remedies is not None:
        first = "the first remedy" if len(found.problems) == 1 else "the first remedy of each"
        say(f"with {first}: fits in {counted(found.cores_with_remedies, 'core')}")


def _print_nodes(found: nm.mapping.DryRun, console: Console) -> None:
    chip, has_copies = found.chip, found.chip.kind.structure.ONE_TARGET  # else no copies are needed
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
        rows.append((text_output.one_line(node.node), f"{node.neurons}", f"{node.sources}", axons, *shown))
    text_table(headers, rows).print(console)
    most = "sources, axons and copies" if has_copies else "sources and axons"
    console.print(f"{most}: of the neuron that needs most", markup=False)
