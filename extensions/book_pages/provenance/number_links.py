# SPDX-License-Identifier: MIT
"""Link a number in the prose to the cell that computed it.

A chapter's numbers reach its prose through ``pretrain_book.report``, which prints a line in the
cell and glues the same characters under a key. The notebook's stored outputs say which cell glued
which key. The cell gets an address (``#cell-12`` for the one counted [12]) and the number leads
there. Numbers from another page, in headings and inside links stay plain, as do those of cells that
no page shows.
"""

import json
from pathlib import Path

from docutils import nodes
from myst_nb.ext.glue.roles import PasteTextRole
from sphinx.application import Sphinx

KEY = "reported_key"
_NOT_IN = (nodes.reference, nodes.title, nodes.caption, nodes.rubric)


def register(app: Sphinx) -> None:
    """Note each number's key when it is read, link it when its page is complete."""
    app.add_role_to_domain("glue", "text", KeyedTextRole(), override=True)
    app.connect("doctree-resolved", link_numbers)


class KeyedTextRole(PasteTextRole):
    """``{glue:text}`key` `` as myst-nb has it; the node remembers its key."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Paste the text."""
        found, messages = super().run()
        for node in found:
            if isinstance(node, nodes.inline):
                node[KEY] = self.text
        return found, messages


def reporting_cells(notebook: Path) -> dict[str, int]:
    """Map each glued key to the execution count of its cell; empty for a page without notebook."""
    if notebook.suffix != ".ipynb":
        return {}
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return {
        output["metadata"]["scrapbook"]["name"]: cell["execution_count"]
        for cell in cells
        for output in cell.get("outputs", [])
        if "scrapbook" in output.get("metadata", {})
    }


def link_numbers(app: Sphinx, document: nodes.document, page: str) -> None:
    """Link the numbers of one page, in place."""
    numbers = [node for node in document.findall(nodes.inline) if KEY in node]
    if app.builder.format != "html" or not numbers:
        return
    counts = reporting_cells(Path(app.env.doc2path(page)))
    shown = {
        node["exec_count"]: node
        for node in document.findall(nodes.container)
        if node.get("nb_element") == "cell_code"
    }
    for number in numbers:
        cell = shown.get(counts.get(number[KEY]))
        if cell is not None and not _is_inside(number, _NOT_IN):
            link_to(number, cell)


def link_to(number: nodes.inline, cell: nodes.container) -> None:
    """Make a number a link to the cell that computed it, which gets an address on first use."""
    address = f"cell-{cell['exec_count']}"
    if address not in cell["ids"]:
        cell["ids"].append(address)
    link = nodes.reference("", "", *number.children, internal=True, refid=address)
    link["classes"].append("from-cell")
    number.children.clear()
    number += link


def _is_inside(node: nodes.Node, kinds: tuple[type[nodes.Node], ...]) -> bool:
    """Return whether a node stands in one of some kinds."""
    while node.parent is not None:
        node = node.parent
        if isinstance(node, kinds):
            return True
    return False
