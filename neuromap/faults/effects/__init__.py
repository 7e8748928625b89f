"""Faults: which there are, what they can strike in a program, and the program afterwards."""
