"""Reading what ``trace/forms`` writes, with checks: a file may come from anywhere."""
