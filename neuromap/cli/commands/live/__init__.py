"""The commands that show a run while it runs."""
