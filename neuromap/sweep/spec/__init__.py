"""The spec of a sweep of runs: what is asked for, checked whole, and every run by its key."""
