"""Pages: one self-contained HTML text from a template and the style sheets that all pages share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["page_environment"]

_SHARED = "neuromap.forms"


def page_environment(package: str) -> Environment:
    """Make the Jinja environment of a folder of forms: names are escaped, an unknown one is an error.

    Parameters
    ----------
    package : str
        Whose folder ``templates`` holds the page; style sheets of ``neuromap.forms`` are found too.

    Returns
    -------
    jinja2.Environment
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=ChoiceLoader([PackageLoader(folder, "templates") for folder in (package, _SHARED)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
