"""Files of what is kept of a run: safetensors, and HDF5 in the layout of SONATA."""

FORMS = {
    "Batch": {"file": "batch_file.save_batch"},
    "Trace": {"file": "trace_file.save_trace"},
}
