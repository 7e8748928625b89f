"""A scene that is played: programs, live runs on the same input, what was recorded."""
