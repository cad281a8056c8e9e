# SPDX-License-Identifier: MIT
"""The book's own Sphinx extension: what Jupyter Book needs to become this book.

- :mod:`.theme` numbers figures, equations and exercises after the chapter's file name, cites in
  round brackets, draws formulas, and figures in the theme's colours, mends what screen readers
  stumble over, and lets the book print as one page.
- :mod:`.directives` are what a page's text may hold beside Markdown: applets, quizzes, fields for
  answers, the three questions and the map of the first page, benchmarks, the index of exercises and
  the teachers' tables.
- :mod:`.provenance` says where numbers come from: a link from each to its cell, the times of a
  chapter, what its run cost, and from which seeds, data and packages its outputs were made.
- :mod:`.links` adds buttons, links to the glossary, previews of what a link leads to, a search, a
  description of each page, and a page for addresses that do not exist.
- :mod:`.notebooks` writes each chapter as a notebook that reads well in any Jupyter.
- :mod:`.weight` serves fonts, the applets and every script from the book itself, from a disk too,
  keeps the pages light, and puts the licences of all that they ship beside them.

The look of the pages is in ``chapters/assets/book.css``, that of what stands around the text in
``comforts.css``.
"""

from typing import Any

from sphinx.application import Sphinx

from .directives import (
    answers,
    applets,
    benchmarks,
    chapter_map,
    course_plan,
    exercises,
    front_page,
    quizzes,
    teaching,
)
from .links import edition, glossary_links, not_found, page_buttons, previews, search_index, sharing
from .notebooks import reader
from .provenance import chapter_times, receipts, run_inputs
from .theme import access, citations, figures, formulas, numbering, one_page, tables
from .weight import (
    icons,
    images,
    licences,
    local_files,
    math_font,
    page_assets,
    styles,
    theme_script,
    typefaces,
)

PARTS = (
    *(numbering, citations, formulas, tables, access, figures, one_page),
    *(applets, quizzes, answers, chapter_map, front_page, benchmarks, exercises, teaching),
    *(course_plan,),
    *(receipts, run_inputs, chapter_times),
    *(page_buttons, glossary_links, previews, search_index, not_found, sharing, edition),
    *(reader,),
    *(local_files, typefaces, images, page_assets, icons, styles),
    *(theme_script, math_font, licences),
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register every part with Sphinx; return what Sphinx wants to know about the extension."""
    for part in PARTS:
        part.register(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
