"""Options of ``simulate``: frames, engine, MPI ranks and checkpoints."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import neuromap as nm
from neuromap.cli.arguments.command import Given
from neuromap.errors import InputError, NeuromapError, StimulusError, prefixed
from neuromap.files.messages import counted
from neuromap.options import COMMON, option
from neuromap.simulation.choose_frames import DEFAULT_STIMULI, MOST_STIMULI, RandomFrames
from neuromap.simulation.engine.engine_choice import ENGINES, MAX_THREADS, EngineChoice

if TYPE_CHECKING:
    from neuromap.hardware.program.chip_program import ChipProgram

# Most ticks of a run from the command line: hours of work, and more output than anyone reads.
MAX_TICKS = 10_000_000


class FrameFlags(Given[RandomFrames]):
    """Input frames, from a file or random, as keywords of the library's functions."""

    _group: ClassVar = "stimulus"
    first = ("frames",)
    frames: Path | None = option(
        "--stimulus FILE  Input frames (safetensors, one tensor per input node).", group=COMMON
    )

    def random(self) -> RandomFrames:
        """Return the requested random frames, used if no file of frames is given."""
        if self.frames is not None and "n_frames" in self:
            raise InputError("--stimulus and --frames: give one of them, frames from a file or random frames")
        if self.frames is not None and "density" in self:
            raise InputError("--stimulus and --density: give one of them, a density is that of random frames")
        return self.made()


class StimuliFlags(FrameFlags):
    """The same for commands with several stimuli."""

    n_stimuli: int = option(
        f"--stimuli N  Without --stimulus: random stimuli, 1 to {MOST_STIMULI}, over which energy and traffic per "
        "frame are means, with the seeds from --seed on; the first is verified with.",
        DEFAULT_STIMULI,
        within=(1, MOST_STIMULI),
    )

    def random(self) -> RandomFrames:
        """Return the requested random frames, the first of several."""
        found = super().random()
        if "n_stimuli" in self and self.frames is not None:
            raise InputError("--stimulus and --stimuli: give one of them, frames from a file are the only stimulus")
        check_run_length(found.n_frames * self.get("n_stimuli", 1))
        return found


def check_run_length(frames: int, program: ChipProgram | None = None) -> None:
    """Refuse runs that are too long."""
    period = 1 if program is None else program.period
    first = 0 if program is None else max((port.tick(period, 0) for port in program.nodes), default=0)
    if first + frames * period > MAX_TICKS:
        late = f" from tick {first} on" if first > 0 else ""
        raise InputError(
            f"{frames} frames take {counted(period, 'tick')} each or more{late}; a run may have at most "
            f"{MAX_TICKS} ticks, "
            "give fewer frames"
        )


def read_stimuli(path: Path, program: ChipProgram) -> dict[str, Any] | None:
    """Read many stimuli from a file, if the shapes of its tensors indicate them."""
    # returns checked stimuli; ``None`` if no tensor has three axes, or five including those of its node: then the file
    # holds frames, or is refused as such
    # shapes: returns (stimuli, frames, size)
    from neuromap.simulation.stimulus import check_stimuli, load_frames

    found = load_frames(path)
    if all(array.ndim not in (3, 5) for array in found.values()):
        return None
    with prefixed(f"{path}: ", StimulusError):
        checked, n_stimuli, _ = check_stimuli(found, program)
        if n_stimuli == 0:
            raise StimulusError("holds no stimuli; at least 1 is needed")
        return checked


# Rank 0 reports failures common to all ranks and ends the others, which wait this long before reporting.
_RANK_0_SECONDS = 1.0
# Time for mpiexec to forward a rank's last output, which it drops when that rank ends all.
_FORWARDING_SECONDS = 0.3


class Runner(NamedTuple):
    """Functions that load and run a program."""

    # simulate, simulate_to_file: like :func:`neuromap.simulate` and :func:`neuromap.simulate_to_file`, with engine,
    # threads and seed set; they return None on ranks that do not speak
    simulate: Callable[..., Any]
    simulate_to_file: Callable[..., Any]
    load: Callable[..., Any]  # like :func:`neuromap.load_program`
    speaks: bool  # whether this process prints and writes; with several ranks, only the first


