"""Placers beside each other; ``python -m benchmarks.placement``."""
