"""Files: atomic writes, readers of regular files and TOML, checked tables, and the wording of messages."""
