"""Rows of runs in one file that outlasts whatever ends the sweep."""
