"""Other tools on the chip: one folder for each."""
