# SPDX-License-Identifier: MIT
"""The book's own Sphinx extension: what Jupyter Book needs to become this book.

- :mod:`.theme` numbers figures, equations and exercises after the chapter's file name, cites in
  round brackets, mends what screen readers stumble over, draws figures in the theme's colours, and
  lets the book print as one page.
- :mod:`.directives` are what a chapter's text may hold beside Markdown: applets, quizzes, the map
  of the chapters, benchmarks, the index of exercises and the teachers' tables.
- :mod:`.provenance` says where numbers come from: a link from each to its cell, the times of a
  chapter, what its run cost, and from which seeds, data and packages its outputs were made.
- :mod:`.links` adds buttons, links to the glossary, previews of what a link leads to, a
  description of each page, and a page for addresses that do not exist.
- :mod:`.notebooks` writes each chapter as a notebook that reads well in any Jupyter.
- :mod:`.weight` serves MathJax, the applets and every script from the book itself, from a disk too,
  keeps the pages light, and puts the licences of all that they ship beside them.

The look of the pages is in ``chapters/assets/book.css``, that of what stands around the text in
``comforts.css``.
"""

from typing import Any

from sphinx.application import Sphinx

from .directives import applets, benchmarks, chapter_map, exercises, quizzes, teaching
from .links import glossary_links, not_found, page_buttons, previews, sharing
from .notebooks import reader
from .provenance import chapter_times, receipts, run_inputs
from .theme import access, citations, figures, numbering, one_page
from .weight import from_disk, icons, images, licences, local_files, page_assets, typefaces

PARTS = (
    *(numbering, citations, access, figures, one_page),
    *(applets, quizzes, chapter_map, benchmarks, exercises, teaching),
    *(receipts, run_inputs, chapter_times),
    *(page_buttons, glossary_links, previews, not_found, sharing),
    *(reader,),
    *(local_files, typefaces, from_disk, images, page_assets, icons, licences),
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register every part with Sphinx; return what Sphinx wants to know about the extension."""
    for part in PARTS:
        part.register(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
