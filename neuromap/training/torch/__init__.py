"""Trained networks as values of the project: a model in frame code becomes a network with integer weights."""
