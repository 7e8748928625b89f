"""Runs of one stimulus, of many, of raw events, or tick by tick."""
