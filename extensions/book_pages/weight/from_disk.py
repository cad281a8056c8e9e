# SPDX-License-Identifier: MIT
"""Let a page that was opened from a disk do without what browsers forbid there.

From ``file://`` no script may fetch. Search then lists the pages that it finds without an excerpt
of each, which it would have to fetch; the applets take another way (:mod:`.applet_files`).
"""

from typing import Any

from sphinx.application import Sphinx

NO_EXCERPTS = (
    "if (location.protocol === 'file:') DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;"
)


def register(app: Sphinx) -> None:
    """Watch for the search page."""
    app.connect("html-page-context", add_search_setting)


def add_search_setting(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Switch the excerpts off where they cannot be had, on the search page alone."""
    if pagename == "search":
        app.add_js_file(None, body=NO_EXCERPTS)
