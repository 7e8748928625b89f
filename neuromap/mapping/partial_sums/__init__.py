"""Neurons wider than a core: how their sums are cut into parts."""
