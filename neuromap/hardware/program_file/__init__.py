"""Program files, written and read."""
