"""The bench command: an engine measured on a network that simulators are measured on."""
