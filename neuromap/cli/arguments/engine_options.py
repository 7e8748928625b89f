"""What runs the ticks, as it is asked for at the command line: refused before any file is read."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
        """Make the arguments ``engine``, ``threads`` and ``noise_seed`` of the library's functions."""
        from neuromap.simulation.engine.engine_choice import EngineChoice

        try:
            named = EngineChoice(self.engine)
        except InputError as error:
            raise InputError(f"--{error}") from None  # the name of the option
        choice = replace(named, threads=self.threads, noise_seed=self.noise_seed)
        return {"engine": choice.engine, "threads": choice.n_threads, "noise_seed": choice.noise_seed}
