"""Cycles of a network: blocks, sums over acyclic choices, feedback edges, packings."""
