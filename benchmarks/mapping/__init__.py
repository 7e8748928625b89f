"""Cores, deliveries and CPU time of mapped networks, beside published partitioners; ``python -m benchmarks.mapping``."""
