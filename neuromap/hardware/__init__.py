"""Chips, programs, their files, and the checker of a program against its chip."""
