"""How Sphinx builds the site: `make docs` (no network, warnings are errors)."""

import sys
from pathlib import Path

import matplotlib

import hicorex

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]  # for reference, and for real_data

from reference import as_rest, write_reference

matplotlib.use("Agg")

project, author, copyright = "hicorex", "The hicorex developers", "The hicorex developers"
version = release = hicorex.__version__
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["gallery/*.md5", "gallery/**/*.ipynb"]
suppress_warnings = ["config.cache"]  # the gallery's options hold a class

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

autodoc_typehints = "none"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(pictures|sp500)\.py",
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("hicorex",),
    "reference_url": {"hicorex": None},
    "backreferences_dir": "gallery/uses",
    "abort_on_example_error": True,
    "min_reported_time": 3600,  # seconds are the machine's, not the method's
    "write_computation_times": False,
    "image_srcset": ["2x"],
    "thumbnail_size": (400, 300),
    "first_notebook_cell": "%matplotlib inline",
}

html_theme = "pydata_sphinx_theme"
html_title = "hicorex"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "gallery/index": []},
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": [], "gallery/index": [], "install": [], "changelog": []}


def setup(app):
    """Write the pages of the API reference, and let Sphinx read docstrings as they are here."""
    write_reference(HERE / "api")

    def read(app, what, name, value, options, lines):
        lines[:] = as_rest(lines)

    app.connect("autodoc-process-docstring", read, priority=1)
