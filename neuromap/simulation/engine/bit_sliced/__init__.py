"""Many stimuli at once, one bit each: batches on cores whose neurons keep no state between ticks.

A core's due axons are planes of 512 bits, one bit for each of 512 stimuli; a neuron's sum is several planes, to which
the planes of its axons are added without carrying to the end each time; its spikes are one plane.
``docs/fast-engine.md`` tells which cores are bit-sliced, and the gain.
"""
