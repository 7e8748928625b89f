"""Many stimuli at once, a bit for each: batches on cores whose neurons remember nothing between two ticks.

Parts of a core's tick: its due axons are planes of 512 bits, one for each of 512 stimuli; a neuron's sum is a number of
planes, into which the planes of its axons are added without carrying to the end each time; its spikes are one plane.
``docs/fast-engine.md`` tells which cores go this way, and what it gains.
"""
