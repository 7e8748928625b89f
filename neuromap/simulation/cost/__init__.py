"""What a run costs: synaptic events, energy, time of nodes."""
