"""Sphinx configuration: Markdown through MyST, the Furo theme, API pages from the docstrings."""

import sys
from pathlib import Path
from typing import Any

import neuromap

sys.path.insert(0, str(Path(__file__).parent))
from gallery_pages import with_pictures, write_pages

project = "neuromap"
author = "The neuromap developers"
copyright = "2026, The neuromap developers"
version = release = neuromap.__version__

extensions = ["myst_parser", "sphinx.ext.mathjax", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
autodoc_typehints = "none"  # the docstrings give types and shapes
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
myst_enable_extensions = ["deflist", "dollarmath", "colon_fence", "attrs_inline"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = f"neuromap {release}"
html_static_path = ["static"]
html_css_files = ["pictures.css"]


def setup(app: Any) -> None:
    """Make pages of the notebooks before Sphinx looks for pages (see gallery_pages.py)."""
    folder = Path(app.srcdir) / "gallery"

    def show_pictures(app: Any, page: str, source: list[str]) -> None:
        if page == "gallery":
            source[0] = with_pictures(source[0], folder)

    app.connect("builder-inited", lambda app: write_pages(folder))
    app.connect("source-read", show_pictures)
