"""Ways of spikes over the board: along x first, then along y."""
