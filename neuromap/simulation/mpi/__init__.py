"""One run on several processes, which MPI calls ranks: each has some of the cores (``docs/cluster.md``)."""
