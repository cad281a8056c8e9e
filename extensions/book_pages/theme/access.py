# SPDX-License-Identifier: MIT
"""Adapt the built pages for readers who use a screen reader.

The templates beside this module replace some of the theme's: search buttons and the theme switcher
announce themselves once, the book's name is a landmark, and FontAwesome's script is left out
because the theme's own style sheet already holds the icons as a font. What no template reaches is
changed here: the folds of code cells, the entries of the bibliography, and header cells of tables
that name nothing. The script ``scrolling.js`` lets the Tab key reach what scrolls sideways.
"""

import re
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

_EMPTY_HEADER = re.compile(r"<th\b[^>]*>\s*</th>")


def register(app: Sphinx) -> None:
    """Replace the markup of folded cells, of the bibliography's entries and of empty headers."""
    app.add_node(HideCodeCellNode, override=True, html=(visit_folded_cell, depart_folded_cell))
    app.add_node(nodes.citation, override=True, html=(visit_citation, depart_citation))
    app.add_node(nodes.entry, override=True, html=(visit_table_cell, depart_table_cell))
    app.connect("doctree-resolved", empty_headers_of_outputs)
    app.add_js_file("scrolling.js", loading_method="defer")
    for script in ("show-code.js", "colour-mode.js", "paging.js", "progress.js", "far-away.js"):
        app.add_js_file(script, loading_method="defer")


def visit_folded_cell(translator: Any, node: HideCodeCellNode) -> None:
    """Open a folded cell whose summary is read as it is written."""
    classes = " ".join(node["classes"])
    translator.body.append(f'<details class="admonition hide {classes}">\n<summary>')
    for state, prompt in (("collapsed", "prompt_show"), ("expanded", "prompt_hide")):
        text = translator.encode(node[prompt])
        translator.body.append(f'<p class="{state} admonition-title">{text}</p>')
    translator.body.append("</summary>\n")


def depart_folded_cell(translator: Any, node: HideCodeCellNode) -> None:
    """Close the folded cell."""
    translator.body.append("</details>\n")


def visit_citation(translator: Any, node: nodes.citation) -> None:
    """Open one entry of the bibliography as a list item; docutils' own role is deprecated."""
    if not isinstance(node.previous_sibling(), nodes.citation):
        translator.body.append('<div role="list" class="citation-list">\n')
    translator.body.append(translator.starttag(node, "div", CLASS="citation", role="listitem"))


def depart_citation(translator: Any, node: nodes.citation) -> None:
    """Close the entry, and the list after its last one."""
    translator.body.append("</div>\n")
    if not isinstance(node.next_node(descend=False, siblings=True), nodes.citation):
        translator.body.append("</div>\n")


def visit_table_cell(translator: Any, node: nodes.entry) -> None:
    """Open a cell of a table; one without words heads nothing, whatever its row."""
    if node.astext().strip() or any(node.findall(nodes.image)):
        HTML5Translator.visit_entry(translator, node)
        return
    node.parent.column += 1 + node.get("morecols", 0)
    spans = {"morerows": "rowspan", "morecols": "colspan"}
    extent = {name: node[key] + 1 for key, name in spans.items() if key in node}
    translator.body.append(translator.starttag(node, "td", "", **extent))
    translator.context.append("</td>\n")


def depart_table_cell(translator: Any, node: nodes.entry) -> None:
    """Close the cell."""
    HTML5Translator.depart_entry(translator, node)


def empty_headers_of_outputs(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Make empty header cells plain cells in the tables that a chapter's code wrote as HTML."""
    for raw in doctree.findall(nodes.raw):
        if "html" in raw.get("format", "").split() and _EMPTY_HEADER.search(raw.astext()):
            raw[:] = [nodes.Text(_EMPTY_HEADER.sub("<td></td>", raw.astext()))]
