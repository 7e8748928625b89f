"""Program files, read and checked."""
