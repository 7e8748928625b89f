"""What users wait for: commands in fresh processes, first use, imports and batches."""
