"""Forms of an exploration: text, JSON, CSV, HTML, picture."""
