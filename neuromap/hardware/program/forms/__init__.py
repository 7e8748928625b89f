"""Forms of a program: its file."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["FORMS"]

FORMS: Mapping[str, Mapping[str, str]] = MappingProxyType({"Program": {"file": "program_bytes.program_bytes"}})
