# SPDX-License-Identifier: MIT
"""Let the builder of one page draw what the builder of many pages can draw.

Sphinx looks for the functions that write a node under the builder's name, and under its format,
``html``, only when no extension has registered any for the name. One does for ``singlehtml``, so
that every other extension's nodes would be unknown when the whole book is printed.
"""

from sphinx.application import Sphinx


def register(app: Sphinx) -> None:
    """Mend the table of functions before anything is written."""
    app.connect("builder-inited", share_html_handlers)


def share_html_handlers(app: Sphinx) -> None:
    """Offer the functions for HTML to ``singlehtml`` where it has none of its own."""
    handlers = app.registry.translation_handlers
    if app.builder.name == "singlehtml":
        handlers["singlehtml"] = {**handlers["html"], **handlers.get("singlehtml", {})}
