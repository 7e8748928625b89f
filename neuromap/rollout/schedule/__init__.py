"""Schedules of patterns: phases, frame periods, cycle ratio, longest walks and paths, responses, node times."""
