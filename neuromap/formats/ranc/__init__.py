"""RANC's files as programs with raw events."""
