"""Runs of a sweep: each a row of the report, all of them on workers and into a store."""
