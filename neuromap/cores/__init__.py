"""Kinds of cores: each a package behind one protocol."""
