"""Ways of spikes over the board, along x first, then along y: walked, and blocked by defects."""
