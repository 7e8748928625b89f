"""Our programs on RANC: equal outputs, equal spikes at every axon; ``python -m benchmarks.ranc.oracle``."""
