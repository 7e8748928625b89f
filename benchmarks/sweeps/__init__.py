"""Sweeps of runs: what they take beside a shell loop, and whether they survive being killed."""
