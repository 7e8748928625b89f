"""Engines: the readable one, the fast one, and what both offer."""
