"""The version, for whatever writes it down."""

__all__ = ["__version__"]

__version__ = "0.1.0"
