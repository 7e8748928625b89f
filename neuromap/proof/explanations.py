"""Explanations: one line for every fault of a failed proof, with the network's neuron and what differs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from neuromap.files.messages import counted
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.proof import codes
from neuromap.proof.checker import Certificate, Checker, Examined
from neuromap.proof.prove import Proof

MOST_LINES = 20
_MOST_TERMS = 3
# Findings that follow from those of other neurons: reported last.
_FOLLOW = (codes.UNCLAIMED, codes.SHARED)


def explain(program: ChipProgram, proof: Proof, most: int = MOST_LINES) -> list[str]:
    """Explain each fault in one line; at most ``most`` lines, and how many more there are."""
    checker = Checker(program, proof.certificate)
    wrong = wrong_neurons(checker, proof.examined)
    told = tuple(f"core {core}, neuron {n}: " for core, n in wrong)
    lines = [fault for fault in proof.faults if not fault.startswith(told)][:most]
    lines += [_line(checker, proof.examined, core, n) for core, n in wrong[: most - len(lines)]]
    left = len(proof.faults) - len(lines)
    return [*lines, f"and {left} more"] if left > 0 else lines


def wrong_neurons(checker: Checker, examined: Examined) -> list[tuple[int, int]]:
    """List the unproven neurons that an output depends on; first those that do not follow from others."""
    found = examined.found
    wrong = np.argwhere(checker.needed(found) & ((found > codes.PROVEN) | (found == codes.UNCLAIMED)))
    follows = np.isin(found[wrong[:, 0], wrong[:, 1]], _FOLLOW)
    return [(int(core), int(n)) for core, n in wrong[np.argsort(follows, kind="stable")]]


def name_of(mine: Certificate, number: int) -> str:
    """Name a neuron of the network, such as ``H1[4]``."""
    node = int(np.searchsorted(mine.first, number, side="right")) - 1
    return f"{mine.names[node]}[{number - int(mine.first[node])}]"


def _line(checker: Checker, examined: Examined, core: int, n: int) -> str:
    mine, code = checker.certificate, int(examined.found[core, n])
    number = int(mine.neuron[core, n])
    whose = ""
    if number >= 0:
        what = "relay" if mine.relay[core, n] else "copy"
        whose = f" ({what} of {name_of(mine, number)})"
    details = "; ".join(_details(checker, examined, core, n, code))
    return f"core {core}, neuron {n}{whose}: {codes.REASONS[code]}" + (f": {details}" if details else "")


def _details(checker: Checker, examined: Examined, core: int, n: int, code: int) -> Iterator[str]:
    if code == codes.FORM:
        yield from _terms(checker, core, n)
    elif code in (codes.THRESHOLD, codes.STRAY):
        yield from _threshold(checker, core, n)
    elif code in (codes.REST, codes.RAILS, codes.PARAMETERS):
        yield from _odd_values(checker, examined, core, n)
    elif code != codes.UNCLAIMED:
        yield from _signals(checker, core, n)


def _terms(checker: Checker, core: int, n: int) -> Iterator[str]:
    """List the weights that differ."""
    mine, sums = checker.certificate, checker.sums(core)
    other = [term for term in checker.terms(core, n, sums) if term[3] != term[4]]
    for source, lag, current, chip, wanted in other[:_MOST_TERMS]:
        when = "the same frame" if lag == 0 else f"{counted(lag, 'frame')} before"
        into = f" into current {current}" if current else ""
        yield f"weight {chip} for {wanted} from {name_of(mine, source)}, {when}{into}"
    if len(other) > _MOST_TERMS:
        yield f"{len(other) - _MOST_TERMS} more weights"
    if mine.state and sums.clock[n]:
        yield f"the host adds {int(sums.clock[n])} in every frame"


def _threshold(checker: Checker, core: int, n: int) -> Iterator[str]:
    """Name the sums from which on chip and network are 1."""
    mine, sums, kind = checker.certificate, checker.sums(core), checker.program.chip.kind.proof
    if kind is None:
        return
    reaches = int(kind.forgetting(checker.program, core, sums.low, sums.high)[0][n] - sums.clock[n])
    if mine.relay[core, n]:
        yield f"spikes from a sum of {reaches} on, and is to hand on single spikes"
        return
    number, power = int(mine.neuron[core, n]), int(mine.power[core, n])
    yield f"spikes from a sum of {reaches} on, {name_of(mine, number)} from {int(mine.threshold[number]) << power} on"


def _odd_values(checker: Checker, examined: Examined, core: int, n: int) -> Iterator[str]:
    """List parameters that differ from the network, or that no proven neuron of the same node and kind has."""
    mine, program = checker.certificate, checker.program
    peers = (examined.found <= codes.PROVEN) & (examined.found != codes.UNCLAIMED) & (mine.relay == mine.relay[core, n])
    peers &= program.neuron_node == program.neuron_node[core, n]
    number = int(mine.neuron[core, n])
    for tensor, (_, axes) in program.TENSORS.items():
        table, _, field = tensor.partition(".")
        values = getattr(getattr(program, table), field, None) if field else None
        if axes != "CN" or not isinstance(values, np.ndarray):
            continue
        here = int(values[core, n])
        if field in mine.state and number >= 0 and not mine.relay[core, n]:
            wanted = int(mine.state[field][number]) << int(mine.power[core, n])
            if here not in (wanted, int(mine.state[field][number])) and mine.state[field][number] > -(1 << 39):
                yield f"{_words(field)} {here} for {wanted}"
        elif not mine.state and peers.any() and not (values[peers] == here).any():
            yield f"{_words(field)} {here} for {_usual(values[peers])}"


def _usual(values: NDArray[np.generic]) -> int:
    found, times = np.unique(values, return_counts=True)
    return int(found[times.argmax()])


def _words(field: str) -> str:
    return field.replace("_", " ")


def _signals(checker: Checker, core: int, n: int) -> Iterator[str]:
    """List the axons it reads that carry anything but one neuron's frames."""
    parts = checker.program.period.denominator
    for shown, (axon, source, lag, off, first, wanted) in enumerate(_odd_signals(checker, core, n)):
        if shown == _MOST_TERMS:
            yield "and more axons"
            return
        name = "the host's spike of every frame" if source is None else name_of(checker.certificate, source)
        if source == codes.NOBODY:
            yield f"axon {axon} carries several signals, or one of which nothing is claimed"
        elif lag < 0:
            yield f"axon {axon} brings {name} before its frame"
        elif off:
            late = counted(off, "tick") if parts == 1 else f"{off} of {parts} parts of a tick"
            yield f"axon {axon} brings {name} {late} too late"
        else:
            yield f"axon {axon} brings {name} from frame {first} on, not from frame {wanted}"


def _odd_signals(checker: Checker, core: int, n: int) -> Iterator[tuple[int, int | None, int, int, int, int]]:
    """List inputs that are not frames of one neuron: axon, source, lag, rest, first frame, and the wanted one."""
    # source: None for the host's spike of every frame, NOBODY for several signals or one of no claim
    soma, _, rows, axons = checker.synapses(core)
    mine = (soma == n) & (rows[0] != codes.PART)
    axon, (source, arrival, first, _) = axons[mine], rows[:, mine]
    lag, off = np.divmod(arrival - checker.certificate.begin[core, n], checker.program.period.numerator)
    wanted = np.where(checker.is_input(source), np.maximum(0, 1 - lag), np.where(source == codes.CLOCK, 1 - lag, first))
    odd = (source == codes.CLASH) | (off != 0) | (lag < 0) | (first != wanted)
    for one, *rest in zip(*(v[odd].tolist() for v in (source, axon, lag, off, first, wanted)), strict=True):
        yield rest[0], None if one == codes.CLOCK else max(one, codes.NOBODY), *rest[1:]
