"""Compiled code: Numba's cache on disk, and the word that something is being compiled."""
