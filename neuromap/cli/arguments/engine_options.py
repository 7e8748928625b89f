"""What runs the ticks, as it is asked for at the command line: refused before any file is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neuromap.cli.arguments.options import EngineOption, NoiseSeedOption, ThreadsOption
from neuromap.errors import InputError

__all__ = ["EngineOptions"]


@dataclass(frozen=True)
class EngineOptions:
    """Options of the commands that simulate; one parameter of such a command (see ``option_blocks``)."""

    engine: EngineOption = "fast"
    threads: ThreadsOption = None
    noise_seed: NoiseSeedOption = 0

    def arguments(self) -> dict[str, Any]:
        """Make the arguments ``engine``, ``threads`` and ``noise_seed`` of the library's functions.

        Raises
        ------
        InputError
            If there is no such engine, or a number is out of range.
        """
        from neuromap.simulation.engine.engine_choice import ENGINES
        from neuromap.simulation.engine.noise import check_seed
        from neuromap.simulation.engine.threads import thread_count

        if self.engine not in ENGINES:
            raise InputError(f"--engine {self.engine}: is not known; engines are {', '.join(ENGINES)}")
        return {
            "engine": self.engine,
            "threads": thread_count(self.threads),
            "noise_seed": check_seed(self.noise_seed),
        }
