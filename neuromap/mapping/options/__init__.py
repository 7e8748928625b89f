"""Mapping options: strategies, limits and pins."""
