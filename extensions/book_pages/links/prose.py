# SPDX-License-Identifier: MIT
"""The prose of a page, without code, formulas, outputs and folded answers."""

import re
from collections.abc import Iterator

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode

from book_pages.directives.applets import applet
from book_pages.directives.quizzes import quiz_option

CODE_CELL, SOURCE = "cell_code", "cell_code_source"
NOT_READ = (
    nodes.literal_block,
    nodes.math,
    nodes.math_block,
    nodes.raw,
    nodes.comment,
    nodes.system_message,
    nodes.image,
    applet,
)
FOLDED = frozenset({"solution", "dropdown"})
_WORD = re.compile(r"[^\W_]+(?:['’.,\-][^\W_]+)*")
_SENTENCE_END = re.compile(r"[.?!](?=\s|$)")


def n_words(node: nodes.Node) -> int:
    """Count the words of prose below a node; headings, tables and captions are prose."""
    return sum(len(_WORD.findall(text)) for text in _read_texts(node))


def n_code_lines(node: nodes.Node) -> int:
    """Count the lines of the open code cells below a node, empty ones and folded cells not."""
    sources = (cell for cell in node.findall(nodes.container) if cell.get("nb_element") == SOURCE)
    cells = (cell for cell in sources if not isinstance(cell.parent, HideCodeCellNode))
    texts = (block.astext() for cell in cells for block in cell.findall(nodes.literal_block))
    return sum(bool(line.strip()) for text in texts for line in text.splitlines())


def description(document: nodes.document, longest: int = 200) -> str:
    """Return a page's first sentences on one line, as a search engine or a shared link shows them.

    A beginning of more than `longest` characters is cut after a sentence, or else a word. Empty for
    a page without a paragraph.
    """
    paragraphs = (one for one in document.findall(nodes.paragraph) if _is_top_level(one))
    text = " ".join(next(paragraphs, nodes.paragraph()).astext().split())
    if len(text) <= longest:
        return text
    ends = [match.end() for match in _SENTENCE_END.finditer(text[: longest + 1])]
    if ends:
        return text[: ends[-1]]
    return text[: text.rfind(" ", 0, longest)].rstrip(" ,;:–") + " …"


def _read_texts(node: nodes.Node) -> Iterator[str]:
    """Yield the texts that are read."""
    if isinstance(node, nodes.Text):
        yield node.astext()
    elif not isinstance(node, NOT_READ) and not _is_folded(node):
        for child in node.children[:1] if isinstance(node, quiz_option) else node.children:
            yield from _read_texts(child)


def _is_folded(node: nodes.Node) -> bool:
    """Return whether a node is a cell's code or output, or a folded solution."""
    if not isinstance(node, nodes.Element):
        return False
    if str(node.get("nb_element", "")).startswith(CODE_CELL):
        return True
    return bool(FOLDED & set(node.get("classes", []))) or type(node).__name__.startswith("solution")


def _is_top_level(paragraph: nodes.paragraph) -> bool:
    """Return whether a paragraph is in a section or the page, not in a list or a box."""
    return isinstance(paragraph.parent, nodes.section | nodes.document)
