"""Forms of the latency report: text, JSON, CSV, HTML, pictures."""
