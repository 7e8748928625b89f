"""Candidates mapped, verified and measured, in worker processes and across interruptions."""
