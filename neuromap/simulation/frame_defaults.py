"""How many random frames and stimuli are made where none are given; told by help texts, so it imports nothing."""

DEFAULT_FRAMES = 32
"""Random frames that are made where none are given, frame 0 included."""

DEFAULT_STIMULI = 5
"""Random stimuli over which figures per frame are means, where no frames are given."""

MOST_STIMULI = 100
"""More would tell little: the interval of a mean shrinks with the square root of their number."""