class RunFlags(Given[EngineChoice]):
    """Engine, threads and seed of ``simulate``, which can also run on MPI ranks."""

    _group: ClassVar = "engine"
    engine: str = option(
        "NAME  What runs the ticks: fast, numpy, or mpi on ranks that --ranks R or mpiexec -n R starts; the results "
        "are the same.",
        "fast",
        choices=(*ENGINES, "mpi"),
        must=f"is not known; engines are {', '.join(ENGINES)}, mpi",
    )
    threads: int | None = option(
        "N  Threads to run on, of a rank with mpi; the results are the same.  [default: the cores of the machine; 1 "
        "with mpi]",
        within=(1, MAX_THREADS),
        must=f"must be a whole number from 1 to {MAX_THREADS}",
    )
    ranks: int | None = option(
        "R  Divide the run among R processes of this machine, with --engine mpi; the results are the same."
    )

    @property
    def on_ranks(self) -> bool:
        """Whether the run is divided among ranks."""
        return self.engine == "mpi" or self.ranks is not None

    def start(self, words: Sequence[str]) -> int | None:
        """Start ranks that run the command line, if requested, and wait for them."""
        # returns their exit code; None if none were to be started
        if self.ranks is None:
            return None
        if self.engine not in ("fast", "mpi"):
            raise InputError(f"--engine {self.engine}: does not run on ranks; leave it or --ranks out")
        from neuromap.simulation.mpi.start_ranks import is_rank, start_ranks

        if is_rank():
            return None
        return start_ranks(self.ranks, words)

    @contextmanager
    def runner(self) -> Iterator[Runner]:
        """Provide the functions that run a program; if one rank fails, all end with its exit code."""
        if not self.on_ranks:
            how = self.keywords
            yield Runner(partial(nm.simulate, **how), partial(nm.simulate_to_file, **how), nm.load_program, True)
            return
        from neuromap.simulation.mpi.simulate_on_ranks import simulate_on_ranks, simulate_on_ranks_to_file
        from neuromap.simulation.mpi.start_ranks import MpiExchange, load_on_ranks

        exchange = MpiExchange()
        if self.ranks is not None and self.ranks != exchange.size:
            raise InputError(f"--ranks {self.ranks}: mpiexec has started {exchange.size}; leave one of the two out")
        with _ending_all(exchange.rank, exchange.abort):
            how = {"exchange": exchange, "threads": 1, **self.keywords, "engine": "fast"}
            yield Runner(
                partial(simulate_on_ranks, **how),
                partial(simulate_on_ranks_to_file, **how),
                partial(load_on_ranks, exchange=exchange),
                exchange.rank == 0,
            )


@contextmanager
def _ending_all(rank: int, abort: Callable[[int], object]) -> Iterator[None]:
    """End all ranks with the exit code of an error on one of them, after it is reported."""
    try:
        yield
    except BaseException as error:
        code = error.exit_code if isinstance(error, NeuromapError) else 1
        atexit.register(abort, 130 if isinstance(error, KeyboardInterrupt) else code)
        atexit.register(time.sleep, _FORWARDING_SECONDS)  # registered last, called first
        if rank > 0 and isinstance(error, Exception):
            time.sleep(_RANK_0_SECONDS)
            error.args = (f"rank {rank}: {error}",)
        raise


class CheckpointFlags(Given[None]):
    """Checkpoints of a run."""

    _group: ClassVar = "checkpoints"
    checkpoint: str | None = option(
        "FILE  Write checkpoints to this file, each replacing the last, with what is recorded beside it."
    )
    every: int | None = option("N  Ticks between checkpoints.  [default: 1000000]")
    resume: str | None = option(
        "FILE  Continue from this checkpoint of the same run; engine, threads and ranks may differ."
    )

    def asked(self) -> nm.simulation.Checkpoints:
        """Return the requested checkpoints."""
        from neuromap.simulation.trace.checkpoint import DEFAULT_EVERY

        if self.every is not None and self.checkpoint is None:
            raise InputError(f"--every {self.every}: says how often --checkpoint FILE is written; give that too")
        if self.every is not None and self.every < 1:
            raise InputError(f"--every {self.every}: is not allowed; give 1 tick or more")
        return nm.simulation.Checkpoints(
            self.checkpoint, DEFAULT_EVERY if self.every is None else self.every, self.resume
        )

    def check_parts(self, output: str | None, read: Mapping[str, str | Path | None]) -> None:
        """Refuse file names that are parts of a checkpoint, since one would overwrite the other."""
        from neuromap.simulation.trace.checkpoint import is_part

        written = {"--output": output, "--checkpoint": self.checkpoint}
        for flag, path in written.items():
            for kept in (self.checkpoint, self.resume):
                if path is not None and kept is not None and is_part(path, kept):
                    raise InputError(f"{flag} {path}: is a part of checkpoint {kept}; give another file")
        for name, source in read.items():
            if source is not None and self.checkpoint is not None and is_part(source, self.checkpoint):
                raise InputError(
                    f"--checkpoint {self.checkpoint}: would write a part in the place of the {name} {source}; give "
                    "another file"
                )

    def refuse_for_batches(self, on_ranks: bool) -> None:
        """Refuse checkpoints and ranks for many stimuli, which run one per thread."""
        given = "--checkpoint" if self.checkpoint is not None else "--resume" if self.resume is not None else None
        if on_ranks or given is not None:
            raise InputError(
                f"{given or '--engine mpi'}: is for runs of one stimulus; this stimulus file holds many, which run "
                "side by side on one machine"
            )
