"""Runs: of one stimulus, of many, of raw events, tick by tick."""
