"""``neuromap bench``: how fast this machine runs a chip, compared with the limit of its memory bandwidth."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import neuromap as nm
from neuromap.cli.arguments.command import Given, command
from neuromap.cli.arguments.options import AS_JSON, DEFAULT_CHIP, EVERY, check_destinations, chip_file_of
from neuromap.cli.printing.text_output import give_shown, one_line, progress_bar, write_forms
from neuromap.errors import InputError
from neuromap.options import Option, option

EXAMPLES = """\
\b
Examples:
  neuromap bench --cores 64 --threads 1 --seconds 0.2
  neuromap bench --cores 256 --at-rest 0.99 --delays 1-15 --threads 1 --ticks 200
  neuromap bench --cores 64 --scaling rate --threads 1 --ticks 50 --json
  neuromap bench --program sr.nmp --ticks 100 --json-file bench.json
"""

_SCALED_RATES = (2.0, 20.0, 100.0)
_LEAST_CORES = 16
_SCALINGS = ("cores", "rate", "threads")
# Programs, their settings, and functions that make similar ones with other numbers of cores.
_Made = tuple[list["nm.Program"], list[list[tuple[str, object]]], "list[Callable[[int], nm.Program]] | None"]


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10


def _read_delays(said: Option, text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    if not (_is_number(first) and (_is_number(last) or text == first)):
        raise InputError(f"{said.flag} {one_line(text)}: must be a number of ticks, or two with a dash between: 1-15")
    return int(first), int(last or first)


class NetworkFlags(Given[None]):
    """The characterisation network."""

    _group: ClassVar = "network"
    cores: int = option("N  Cores of the characterisation network.", 4096)
    rate_hz: float = option("--rate HZ  Spikes per neuron and second of network time.  [default: 20]", 20.0)
    synapses: int = option("N  Synapses of every axon.", 128)
    delay: Any = option("--delays D|D-D  Delay in ticks, or its range.  [default: 1]", (1, 1), reads=_read_delays)
    at_rest: float = option("P  Fraction of the cores that is silent.  [default: 0]", 0.0)
    heterogeneous: bool = option("Give every neuron parameters of its own.", False)
    seed: int = option("N  Seed of the network.  [default: 0]", 0)
    chip: str = option("CHIP  A packaged chip or a chip file.", DEFAULT_CHIP)


@command
def bench(
    asked: NetworkFlags,
    program_file: Path | None = option("--program FILE  Measure this program, on random frames."),
    threads: str | None = option("N,N  Numbers of threads.  [default: 1 and all of the machine]"),
    engine: str = option("ENGINE  fast or numpy.", "fast"),
    ticks: int | None = option("N  Measure N ticks, or a few more."),
    seconds: float | None = option(
        "S  Without --ticks: measure each program and number of threads for about so long.  [default: 2]"
    ),
    rounds: int = option("N  Rounds over which medians are taken.", 7),
    scaling: str | None = option(
        "WHAT  Compare: cores (16 to --cores), rate (2, 20, 100 Hz) or threads (1 to all).",
        choices=_SCALINGS,
        must=f"is not known; give {', '.join(_SCALINGS)}",
    ),
    every: bool = EVERY,
    json_file: str | None = option("FILE  Write the figures as JSON to this file."),
    as_json: bool = AS_JSON,
) -> None:
    """Measure ticks of the characterisation network, or of a program, and compare them with the memory's bandwidth."""
    from neuromap.bench.bench import bench as measure
    from neuromap.bench.forms import print_bench

    if program_file is not None and scaling in ("cores", "rate"):
        raise InputError(
            f"--scaling {scaling} and --program: a program has its {scaling} already; leave one of them out"
        )
    if ticks is not None and seconds is not None:
        raise InputError(f"--ticks {ticks} and --seconds {seconds:g}: give one of them")
    check_destinations(
        {"--json-file": json_file}, {"program file": program_file, "chip file": chip_file_of(asked.chip)}
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
    written = write_forms((json_file, report.to_json))
    give_shown(report, lambda console: print_bench(report, console, every=every), *written, as_json=as_json)


def _read_program(asked: NetworkFlags, program_file: Path) -> _Made:
    for name in asked:
        raise InputError(f"{asked.said[name].flag} and --program: a program is what it is; leave one of them out")
    program = nm.load_program(program_file)
    if not isinstance(program, nm.Program):
        raise InputError(
            f"--program {program_file}: is for {program.chip.core_model} cores; crossbar cores are measured here, "
            "synapse lists in benchmarks/"
        )
    return [program], [[]], None


def _made_programs(asked: NetworkFlags, scaling: str | None, progress: Callable[..., None]) -> _Made:
    """Make the requested networks, with their settings."""
    chosen = {name: getattr(asked, name) for name in asked.said}
    programs: list[nm.Program] = []
    settings: list[list[tuple[str, object]]] = []
    same_kind: list[Callable[[int], nm.Program]] = []
    changes: list[dict[str, Any]] = [{}]
    if scaling == "rate":
        changes = [{"rate_hz": rate} for rate in _SCALED_RATES]
    elif scaling == "cores":
        smaller = (_LEAST_CORES * 4**k for k in range(12))
        changes = [*({"cores": n} for n in smaller if n < chosen["cores"]), {}]
    for change in changes:
        one = {**chosen, **change}
        kind = {name: one[name] for name in one if name not in ("cores", "at_rest")}
        make: Callable[..., nm.Program] = partial(nm.bench.characterisation_program, **kind)
        programs.append(
            make(
                one["cores"],
                at_rest=one["at_rest"],
                progress=lambda done, total: progress("making the network", done, total),
            )
        )
        same_kind.append(make)
        settings.append(list({**one, "delay": list(one["delay"])}.items()))
    return programs, settings, same_kind


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
