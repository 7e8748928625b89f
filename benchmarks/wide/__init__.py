"""Neurons wider than a core: cores against first response, by the ticks of their partial sums."""
