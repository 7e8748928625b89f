"""Long runs that survive what stops them: checkpoints, and going on from one (``docs/cluster.md``)."""
