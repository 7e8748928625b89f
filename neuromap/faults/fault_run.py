"""One chip with faults, measured: output error, first response, accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from neuromap.faults.fault_model import Faults
from neuromap.faults.fault_setup import FaultSetup
from neuromap.faults.output_frames import StruckFrames, frames_of
from neuromap.faults.struck_program import strike, without_ways
from neuromap.forms.card import Card
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.jobs.results_file import ResultKind
from neuromap.verification.wave import measure

__all__ = ["RESULTS", "FaultJob", "FaultRun", "run_job"]


@dataclass(frozen=True)
class FaultRun(Card):
    """A program with faults of one kind, by one seed, on all stimuli.

    Attributes
    ----------
    pattern, execution, kind : str
        Names.
    rate : float
        Of what is at risk, 0 to 1.
    seed : int
        Of the faults.
    struck, at_risk : int
        What failed, of what could: cores, links, neurons, synapses; of dropped spikes those that were sent.
    bits : int
        Values of the output frames that are compared: stimuli times frames times neurons.
    lost, added : int
        Spikes of them that are missing, and those that are there with faults only.
    first_response_ticks : int or None
        From an input's sampling to the first output that it reaches, measured on the program; ``None`` where none does.
    correct : int or None
        Images that the last frame names rightly; ``None`` where there are no labels.
    images : int
        How many there are; 0 where there are no labels.
    """

    pattern: str
    execution: str
    kind: str
    rate: float
    seed: int
    struck: int
    at_risk: int
    bits: int
    lost: int
    added: int
    first_response_ticks: int | None
    correct: int | None
    images: int

    @property
    def error(self) -> float:
        """Part of the output frames' values that differ from those without faults."""
        return (self.lost + self.added) / self.bits if self.bits else 0.0

    @property
    def accuracy(self) -> float | None:
        """Part of the images that are named rightly."""
        return None if self.correct is None else self.correct / self.images


class FaultJob(NamedTuple):
    """Chips with faults of one kind, by one seed, at several rates."""

    setup: int  # number of what they run
    kind: str  # of faults
    seed: int  # of faults
    rates: tuple[float, ...]  # one chip each


def run_job(setups: Sequence[FaultSetup], job: FaultJob) -> tuple[FaultRun, ...]:
    """Measure the chips of a job."""
    return tuple(_run(setups[job.setup], Faults({job.kind: rate}, job.seed)) for rate in job.rates)


def _run(setup: FaultSetup, faults: Faults) -> FaultRun:
    ((kind, rate),) = faults.rates.items()
    found = _frames(setup, faults)
    pairs = [(setup.expected[name][:, k:], found.frames[name][:, k:]) for name, k in setup.first.items()]
    count = found.counts.get(kind, (0, 0))
    return FaultRun(
        pattern=setup.pattern,
        execution=setup.execution,
        kind=kind,
        rate=rate,
        seed=faults.seed,
        struck=count[0],
        at_risk=count[1],
        bits=sum(right.size for right, _ in pairs),
        lost=sum(int(np.count_nonzero(right & ~now)) for right, now in pairs),
        added=sum(int(np.count_nonzero(now & ~right)) for right, now in pairs),
        first_response_ticks=_first_response(found.program, faults),
        correct=setup.correct(found.frames),
        images=0 if setup.labels is None else len(setup.labels),
    )


def _frames(setup: FaultSetup, faults: Faults) -> StruckFrames:
    """Run the stimuli, unless nothing failed: then the outputs are known."""
    struck = strike(setup.program, faults)
    if struck.program is setup.program and not faults.rate("dropped-spikes"):
        return StruckFrames(struck.program, dict(setup.expected), struck.counts)
    return frames_of(struck, faults, setup.stimuli, setup.choice)


def _first_response(program: ChipProgram, faults: Faults) -> int | None:
    if faults.rate("dropped-spikes") == 1:  # below 1 spikes are lost, but no way is
        program = without_ways(program, np.ones(len(program.wires.core), np.bool_))
    ticks = [found.first_response_ticks for found in measure(program).values()]
    return min((tick for tick in ticks if tick is not None), default=None)


def _from_record(entry: Mapping[str, Any]) -> FaultRun | None:
    try:
        run = FaultRun(**{name: entry[name] for name in FaultRun.__dataclass_fields__})
        numbers = (run.seed, run.struck, run.at_risk, run.bits, run.lost, run.added, run.images)
        ticks = (run.first_response_ticks, run.correct)
        is_right = all(type(n) is int and n >= 0 for n in (*numbers, *(t for t in ticks if t is not None)))
        return run if is_right and run.lost + run.added <= run.bits else None
    except (KeyError, TypeError):
        return None


RESULTS: ResultKind[FaultRun] = ResultKind("neuromap fault runs 1", "fault runs", asdict, _from_record)
"""How runs are kept in a file."""
