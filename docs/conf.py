"""Settings of Sphinx: `nox -s docs` builds these pages, and any warning is an error."""

import unparallel

project = "unparallel"
copyright = "the unparallel authors"
version = release = unparallel.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 2
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
html_theme = "furo"
html_title = "unparallel"
exclude_patterns = ["_build"]
