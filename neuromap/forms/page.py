"""Pages: one self-contained HTML text from a template, and the style sheets and scripts that all pages share."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

__all__ = ["DataBlock", "Definition", "PageScript", "data_block", "page_environment", "page_script"]

_SHARED = "neuromap.forms"


def page_environment(package: str) -> Environment:
    """Make the Jinja environment of a folder of forms: names are escaped, an unknown one is an error."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=ChoiceLoader([PackageLoader(folder, "templates") for folder in (package, _SHARED)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


class PageScript(NamedTuple):
    """Scripts of a page, as one."""

    text: Markup  # what stands between the tags
    policy: Markup  # the page's content security policy: styles of its own, this very script, nothing from elsewhere


def page_script(*names: str, library: str = "") -> PageScript:
    """Join scripts of ``neuromap.forms.scripts``."""
    from markupsafe import Markup

    folder = files(_SHARED).joinpath("scripts")
    text = f"\n{library}\n" + "\n".join(folder.joinpath(f"{name}.js").read_text(encoding="utf-8") for name in names)
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return PageScript(
        Markup(text),  # files of this package
        Markup(f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"),
    )


class Definition(NamedTuple):
    """What a figure of a page means; ``definitions.jinja`` lists them, with anchors."""

    name: str  # as tables call it
    unit: str  # with the time axis where it has one; empty without one
    text: str  # what it is, in sentences


class DataBlock(NamedTuple):
    """Data that lies in a page, for people to save."""

    file: str  # name of the file that it is saved as
    what: str  # what the button calls it
    text: Markup  # JSON without ``<``, so that nothing in it ends the element


def data_block(file: str, what: str, value: str | Any) -> DataBlock:
    """Put data into a page."""
    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return DataBlock(file, what, Markup(text))  # no sign of HTML is left
