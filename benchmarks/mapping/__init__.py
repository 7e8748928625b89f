"""Cores, deliveries, CPU time of mapped networks, beside published partitioners; ``python -m benchmarks.mapping``."""
