"""Scenes: as values, as files, and played live, with several runs on the same input and a recording."""
