"""Recordings of runs and their files."""
