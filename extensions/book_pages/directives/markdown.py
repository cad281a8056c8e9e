# SPDX-License-Identifier: MIT
"""Markdown that a directive has made, read by the page's own parser."""

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective


def parse_markdown(
    directive: SphinxDirective, lines: list[str], source: str, css: str = ""
) -> list[nodes.Node]:
    """Parse lines of Markdown where a directive stands.

    `source` is what they were made from, for messages; `css` is a class for each of the nodes.
    """
    container = nodes.container()
    directive.state.nested_parse(StringList(lines, source=source), 0, container)
    for child in container.children:
        if css and isinstance(child, nodes.Element):
            child["classes"].append(css)
    return list(container.children)
