"""Cost of a run: synaptic events, energy, node times."""
