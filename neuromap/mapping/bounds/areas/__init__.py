"""How many places neurons read: windows cut off at the edges of an image, and windows with holes."""
