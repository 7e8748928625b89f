"""What a program of dense cores must keep, read again from the program and the chip."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuromap.hardware import checker
from neuromap.hardware.checker import Finding, Place, Rules, find, in_range
from neuromap_dense.program import DenseProgram


def starts(program: DenseProgram) -> Iterator[Finding]:
    """``target-start``: starts rise from 0 to the number of targets."""
    start, end = program.start, len(program.target_core)
    wrong = np.diff(start, prepend=start[:1], append=end) < 0
    wrong[0] = start[0] != 0
    yield find("target-start", wrong, lambda i: (_of(program, i), i, f"starts that rise to {end}", "start of targets"))


def targets(program: DenseProgram) -> Iterator[Finding]:
    """``target-exists`` and ``delay-range``: targets are axons of cores in use, at delays of the chip."""
    sender = np.repeat(np.arange(len(program.start) - 1), np.diff(program.start))
    least, greatest = program.chip.delay
    for rule, values, low, high, what in (
        ("target-exists", program.target_core, 0, program.n_cores - 1, "target core"),
        ("target-exists", program.target_axon, 0, program.chip.axons - 1, "target axon"),
        ("delay-range", program.delay, least, greatest, "delay"),
    ):
        wrong = (values < low) | (values > high)
        yield find(
            rule,
            wrong,
            lambda t, values=values, bound=f"{low} to {high}", what=what: (
                _of(program, int(sender[t])), int(values[t]), bound, what,
            ),
        )  # fmt: skip


def weights(program: DenseProgram) -> Iterator[Finding]:
    """``weight-range``: weights fit their width."""
    least, greatest = program.chip.weight_range
    table, bound = program.weights, f"{least} to {greatest}"
    yield find(
        "weight-range",
        (table < least) | (table > greatest),
        lambda c, a, n: (Place(core=c, neuron=n, axon=a), int(table[c, a, n]), bound, "weight"),
    )


def thresholds(program: DenseProgram) -> Iterator[Finding]:
    """``threshold-range``: thresholds fit their width."""
    yield in_range("threshold-range", program.threshold, program.chip.threshold_range, "threshold")


def widths(program: DenseProgram) -> Iterator[Finding]:
    """``potential-width``: no set of spikes drives a sum beyond its width."""
    sums = program.weights.astype(np.int64)
    for extreme in (np.maximum(sums, 0).sum(axis=1), np.minimum(sums, 0).sum(axis=1)):
        yield in_range("potential-width", extreme, program.chip.potential_range, "farthest sum in one tick")


def sources(program: DenseProgram) -> Iterator[Finding]:
    """``axon-source``: an axon has one source: one neuron, or one row of the host."""
    found = np.zeros((program.n_cores, program.chip.axons), np.int64)
    for core, axon in ((program.target_core, program.target_axon), (program.host.core, program.host.axon)):
        there = (core >= 0) & (core < program.n_cores) & (axon >= 0) & (axon < program.chip.axons)
        np.add.at(found, (core[there], axon[there]), 1)
    yield find("axon-source", found > 1, lambda c, a: (Place(core=c, axon=a), int(found[c, a]), "at most 1", "sources"))


def _of(program: DenseProgram, number: int) -> Place:
    return Place(core=number // program.chip.neurons, neuron=number % program.chip.neurons)


RULES = Rules(
    starts=(starts,),
    indices=(targets, *checker.TABLES),
    chip=(checker.coordinates, weights, thresholds, *checker.BOARD),
    mapped=(checker.chosen_periods, sources, widths, checker.bias_frames, checker.output_labels),
)
