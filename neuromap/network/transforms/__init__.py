"""What edges do: layer transforms, weights and windows as integer sparse matrices, within limits."""
