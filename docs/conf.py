"""Sphinx configuration: Markdown through MyST, the Furo theme, API pages from the docstrings."""

import neuromap

project = "neuromap"
author = "The neuromap developers"
copyright = "2026, The neuromap developers"
version = release = neuromap.__version__

extensions = ["myst_parser", "sphinx.ext.mathjax", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
autodoc_typehints = "none"  # the docstrings give types and shapes
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
myst_enable_extensions = ["deflist", "dollarmath", "colon_fence"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = f"neuromap {release}"
html_static_path: list[str] = []
