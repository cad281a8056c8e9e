# SPDX-License-Identifier: MIT
"""Draw formulas while the book is built: pages hold MathML, and need no script for it."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

from book_pages.theme.mathml import formula

RENDERER = "mathml"  # as _config.yml names it


def register(app: Sphinx) -> None:
    """Offer the renderer, which the configuration chooses."""
    app.add_html_math_renderer(RENDERER, (visit_inline, None), (visit_display, None))


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in a line of text."""
    tag = translator.starttag(node, "span", "", CLASS="math")
    translator.body.append(f"{tag}{formula(node.astext(), is_display=False)}</span>")
    raise nodes.SkipNode


def visit_display(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on lines of its own, with its number where it has one."""
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    drawn = formula(node.astext(), is_display=True)
    translator.body.append(f'<div class="formula">{drawn}</div>')
    if node["number"]:
        number = get_node_equation_number(translator, node)
        translator.body.append(f'<span class="eqno">({number})')
        translator.add_permalink_ref(node, _("Link to this equation"))
        translator.body.append("</span>")
    translator.body.append("</div>\n")
    raise nodes.SkipNode
