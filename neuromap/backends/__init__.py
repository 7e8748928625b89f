"""Back ends that run networks of other projects on neuromap's chips, one folder each."""
