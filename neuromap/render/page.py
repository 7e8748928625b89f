"""Pages: self-contained HTML from a template, with the style sheets and scripts that all pages share."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.files.messages import counted
from neuromap.render.numbers import joules, plain, seconds
from neuromap.render.table import sentence
from neuromap.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

# Package of templates that are shared by pages, or short.
SHARED = "neuromap.render"


def page_environment(package: str) -> Environment:
    """Make the Jinja environment of a package's templates: values are escaped, undefined names are errors."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        # the short template of a page lies among the shared ones
        loader=ChoiceLoader([PackageLoader(folder, "templates") for folder in dict.fromkeys((package, SHARED))]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        plain=plain, seconds=seconds, joules=joules, counted=counted, markup=Markup, sentence=sentence
    )
    return environment


def render_page(package: str, template: str, /, filters: Mapping[str, Any] = ReadOnlyMapping({}), **words: Any) -> str:
    """Render a page from a template of a package, which passes drawings through the filter ``markup``."""
    environment = page_environment(package)
    environment.filters.update(filters)
    return environment.get_template(template).render(**{"version": __version__, **words})


class PageScript(NamedTuple):
    """Scripts of a page, joined."""

    text: Markup  # content of the element
    policy: Markup  # the page's content security policy: inline styles, exactly this script, nothing from elsewhere


def page_script(*names: str, library: str = "") -> PageScript:
    """Join scripts of ``neuromap.render.scripts``."""
    from markupsafe import Markup

    folder = files(SHARED).joinpath("scripts")
    text = f"\n{library}\n" + "\n".join(folder.joinpath(f"{name}.js").read_text(encoding="utf-8") for name in names)
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return PageScript(
        Markup(text),  # files of this package
        Markup(f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"),
    )


class DataBlock(NamedTuple):
    """Data embedded in a page, for people to save."""

    file: str  # name of the file that it is saved as
    what: str  # label on the button
    text: Markup  # JSON without ``<``, so that nothing in it ends the element


def data_block(file: str, what: str, value: str | Any) -> DataBlock:
    """Embed data in a page."""
    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return DataBlock(file, what, Markup(text))  # no special character of HTML is left


def saved_forms(name: str, document: Any, table: str, rows: str) -> list[DataBlock]:
    """Embed a document as NAME.json and its table as NAME.csv, called ``rows``."""
    return [
        data_block(f"{name}.json", "the data as JSON", document),
        data_block(f"{name}.csv", f"{rows} as CSV", table),
    ]


# Charts with zoom and filters, through the extra ``pages``: Vega-Lite, inlined, for pages with many points. A page also
# has a static drawing of the same, which needs neither scripts nor the extra.


Cell = float | int | str | None


class Axis(NamedTuple):
    """A figure that can be put on an axis."""

    key: str  # of the rows
    title: str  # with unit, and time axis where it has one


class Chart(NamedTuple):
    """Scatter plot whose axes the reader chooses, drawn by the script ``charts``."""

    rows: Sequence[Mapping[str, Cell]]  # points; a row without a number on a chosen axis is left out
    axes: Sequence[Axis]  # to choose from; at first the first two
    filters: Mapping[str, str]  # keys whose values can be switched off, and their labels
    # colour, shape: keys shown by colour and by shape
    colour: str
    shape: str
    told: Sequence[Axis]  # keys of the tooltip

    def document(self) -> dict[str, object]:
        """Return the chart as plain values, as the script reads it."""
        axes, told = ([axis._asdict() for axis in some] for some in (self.axes, self.told))
        return {**self._asdict(), "axes": axes, "told": told}


@cache
def chart_library() -> str | None:
    """Return the charting library as one script that defines ``vegaEmbed``; ``None`` if the extra is missing."""
    try:
        from vl_convert import javascript_bundle
    except ImportError:
        return None
    return str(javascript_bundle("window.vegaEmbed = vegaEmbed;")).replace("</script", "<\\/script")
