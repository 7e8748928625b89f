"""Proofs that a program computes its network, for every input."""
