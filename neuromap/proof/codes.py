"""Codes for what a proof finds about a neuron on the chip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

# Signals of axons other than neurons of the network: nothing (as a claim: no claim); two different signals, or one
# without a claim; the host, in every frame; a part of a sum.
NOBODY, CLASH, CLOCK, PART = -1, -2, -3, -4

# Value of a parameter that a neuron with state does not have.
ABSENT = -(1 << 40)

# Findings about a neuron. Claims hold for those up to PROVEN; for the others they do not, or are undecided.
UNCLAIMED, EQUAL, CLIPPED, GAP, EXACT, STATE, COUNTED = range(7)
PROVEN = COUNTED
ALIGNED, SHARED, FIRST, FORM, THRESHOLD, REST, RAILS, RANDOM, PARAMETERS, EARLY, STRAY = range(10, 21)
HOLDER, COUNTS, LATE, ASKED, LARGE, HANDS = range(21, 27)

REASONS: Mapping[int, str] = ReadOnlyMapping(
    {
        UNCLAIMED: "nothing is claimed of it",
        EQUAL: "equal sums, equal thresholds",
        CLIPPED: "thresholds that no sum passes, or every sum",
        GAP: "no sum lies between the thresholds",
        EXACT: "other sums, which pass their thresholds together",
        STATE: "equal sums, the same neuron with state",
        COUNTED: "counts a part of a sum",
        ALIGNED: "reads a spike outside the ticks of its frames",
        SHARED: "reads an axon of two signals, or of a neuron of which nothing is claimed",
        FIRST: "reads frames of the host that the network does not, or not all",
        FORM: "adds up other weights",
        THRESHOLD: "compares with another threshold",
        REST: "remembers more than a frame",
        RAILS: "may meet the rails of its potential",
        RANDOM: "draws at random",
        PARAMETERS: "is another neuron with state",
        EARLY: "has its frame 1 before tick 0, or remembers and has it later",
        STRAY: "spikes although nothing arrives",
        HOLDER: "reads a part of a sum of which nothing is shown",
        COUNTS: "reads parts that do not count the sum between them",
        LATE: "is asked before all its parts have sent",
        ASKED: "may spike, or stop at its floor, when it is not asked",
        LARGE: "counts further than is looked through",
        HANDS: "does not hand on every spike, one a tick",
    }
)


class LiftedNeurons(NamedTuple):
    """Neurons of a core as neurons of a network, shape (N,) each."""

    values: Mapping[str, NDArray[np.int64]]  # parameters and settings of the network's neuron, by name
    forgets: NDArray[np.bool_]  # whether it only compares its sum with ``reaches``
    reaches: NDArray[np.int64]
    # why it is not a neuron of a network: an index into ``NO_NEURON`` of the kind, 0 if it is one
    wrong: NDArray[np.uint8]
