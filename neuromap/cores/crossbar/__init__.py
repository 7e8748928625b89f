"""Crossbar cores: one bit per axon and neuron, axon types, one target per neuron (TrueNorth, RANC)."""
