"""``neuromap bench``: how fast this machine runs a chip, and how far that is from what its memory allows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neuromap.cli.arguments.destinations import check_destinations
from neuromap.cli.arguments.options import DEFAULT_CHIP, JsonFlag, chip_file_of, file_option, said_option
from neuromap.cli.printing.progress import progress_bar
from neuromap.cli.printing.text_output import one_line, print_written, text_console
from neuromap.errors import InputError

if TYPE_CHECKING:
    from neuromap.cores.crossbar.program import Program

__all__ = ["EXAMPLES", "bench"]

EXAMPLES = """\
\b
Examples:
  neuromap bench --cores 64 --threads 1 --seconds 0.2
  neuromap bench --cores 256 --at-rest 0.99 --delays 1-15 --threads 1 --ticks 200
  neuromap bench --cores 64 --scaling rate --threads 1 --ticks 50 --json
  neuromap bench --program sr.nmp --ticks 100 --json-file bench.json
"""

_DEFAULTS: dict[str, Any] = {
    "cores": 4096, "rate": 20.0, "synapses": 128, "delays": "1", "at_rest": 0.0, "heterogeneous": False, "seed": 0,
    "chip": DEFAULT_CHIP,
}  # fmt: skip
_SCALED_RATES = (2.0, 20.0, 100.0)
_LEAST_CORES = 16
_SCALINGS = ("cores", "rate", "threads")
_Made = tuple[list["Program"], list[list[tuple[str, object]]], "list[Callable[[int], Program]] | None"]
"""Programs, their settings, and what makes others of their kinds with other numbers of cores."""


def _asks(text: str, default: str, metavar: str = "N") -> Any:
    return said_option(metavar=metavar, text=f"{text}  [default: {default}]")


def bench(
    cores: Annotated[int | None, _asks("Cores of the characterisation network.", "4096")] = None,
    rate: Annotated[float | None, _asks("Spikes per neuron and second of network time.", "20", "HZ")] = None,
    synapses: Annotated[int | None, _asks("Synapses of every axon.", "128")] = None,
    delays: Annotated[str | None, _asks("Delay in ticks, or its range.", "1", "D|D-D")] = None,
    at_rest: Annotated[float | None, _asks("Fraction of the cores that is silent.", "0", "P")] = None,
    heterogeneous: Annotated[
        bool, typer.Option("--heterogeneous", help="Give every neuron parameters of its own.")
    ] = False,
    seed: Annotated[int | None, _asks("Seed of the network.", "0")] = None,
    chip: Annotated[str | None, _asks("A packaged chip or a chip file.", DEFAULT_CHIP, "CHIP")] = None,
    program_file: Annotated[
        Path | None,
        said_option("--program", metavar="FILE", text="Measure this program, on random frames."),
    ] = None,
    threads: Annotated[str | None, _asks("Numbers of threads.", "1 and all of the machine", "N,N")] = None,
    engine: Annotated[str, typer.Option(metavar="ENGINE", help="fast or numpy.")] = "fast",
    ticks: Annotated[
        int | None, typer.Option(metavar="N", help="Measure N ticks, or a few more.", show_default=False)
    ] = None,
    seconds: Annotated[
        float | None,
        _asks("Without --ticks: measure each program and number of threads for about so long.", "2", "S"),
    ] = None,
    rounds: Annotated[int, typer.Option(metavar="N", help="Rounds over which medians are taken.")] = 7,
    scaling: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            help="Compare: cores (16 to --cores), rate (2, 20, 100 Hz) or threads (1 to all).",
            show_default=False,
        ),
    ] = None,
    json_file: Annotated[str | None, file_option("--json-file", holds="the figures as JSON")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Measure ticks of the characterisation network, or of a program, and compare them with the memory's bandwidth."""
    from neuromap.bench.bench import bench as measure
    from neuromap.bench.forms import print_bench
    from neuromap.files.whole_file import write_whole

    asked = {
        "cores": cores, "rate": rate, "synapses": synapses, "delays": delays, "at_rest": at_rest,
        "heterogeneous": heterogeneous or None, "seed": seed, "chip": chip,
    }  # fmt: skip
    _check_scaling(scaling, program_file)
    if ticks is not None and seconds is not None:
        raise InputError(f"--ticks {ticks} and --seconds {seconds:g}: give one of them")
    check_destinations(
        {"--json-file": json_file}, {"program file": program_file, "chip file": chip_file_of(chip or DEFAULT_CHIP)}
    )
    counts = _thread_counts(threads, engine, scaling)
    with progress_bar("bench") as progress:
        programs, settings, same_kind = (
            _made_programs(asked, scaling, progress) if program_file is None else _read_program(asked, program_file)
        )
        report = measure(
            programs,
            engine=engine,
            threads=counts,
            ticks=ticks,
            seconds=2.0 if seconds is None else seconds,
            rounds=rounds,
            scaling=scaling,
            settings=settings,
            same_kind=same_kind,
            progress=progress,
        )
    if json_file is not None:
        write_whole(json_file, report.to_json().encode())
    if as_json:
        sys.stdout.write(report.to_json())
        return
    console = text_console()
    print_bench(report, console)
    print_written(console, json_file)


