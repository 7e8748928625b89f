"""Schedules: phases, frame periods, longest walks, cycle ratio, responses, node times."""
