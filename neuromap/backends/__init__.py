"""Back ends of other projects' simulators, on neuromap's chips."""
