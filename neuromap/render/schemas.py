"""The published JSON Schemas, generated from the documents' descriptions; ``docs/schemas`` has them as files."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.files.messages import did_you_mean, show
from neuromap.render.document import Document

# Name of a document: where it is described.
_DOCUMENTS: Mapping[str, str] = ReadOnlyMapping(
    {
        "accuracy": "accuracy.forms.DOCUMENT",
        "bench": "bench.forms.DOCUMENT",
        "brian2-report": "backends.imported.BRIAN2_REPORT",
        "chip-sweep": "sweep.chip_sweep.DOCUMENT",
        "chips": "cli.printing.documents.CHIPS",
        "dry-run": "mapping.diagnosis.dry_run.DOCUMENT",
        "error": "cli.printing.documents.ERROR",
        "experiment": "experiments.forms.DOCUMENT",
        "exploration": "explorer.document.DOCUMENT",
        "export": "exchange.of_exports.DOCUMENT",
        "faults": "faults.page.DOCUMENT",
        "import": "exchange.of_imports.DOCUMENT",
        "lift": "proof.lifted.DOCUMENT",
        "map": "cli.printing.documents.MAP",
        "prove": "cli.printing.documents.PROVE",
        "quantisation": "quantise.forms.DOCUMENT",
        "report": "report.page.DOCUMENT",
        "rollouts": "cli.printing.documents.ROLLOUTS",
        "runs": "sweep.run_forms.DOCUMENT",
        "search": "searcher.forms.DOCUMENT",
        "simulate": "cli.printing.documents.SIMULATE",
        "sweep": "cli.printing.documents.SWEEP",
        "training": "training.forms.DOCUMENT",
        "verify": "cli.printing.documents.VERIFY",
    }
)


def list_schemas() -> list[str]:
    """List the names of the JSON Schemas of all documents that commands and ``to_json`` write.

    Returns
    -------
    list of str
        In alphabetical order, such as ``"report"``; ``docs/schemas.md`` says what writes each document.
    """
    return sorted(_DOCUMENTS)


def load_schema(name: str) -> dict[str, Any]:
    """Load a JSON Schema.

    Parameters
    ----------
    name : str
        One of :func:`list_schemas`.

    Returns
    -------
    dict
        The schema (draft 2020-12), a new copy. Its ``$id`` ends in the number of the document's format.

    Raises
    ------
    InputError
        If there is no schema of that name.
    """
    if not isinstance(name, str) or name not in _DOCUMENTS:
        hint = did_you_mean(name, _DOCUMENTS) if isinstance(name, str) else ""
        raise InputError(f"schema {show(name)}: is not known; known are {', '.join(_DOCUMENTS)}{hint}")
    module, _, described = _DOCUMENTS[name].rpartition(".")
    document: Document = getattr(importlib.import_module(f"neuromap.{module}"), described)
    return document.schema()
