"""The suite's own machinery, a file each in tests/plugins; what only some rooms share stands in their conftest.

``environment`` comes first: it settles how many cores this process has before anything imports NumPy.
"""

pytest_plugins = [
    "environment",
    "workers",
    "example_counts",
    "same_examples",
    "imported_once",
    "warm_compile",
    "kept_readers",
    "small_networks",
    "interleaved_networks",
    "short_streams",
    "resealed",
]
