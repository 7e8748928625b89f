"""Input frames, for one run and for batches."""
