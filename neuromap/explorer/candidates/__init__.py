"""Candidates: patterns, schedules, and which of them are one row."""
