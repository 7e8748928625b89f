"""Commands that show a run while it goes."""
