"""What is kept of a run, and its files."""

FORMS = {
    "Batch": {
        "file": "batch.save_batch",
    },
    "Trace": {
        "file": "trace_file.save_trace",
    },
}
