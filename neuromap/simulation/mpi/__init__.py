"""One run on several processes (MPI ranks), each with some of the cores (``docs/cluster.md``)."""
