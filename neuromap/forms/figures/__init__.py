"""Drawings for elsewhere: as PDF for papers, as images in notebooks."""
