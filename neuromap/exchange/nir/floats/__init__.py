"""Neurons of NIR at a step: discrete equations, ticks, float networks, distances of spike trains."""
