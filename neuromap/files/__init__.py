"""Files: written whole or not at all; tables of TOML files, read with names and bounds."""
