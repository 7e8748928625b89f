"""Routes: every axon that a neuron feeds gets a copy of that neuron."""
