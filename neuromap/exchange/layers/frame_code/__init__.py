"""Weights and thresholds of graphs of operators that compute in frame code."""
