"""Arrays as values carry them: locked, and cut into ragged ranges."""
