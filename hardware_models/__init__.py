"""Chip files as package data; read them with :func:`neuromap.load_chip`."""
