"""What an exploration answers: rows, limits, advice."""
