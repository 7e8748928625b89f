"""A dense core, as somebody else would add it: every neuron reads every axon, with an 8-bit weight of its own."""
