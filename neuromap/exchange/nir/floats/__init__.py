"""Neurons of NIR at a time step: discrete equations, ticks, float networks, distances of spike trains."""
