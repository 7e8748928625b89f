"""The commands that take from and give to other tools."""
