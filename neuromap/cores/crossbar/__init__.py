"""Crossbar cores: a bit for every axon and neuron, types of axons, one target for a neuron (TrueNorth, RANC)."""
