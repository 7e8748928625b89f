"""The command line: ``neuromap`` and its commands, one file per command."""
