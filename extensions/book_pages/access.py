"""Mend the built pages for readers who listen to them.

The templates in ``templates/`` replace some of the theme's: search buttons and the theme switcher
announce themselves once, the book's name is a landmark, and FontAwesome's script is left out
because the theme's own style sheet already holds the icons as a font. What no template reaches is
mended here: the folds of code cells and the entries of the bibliography.
"""

from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx


def register(app: Sphinx) -> None:
    """Replace the markup of folded cells and of the bibliography's entries."""
    app.add_node(HideCodeCellNode, override=True, html=(visit_folded_cell, depart_folded_cell))
    app.add_node(nodes.citation, override=True, html=(visit_citation, depart_citation))


def visit_folded_cell(translator: Any, node: HideCodeCellNode) -> None:
    """Open a folded cell whose summary is read as it is written.

    Args:
        translator: Sphinx's HTML writer.
        node: The folded part of a code cell.
    """
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
    """Open one entry of the bibliography as a list item; docutils' own role is deprecated.

    Args:
        translator: Sphinx's HTML writer.
        node: The entry.
    """
    if not isinstance(node.previous_sibling(), nodes.citation):
        translator.body.append('<div role="list" class="citation-list">\n')
    translator.body.append(translator.starttag(node, "div", CLASS="citation", role="listitem"))


def depart_citation(translator: Any, node: nodes.citation) -> None:
    """Close the entry, and the list after its last one."""
    translator.body.append("</div>\n")
    if not isinstance(node.next_node(descend=False, siblings=True), nodes.citation):
        translator.body.append("</div>\n")
