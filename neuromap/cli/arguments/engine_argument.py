"""What runs the ticks, as it is asked for at the command line: refused before any file is read."""

from __future__ import annotations

from typing import Any

from neuromap.errors import InputError

__all__ = ["engine_arguments"]


def engine_arguments(engine: str, threads: int | None, noise_seed: int) -> dict[str, Any]:
    """Make the arguments ``engine``, ``threads`` and ``noise_seed`` of the library's functions.

    Raises
    ------
    InputError
        If there is no such engine, or a number is out of range.
    """
    from neuromap.simulation.engine.engine_choice import ENGINES
    from neuromap.simulation.engine.noise import check_seed
    from neuromap.simulation.engine.threads import thread_count

    if engine not in ENGINES:
        raise InputError(f"--engine {engine}: is not known; engines are {', '.join(ENGINES)}")
    return {"engine": engine, "threads": thread_count(threads), "noise_seed": check_seed(noise_seed)}
