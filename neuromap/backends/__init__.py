"""Other projects' networks on neuromap's chips: one folder for each."""
