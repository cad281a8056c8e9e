# SPDX-License-Identifier: MIT
"""The directive ``{applet}``: an interactive element with a static fallback.

    :::{applet} mask-fill
    :shows: fig-brt-top8
    :files: bert_chars.safetensors

    Without a script you see three lines; with one you type your own.
    :::

becomes ``<pt-mask-fill id="applet-mask-fill">…</pt-mask-fill>`` around its static form: the figure
or table that the option ``shows`` names (or ``previous-output``, what the cell right before it
wrote), moved here from its cell, and the text. Where that cell stands right before the applet and
is folded, it comes after it: the applet first, then how it is done. The module
``chapters/applets/mask-fill.mjs`` puts the live part in its place, for which the page keeps the
room that the module's line ``static room = [wide, narrow];`` asks for. The id ends with the values
of ``data``, and is a label: ``{ref}`hide words <applet-mask-fill>``` leads to the open applet.
``files`` names what the applet fetches when a reader comes near, so that the page can say how much
that is, and ``more`` what a control inside it may fetch later (``data-more``, JSON: file without
its ending → weight). ``data``, such as ``model=gpt``, sets attributes of the element
(``data-model="gpt"``) for a module that serves more than one place.
"""

import json
import re
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from book_pages.weight import applet_files

PREFIX = "pt-"
PREVIOUS = "previous-output"
FOLDED = "tag_hide-input"
TAKEN = ("size", "more")  # names of data that the directive sets by itself
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_ROOM = re.compile(r"^  static room = \[(\d+), (\d+)\];$", re.MULTILINE)


class applet(nodes.General, nodes.Element):
    """Node of one interactive element; its children are the fallback."""


class AppletDirective(SphinxDirective):
    """``{applet} NAME``: the body is shown until, or unless, the element takes over."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {
        "shows": directives.unchanged_required,
        "files": directives.unchanged_required,
        "more": directives.unchanged_required,
        "data": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        """Parse the fallback into one applet node.

        Raises:
            docutils.utils.SystemMessage: The name or the data is malformed, there is no such module
                or file, or the fallback is missing.
        """
        name = self.arguments[0]
        if not _NAME.fullmatch(name):
            raise self.error(f"applet needs a name such as mask-fill, got {name!r}")
        if not self.content:
            raise self.error(f"applet {name} needs a fallback: a figure and a sentence")
        root = Path(self.env.srcdir)
        if not (root / applet_files.MODULES / f"{name}.mjs").is_file():
            raise self.error(f"expected the module {applet_files.MODULES}/{name}.mjs")
        files, more = (self.options.get(option, "").split() for option in ("files", "more"))
        if missing := [file for file in files + more if not applet_files.exists(root, file)]:
            raise self.error(f"applet {name}: expected files that the book has, got {missing}")
        try:
            data = read_data(self.options.get("data", ""))
        except ValueError as error:
            raise self.error(f"applet {name}: {error}") from error
        node = applet("\n".join(self.content), name=name, files=files, more=more, data=data)
        node["shows"] = self.options.get("shows", "")
        node["names"] = ["-".join(["applet", name, *data.values()])]
        self.state.document.note_explicit_target(node, node)
        self.set_source_info(node)
        self.state.nested_parse(self.content, self.content_offset, node)
        return [node]


def read_data(text: str) -> dict[str, str]:
    """Read the option ``data``: pairs such as ``model=gpt``, with spaces between them.

    Raises:
        ValueError: A pair is malformed, or its name is taken.
    """
    pairs = [pair.partition("=") for pair in text.split()]
    for name, equals, value in pairs:
        if not _NAME.fullmatch(name) or not equals or not value or name in TAKEN:
            raise ValueError(f"expected data such as model=gpt, got {name + equals + value!r}")
    if len({name for name, _, _ in pairs}) < len(pairs):
        raise ValueError(f"expected every name once in data, got {text!r}")
    return {name: value for name, _, value in pairs}


def read_room(source: str) -> tuple[int, int] | None:
    """Read from a module how high its applet's first view is, in px: wide window, narrow window."""
    found = _ROOM.search(source)
    return (int(found[1]), int(found[2])) if found else None


