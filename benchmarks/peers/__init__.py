"""Other simulators on the same network, spike for spike; ``python -m benchmarks.peers``."""
