"""Tiles that share cores."""
