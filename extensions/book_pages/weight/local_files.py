# SPDX-License-Identifier: MIT
"""Serve everything from the book itself: MathJax, fonts, and no script of another host.

Copies MathJax out of the installed ``sphinx-mathjax-offline`` distribution (only the browser
bundle and its fonts, 1.5 of 6 MB) and removes what Jupyter Book adds and this book has no use
for: sphinx-thebe, and the scripts that interactive widgets would load from elsewhere.
"""

import shutil
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

MATHJAX_DISTRIBUTION = "sphinx-mathjax-offline"
LICENCE_DISTRIBUTION = "packaging"  # carries the text of the Apache License 2.0, MathJax's too
NOTICE = """MathJax 3, https://www.mathjax.org, copyright The MathJax Consortium.
Licensed under the Apache License, Version 2.0; its text follows.

"""


def register(app: Sphinx) -> None:
    """Copy MathJax before the pages are written, and clean every page's script list."""
    app.connect("builder-inited", disconnect_thebe, priority=1)
    app.connect("builder-inited", copy_mathjax)
    app.connect("html-page-context", keep_own_scripts, priority=900)


def mathjax_files() -> dict[str, Path]:
    """List the files that MathJax needs: path below ``_static/mathjax/`` → installed file.

    Raises:
        FileNotFoundError: The distribution lacks the bundle or its fonts.
    """
    package = distribution(MATHJAX_DISTRIBUTION)
    found = {}
    for file in package.files or []:
        _, _, inside = file.as_posix().partition("/static/mathjax/")
        if inside == "tex-chtml.js" or inside.startswith("output/chtml/fonts/woff-v2/"):
            found[inside] = Path(str(package.locate_file(file)))
    if "tex-chtml.js" not in found or len(found) < 2:
        raise FileNotFoundError(f"{MATHJAX_DISTRIBUTION} holds no tex-chtml.js with its fonts")
    return found


def copy_mathjax(app: Sphinx) -> None:
    """Put MathJax, its fonts and its licence into the HTML build."""
    if app.builder.format != "html":
        return
    target = Path(app.outdir) / "_static" / "mathjax"
    for inside, source in mathjax_files().items():
        destination = target / inside
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, destination)
    (target / "LICENSE.txt").write_text(NOTICE + _apache_licence(), encoding="utf-8")


def _apache_licence() -> str:
    """Read the Apache License 2.0 from a distribution that carries its full text."""
    package = distribution(LICENCE_DISTRIBUTION)
    for file in package.files or []:
        if file.name == "LICENSE.APACHE":
            return file.read_text(encoding="utf-8")
    raise FileNotFoundError(f"{LICENCE_DISTRIBUTION} holds no LICENSE.APACHE")


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
