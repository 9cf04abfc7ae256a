"""How `make docs` builds these pages: Sphinx, Markdown by MyST, the pydata theme. No page loads from a network."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "extensions"), str(HERE.parent)]

from coldtheory import __version__  # noqa: E402  (the one place that knows the version)

project = "COLD"
author = "The COLD maintainers"
copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "plain_docstrings",  # docstrings are plain text, not reStructuredText
    "mathml",  # formulas are typeset by the browser, without a script
    "pages",  # API pages, and pages whose text lives elsewhere in the repository
]

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 4

autodoc_default_options = {"members": True, "undoc-members": True, "ignore-module-all": True}
autodoc_member_order = "bysource"
autodoc_type_aliases = {name: name for name in ("Array", "ArrayLike", "NDArray")}  # as the source writes them
python_maximum_signature_line_length = 100
add_module_names = False
viewcode_line_numbers = True
autodoc_mock_imports = ["avalanche", "cooper", "lightning", "models", "utils"]  # of adapters; pages need none of them

# Nitpicky stays off: signatures name types of numpy and torch, whose inventories would have to come from a network.
nitpicky = False
suppress_warnings = ["ref.python"]  # a bare type name in a signature may fit classes of several modules

exclude_patterns = ["_build", "extensions"]

html_theme = "pydata_sphinx_theme"
html_title = "COLD"
html_static_path = ["_static"]
html_css_files = ["plain.css"]
html_show_sphinx = False
html_theme_options = {
    "logo": {"text": "COLD"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "github-dark",
}
html_sidebars = {"*": []}  # pages of the first level have nothing below them; the API reference has
