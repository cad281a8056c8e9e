# SPDX-License-Identifier: MIT
"""Take out of the theme's script what the book's own scripts do, at less cost.

The theme looks at every box that may scroll when a page opens, and again 0.3 s after each change of
its text, also at those in closed folds, which the browser must lay out for it: up to half a second
on a slow phone. The script ``scrolling.js`` looks at a box when its size changes.
"""

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

SCRIPT = "_static/scripts/pydata-sphinx-theme.js"
LOOK = '"complete"===document.readyState?I():window.addEventListener("load",I)'
END, NEW_END = f"{LOOK}}})();", "0})();"


def register(app: Sphinx) -> None:
    """Rewrite the script once everything is written."""
    app.connect("build-finished", leave_out)


def leave_out(app: Sphinx, exception: Exception | None) -> None:
    """Take the look at boxes out of the theme's script in an HTML build.

    Raises:
        ExtensionError: The script is not as this module knows it.
    """
    path = Path(app.outdir) / SCRIPT
    if exception is not None or app.builder.format != "html" or not path.is_file():
        return
    text = path.read_text(encoding="utf-8")
    if END in text:
        path.write_text(text.replace(END, NEW_END), encoding="utf-8")
    elif NEW_END not in text:  # left out in an earlier build, and not copied anew
        raise ExtensionError(f"{SCRIPT}: expected the look at boxes that scroll at its end")
