"""What edges do: the kinds of transforms, their weights and windows, as integer sparse matrices, within limits."""
