"""Files: written whole or not at all; regular files and TOML read; tables with names and bounds; what messages say."""
