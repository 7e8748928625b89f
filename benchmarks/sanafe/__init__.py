"""Our programs on SANA-FE: equal spikes, equal hops; ``python -m benchmarks.sanafe.oracle``."""
