"""Schedules of patterns: phases, frame periods, cycle ratio, responses, node times."""
