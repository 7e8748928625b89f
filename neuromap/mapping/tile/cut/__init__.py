"""Orders of neurons, and where to cut them."""
