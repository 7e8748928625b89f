"""NIR graphs that this package writes: integer networks there and back without a loss."""
