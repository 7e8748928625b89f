"""Results of an exploration: rows, limits, advice."""
