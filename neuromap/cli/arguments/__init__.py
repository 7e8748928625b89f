"""Arguments shared by commands."""
