# SPDX-License-Identifier: MIT
"""The book's own Sphinx extension: what Jupyter Book needs to become this book.

It numbers figures, equations and exercises after the chapter's file name (:mod:`.theme.numbering`),
serves MathJax and every script from the book itself (:mod:`.weight.local_files`), offers the
``{applet}`` directive (:mod:`.directives.applets`), the map of the chapters
(:mod:`.directives.chapter_map`), quizzes (:mod:`.directives.quizzes`), the measured run times
(:mod:`.provenance.receipts`), what the outputs were made from (:mod:`.provenance.run_inputs`),
benchmarks (:mod:`.directives.benchmarks`), the index of exercises (:mod:`.directives.exercises`)
and the teachers' tables (:mod:`.directives.teaching`), cites in round brackets
(:mod:`.theme.citations`), mends what screen readers stumble over (:mod:`.theme.access`), searches
when opened from a disk (:mod:`.weight.from_disk`) and prints as one page (:mod:`.theme.one_page`).
Around the text it adds links from numbers to their cells (:mod:`.provenance.number_links`), the
times of a chapter (:mod:`.provenance.chapter_times`), buttons (:mod:`.links.page_buttons`), links
to the glossary (:mod:`.links.glossary_links`), previews of what a link leads to
(:mod:`.links.previews`), a page for addresses that do not exist (:mod:`.links.not_found`) and a
description of each page (:mod:`.links.sharing`); it keeps the pages light (:mod:`.images`,
:mod:`.page_assets`, :mod:`.icons`) and puts the licences of all that they ship beside them
(:mod:`.weight.licences`). The look of the pages is in ``chapters/assets/book.css``, that of what
stands around the text in ``comforts.css``.
"""

from typing import Any

from sphinx.application import Sphinx

from .directives import applets, benchmarks, chapter_map, exercises, quizzes, teaching
from .links import glossary_links, not_found, page_buttons, previews, sharing
from .provenance import chapter_times, number_links, receipts, run_inputs
from .theme import access, citations, numbering, one_page
from .weight import from_disk, icons, images, licences, local_files, page_assets


def setup(app: Sphinx) -> dict[str, Any]:
    """Register every part with Sphinx.

    Args:
        app: The Sphinx application that loads this extension.

    Returns:
        What Sphinx wants to know about the extension.
    """
    own = (applets, chapter_map, quizzes, benchmarks, exercises, teaching)
    runs = (receipts, run_inputs)
    around = (
        number_links,
        chapter_times,
        page_buttons,
        glossary_links,
        previews,
        not_found,
        sharing,
    )
    light = (images, page_assets, icons, licences)
    parts = (
        numbering,
        local_files,
        from_disk,
        *own,
        *runs,
        citations,
        access,
        one_page,
        *around,
        *light,
    )
    for part in parts:
        part.register(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
