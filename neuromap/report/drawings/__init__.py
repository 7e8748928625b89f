"""Drawings of networks, windows, timelines, chips and links."""
