"""Mutants: what is proven of a program with a fault computes the network all the same, by simulation."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import neuromap as nm
from neuromap.network.edge import Edge, EdgeTerm
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron
from neuromap.network.transforms import Dense
from neuromap.network.weights import StoredWeights

fates = pytest.importorskip(
    "benchmarks.mutants.fates",
    reason="benchmarks/ is not here: it is not part of the wheel",
    exc_type=ModuleNotFoundError,
)


def test_no_mutant_is_proven_that_differs_for_some_input():
    outcomes = Counter()
    for k in range(10):  # a program of every kind
        for fate in fates.fates(k, 20, seed=11, n_sequences=64):
            assert fate.outcome != fates.WRONG, fate
            outcomes[fate.outcome] += 1
    # what finds nothing shows nothing: most mutants differ, and many do not
    assert outcomes[fates.SHOWN] > 60
    assert outcomes[fates.PROVEN] > 20


def test_a_further_current_of_a_neuron_sends_no_spikes():
    """Its place on the chip stands for the neuron's, as far as sums go; a wire from it is silent."""
    neuron = CurrentNeuron(threshold=64, more_current_decays=[np.array([0])], current_decay=4096)
    one = (1, 1, 1)
    nodes = {"I": Node("I", one), "A": Node("A", one, neuron=neuron), "O": Node("O", one, neuron=CurrentNeuron(64))}
    term = Dense(one, one, weights=StoredWeights(np.array([[128]])))
    edges = {("I", "A"): Edge("I", "A", term, also=(EdgeTerm(term, 1, 1),)), ("A", "O"): Edge("A", "O", term)}
    rollout = nm.Rollout(Network("two-currents", nodes, edges, outputs=("O",)), "streaming")
    program = nm.map_rollout(rollout, "loihi1")
    assert nm.prove(rollout, program).proven
    (held,) = np.flatnonzero(program.neurons.joined.ravel() >= 0)
    start, soma = program.targets.start.copy(), program.neurons.joined.ravel()[held]
    step = 1 if soma < held else -1  # give the wire of the neuron to what is joined to it
    start[min(soma, held) + 1 : max(soma, held) + 1] -= step
    broken = replace(program, targets=replace(program.targets, start=start))
    assert not nm.verify(rollout, broken).verified
    assert any("of which nothing is claimed" in fault for fault in nm.prove(rollout, broken).faults)
