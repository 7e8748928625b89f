"""Engines: the readable one, the fast one, and their common protocol."""
