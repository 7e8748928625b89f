"""Neurons that remember: what a node of a spiking network computes in every tick."""
