"""The directive ``{applet}``: an interactive element with a static fallback.

    :::{applet} mask-fill
    ![What the model fills in](assets/mask-fill.png)

    Without JavaScript you see one example; with it you type your own sentence.
    :::

becomes ``<pt-mask-fill>…</pt-mask-fill>`` around the rendered body. The page loads the module
``chapters/assets/mask-fill.mjs`` when that file exists; without it the fallback is the content.
"""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ASSETS = "chapters/assets"
PREFIX = "pt-"


class applet(nodes.General, nodes.Element):
    """Node of one interactive element; its children are the fallback."""


class AppletDirective(SphinxDirective):
    """``{applet} NAME``: the body is shown until, or unless, the element takes over."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Parse the fallback into an applet node.

        Returns:
            One applet node.

        Raises:
            docutils.utils.SystemMessage: The name is malformed or the fallback is missing.
        """
        name = self.arguments[0]
        if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
            raise self.error(f"applet needs a name such as mask-fill, got {name!r}")
        if not self.content:
            raise self.error(f"applet {name} needs a fallback: a figure and a sentence")
        node = applet("\n".join(self.content), name=name)
        self.set_source_info(node)
        self.state.nested_parse(self.content, self.content_offset, node)
        return [node]


def register(app: Sphinx) -> None:
    """Add the directive, its node and the script of each page that uses it."""
    app.add_node(
        applet,
        html=(visit_applet_html, depart_applet_html),
        latex=(_pass, _pass),
        text=(_pass, _pass),
    )
    app.add_directive("applet", AppletDirective)
    app.connect("html-page-context", add_module_scripts)


def visit_applet_html(translator: Any, node: applet) -> None:
    """Open the custom element."""
    translator.body.append(f'<{PREFIX}{node["name"]} class="applet">\n')


def depart_applet_html(translator: Any, node: applet) -> None:
    """Close the custom element."""
    translator.body.append(f"</{PREFIX}{node['name']}>\n")


def _pass(translator: object, node: nodes.Node) -> None:
    """Render the fallback alone in other formats."""


def add_module_scripts(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Load the modules of a page's applets, for those whose module has been written."""
    if not isinstance(doctree, nodes.document):
        return
    for name in sorted({node["name"] for node in doctree.findall(applet)}):
        if (Path(app.srcdir) / ASSETS / f"{name}.mjs").is_file():
            app.add_js_file(f"{name}.mjs", type="module")