def _check_scaling(scaling: str | None, program_file: Path | None) -> None:
    if scaling is not None and scaling not in _SCALINGS:
        raise InputError(f"--scaling {scaling}: is not known; give {', '.join(_SCALINGS)}")
    if program_file is not None and scaling in ("cores", "rate"):
        raise InputError(
            f"--scaling {scaling} and --program: a program has its {scaling} already; leave one of them out"
        )


def _read_program(asked: dict[str, Any], program_file: Path) -> _Made:
    from neuromap.cores.crossbar.program import Program
    from neuromap.hardware.program_file import load_program

    for name, value in asked.items():
        if value is not None:
            option = name.replace("_", "-")
            raise InputError(f"--{option} and --program: a program is what it is; leave one of them out")
    program = load_program(program_file)
    if not isinstance(program, Program):
        raise InputError(
            f"--program {program_file}: is for {program.chip.core_model} cores; crossbar cores are measured here, "
            "synapse lists in benchmarks/"
        )
    return [program], [[]], None


def _made_programs(asked: dict[str, Any], scaling: str | None, progress: Callable[..., None]) -> _Made:
    """Make the networks that are asked for, with their settings."""
    from neuromap.bench.characterisation import characterisation_program

    chosen = {name: _DEFAULTS[name] if value is None else value for name, value in asked.items()}
    least, greatest = _delay_range(chosen["delays"])
    programs: list[Program] = []
    settings: list[list[tuple[str, object]]] = []
    same_kind: list[Callable[[int], Program]] = []
    for change in _changes(chosen, scaling):
        one = {**chosen, **change}
        make = partial(
            characterisation_program,
            rate_hz=one["rate"],
            synapses=one["synapses"],
            delay=(least, greatest),
            heterogeneous=one["heterogeneous"],
            chip=one["chip"],
            seed=one["seed"],
        )
        programs.append(
            make(
                one["cores"],
                at_rest=one["at_rest"],
                progress=lambda done, total: progress("making the network", done, total),
            )
        )
        same_kind.append(make)
        settings.append([("cores", one["cores"]), ("rate_hz", one["rate"]), ("synapses", one["synapses"]),
                         ("delay", [least, greatest]), ("at_rest", one["at_rest"]),
                         ("heterogeneous", one["heterogeneous"]), ("seed", one["seed"]),
                         ("chip", one["chip"])])  # fmt: skip
    return programs, settings, same_kind


def _changes(chosen: dict[str, Any], scaling: str | None) -> list[dict[str, Any]]:
    if scaling == "rate":
        return [{"rate": rate} for rate in _SCALED_RATES]
    if scaling == "cores":
        smaller = (_LEAST_CORES * 4**k for k in range(12))
        return [*({"cores": n} for n in smaller if n < chosen["cores"]), {}]
    return [{}]


def _delay_range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    if not (_is_number(first) and (_is_number(last) or text == first)):
        raise InputError(f"--delays {one_line(text)}: must be a number of ticks, or two with a dash between: 1-15")
    return int(first), int(last or first)


def _thread_counts(text: str | None, engine: str, scaling: str | None) -> list[int]:
    from neuromap.simulation.engine.engine_choice import EngineChoice, thread_count

    if text is not None:
        words = [word.strip() for word in text.split(",")]
        if not all(map(_is_number, words)):
            raise InputError(f"--threads {one_line(text)}: must be numbers with commas between: 1,2")
        return [thread_count(int(word)) for word in words]
    most = thread_count() if EngineChoice(engine).kind.has_threads else 1
    if scaling == "threads":
        powers = (2**k for k in range(11))
        return [*(n for n in powers if n < most), most]
    return list(dict.fromkeys([1, most]))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10
