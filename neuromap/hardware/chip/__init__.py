"""Chips: cores, widths, delays, figures and defects, and their files."""
