"""Populations cut into tiles that fit one core."""
