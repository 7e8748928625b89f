"""Placement strategies: each file holds one, or what several of them share; joined in ``mapping/place.py``."""
