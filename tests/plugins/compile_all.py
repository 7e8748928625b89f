"""Compile, for the cache, the kernels that tests of several rooms use; ``compile_all.py K N`` takes every N-th from K.

The engine's kernel is compiled once for each number of groups of 32 neurons and words of 64 axons. What is missing
here is compiled by the test that meets it.
"""

import sys
from dataclasses import replace

from neuromap.bench.characterisation import characterisation_program
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.simulation.engine.engine import HostEvents
from neuromap.simulation.engine.fast_engine import FastEngine

GROUPS_AND_WORDS = [(8, 4), (1, 4), (2, 4), (8, 2), (1, 2), (2, 2), (8, 1), (1, 1), (2, 1)]

if __name__ == "__main__":
    first, step = (int(word) for word in sys.argv[1:])
    for groups, words in GROUPS_AND_WORDS[first::step]:
        chip = replace(load_chip("truenorth"), axons=64 * words, neurons=32 * groups)
        FastEngine(characterisation_program(1, chip=chip, synapses=1)).run(HostEvents.none(1))
