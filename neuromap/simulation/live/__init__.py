"""A run that somebody watches: one tick or one frame at a time, with input and program that may change meanwhile."""