class MoveShown(SphinxPostTransform):
    """Move what an applet shows from its cell into the applet."""

    default_priority = 880  # after myst-nb has turned a cell's outputs into figures

    def run(self, **_: Any) -> None:
        """Move the labelled figure, table or cell output of every applet that names one."""
        for node in list(self.document.findall(applet)):
            if label := node["shows"]:
                shown = _output_before(node) if label == PREVIOUS else self._labelled(label)
                if shown is None:
                    raise ExtensionError(
                        f"{self.env.docname}: applet {node['name']} shows {label!r}, "
                        "which is not on its page"
                    )
                shown.parent.remove(shown)
                node.insert(0, shown)
                cell = _cell_before(node)
                if label == PREVIOUS and cell is not None and FOLDED in cell["classes"]:
                    cell.parent.remove(cell)
                    node.parent.insert(node.parent.index(node) + 1, cell)

    def _labelled(self, label: str) -> nodes.Element | None:
        """Find the figure or table of a label."""
        for kind in (nodes.figure, nodes.table, nodes.container):
            for found in self.document.findall(kind):
                if label in found["names"] or nodes.make_id(label) in found["ids"]:
                    return found
        return None


def _output_before(node: applet) -> nodes.Element | None:
    """Find the output of the code cell that stands right before an applet."""
    cell = _cell_before(node)
    if cell is None:
        return None
    outputs = [one for one in cell.findall(nodes.container) if "cell_output" in one["classes"]]
    return outputs[0] if outputs else None


def _cell_before(node: applet) -> nodes.Element | None:
    """Find the code cell that stands right before an applet."""
    cell = node.previous_sibling()
    while cell is not None and not isinstance(cell, nodes.Element):
        cell = cell.previous_sibling()
    return cell if cell is not None and "cell" in cell.get("classes", []) else None


def register(app: Sphinx) -> None:
    """Add the directive, its node, the files of the applets and the script that starts them."""
    app.add_node(
        applet,
        html=(visit_applet_html, depart_applet_html),
        latex=(_pass, _pass),
        text=(_pass, _pass),
    )
    app.add_directive("applet", AppletDirective)
    app.add_post_transform(MoveShown)
    app.connect("builder-inited", applet_files.write)
    app.connect("html-page-context", add_start_script)


def visit_applet_html(translator: Any, node: applet) -> None:
    """Open the custom element, and say how much its files weigh."""
    root = Path(translator.builder.srcdir)
    size = applet_files.kilobytes(root, node["files"])
    more = {
        Path(file).stem: f"{applet_files.kilobytes(root, [file]) / 1000:.1f} MB"
        for file in node["more"]
    }
    told = f' data-size="loads {size} kB"' if size else ""
    told += f' data-more="{escape(json.dumps(more))}"' if more else ""
    told += "".join(f' data-{name}="{escape(value)}"' for name, value in node["data"].items())
    module = root / applet_files.MODULES / f"{node['name']}.mjs"
    if room := read_room(module.read_text(encoding="utf-8")):
        told += f' style="--room-wide: {room[0]}px; --room-narrow: {room[1]}px"'
    translator.body.append(f'<{PREFIX}{node["name"]} class="applet" id="{node["ids"][0]}"{told}>\n')


def depart_applet_html(translator: Any, node: applet) -> None:
    """Close the custom element."""
    translator.body.append(f"</{PREFIX}{node['name']}>\n")


def _pass(translator: object, node: nodes.Node) -> None:
    """Render the fallback alone in other formats."""


def add_start_script(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Start the applets of a page that has some."""
    if not isinstance(doctree, nodes.document):
        return
    names = sorted({node["name"] for node in doctree.findall(applet)})
    if names:
        told: dict[str, Any] = {
            "data-applets": " ".join(names),
            "data-version": applet_files.version(Path(app.srcdir)),
        }
        app.add_js_file(f"{applet_files.TARGET}/start.js", defer="defer", **told)
