"""Cycles of a network: components and blocks, sums over acyclic choices, smallest streaming sets, packings."""
