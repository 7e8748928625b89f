"""Long work in many pieces: worker processes, and results that outlast an interruption."""
