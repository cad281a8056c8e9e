# SPDX-License-Identifier: MIT
"""Serve everything from the book itself: no script of another host.

What Jupyter Book adds and this book has no use for goes: MathJax, since formulas are drawn as the
book is built, sphinx-thebe, and the scripts that interactive widgets would load from elsewhere.
"""

from typing import Any

from sphinx.application import Sphinx


def register(app: Sphinx) -> None:
    """Clean every page's script list."""
    app.connect("builder-inited", disconnect_thebe, priority=1)
    app.connect("html-page-context", keep_own_scripts, priority=900)


def disconnect_thebe(app: Sphinx) -> None:
    """Remove sphinx-thebe's handlers and files: its script comes from another host."""
    for listeners in app.events.listeners.values():
        listeners[:] = [
            one for one in listeners if not one.handler.__module__.startswith("sphinx_thebe")
        ]
    app.registry.css_files[:] = [one for one in app.registry.css_files if "thebe" not in one[0]]


def keep_own_scripts(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Keep only scripts and styles that lie in the book, for one page."""
    for key in ("script_files", "css_files"):
        context[key] = [
            one for one in context.get(key, []) if _is_own(getattr(one, "filename", one))
        ]


def _is_own(filename: object) -> bool:
    """Return whether a script or style comes from the book, not from a host or from thebe."""
    name = str(filename or "")
    return "//" not in name and "thebe" not in name
