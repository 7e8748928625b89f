"""What becomes of mutants: refused, rejected with a counterexample or without, or proven and simulated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import neuromap as nm
from benchmarks.mutants.faults import Mutation, mutate
from benchmarks.mutants.programs import program_of
from neuromap.errors import NeuromapError
from neuromap.hardware.checker import check_program, require_legal
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.proof.codes import PROVEN as PROVEN_CODE
from neuromap.proof.codes import REASONS
from neuromap.proof.counterexample import find_counterexample
from neuromap.proof.prove import Proof, prove

REFUSED, SHOWN, UNSHOWN, PROVEN, WRONG = "refused", "shown", "unshown", "proven", "wrong"


@dataclass(frozen=True)
class Fate:
    """What became of a mutant."""

    family: str  # what kind of program
    fault: str  # what kind of fault
    what: str  # the fault, in words
    outcome: str  # one of the five words above
    why: str  # what refuses it, what is found of it, or by what it is proven
    shown: str = ""  # the counterexample


def fates(
    k: int, per_program: int, seed: int, n_sequences: int, make: Callable[..., Mutation] = mutate
) -> Iterator[Fate]:
    """Break program ``k`` of a seed in many ways, and tell what becomes of each."""
    family, rollout, program = program_of(k, seed)
    before = prove(rollout, program)
    assert before.proven, f"{family}: program {k} of seed {seed} is not proven: {before.faults[:1]}"
    rng = np.random.default_rng([seed, k, 1])
    for _ in range(per_program):
        mutation = make(program, rng)
        found = _outcome(rollout, before, mutation.program, n_sequences, seed)
        yield Fate(family, mutation.kind, mutation.what, *found)


def _outcome(
    rollout: nm.Rollout, before: Proof, mutant: ChipProgram, n_sequences: int, seed: int
) -> tuple[str, str, str]:
    """Prove a mutant, and hold the proof against simulation: what comes out, why, and a counterexample."""
    try:
        require_legal(mutant, indices_only=True)
        proof = prove(rollout, mutant)
    except NeuromapError as error:
        return REFUSED, f"the checker of programs ({type(error).__name__})", ""
    # Rules of chips are no matter of what is computed; what breaks only them has to compute the network all the same.
    rules = {broken.message for broken in check_program(mutant)}
    faults = [fault for fault in proof.faults if fault not in rules]
    try:
        aim = proof if faults else None
        found = find_counterexample(rollout, mutant, aim, n_sequences=n_sequences, seed=seed, shrink=not faults)
    except NeuromapError as error:  # frames of outputs that lie before tick 0 cannot be simulated
        return REFUSED if faults else WRONG, f"the simulator ({type(error).__name__})", ""
    why = _kind_of_fault(faults[0]) if faults else _lemma(before, proof, bool(rules))
    if found.counterexample is not None:
        return SHOWN if faults else WRONG, why, found.counterexample.message
    return UNSHOWN if faults else PROVEN, why, ""


def _kind_of_fault(fault: str) -> str:
    """Give what a fault says, without the place where it is."""
    place, what = fault.split(": ", 1)
    return place if what[0].isdigit() and place == "frame period" else what.split(";")[0].lstrip("0123456789 ")


def _lemma(before: Proof, proof: Proof, breaks_rules: bool) -> str:
    """Say what shows that a mutant computes the same: a lemma that more neurons need than did before."""
    good = [REASONS[code] for code in range(1, PROVEN_CODE + 1)]
    more = [name for name in good if proof.lemmas.get(name, 0) > before.lemmas.get(name, 0)]
    wrong = [name for name in proof.lemmas if name not in (*good, REASONS[0])]
    shown = more[-1] if more else "no output depends on it" if wrong else "equal sums, equal thresholds"
    return shown + (" (breaks a rule of the chip)" if breaks_rules else "")
