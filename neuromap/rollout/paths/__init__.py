"""Longest walks and paths, shortest walks of indexed networks, and how long a path search may take."""
