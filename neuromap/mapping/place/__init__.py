"""Placement of cores on the board; ``place.py`` has the entry point and the placers."""
