# SPDX-License-Identifier: MIT
"""The book's own Sphinx extension: what Jupyter Book needs to become this book.

It numbers figures, equations and exercises after the chapter's file name (:mod:`.numbering`),
serves MathJax and every script from the book itself (:mod:`.local_files`), offers the
``{applet}`` directive (:mod:`.applets`), the map of the chapters (:mod:`.chapter_map`), quizzes
(:mod:`.quizzes`), the measured run times (:mod:`.receipts`), what the outputs were made from
(:mod:`.run_inputs`), benchmarks (:mod:`.benchmarks`), the index of exercises (:mod:`.exercises`)
and the teachers' tables (:mod:`.teaching`), cites in round brackets (:mod:`.citations`), mends what
screen readers stumble over (:mod:`.access`), searches when opened from a disk (:mod:`.from_disk`)
and prints as one page (:mod:`.one_page`). Around the text it adds links from numbers to their cells
(:mod:`.number_links`), the times of a chapter (:mod:`.chapter_times`), buttons
(:mod:`.page_buttons`), links to the glossary (:mod:`.glossary_links`), previews of what a link
leads to (:mod:`.previews`), a page for addresses that do not exist (:mod:`.not_found`) and a
description of each page (:mod:`.sharing`); it
keeps the pages light (:mod:`.images`, :mod:`.page_assets`, :mod:`.icons`) and puts the licences of
all that they ship beside them (:mod:`.licences`). The look of the pages is in
``chapters/assets/book.css``, that of what stands around the text in ``comforts.css``.
"""

from typing import Any

from sphinx.application import Sphinx

from . import (
    access,
    applets,
    benchmarks,
    chapter_map,
    chapter_times,
    citations,
    exercises,
    from_disk,
    glossary_links,
    icons,
    images,
    licences,
    local_files,
    not_found,
    number_links,
    numbering,
    one_page,
    page_assets,
    page_buttons,
    previews,
    quizzes,
    receipts,
    run_inputs,
    sharing,
    teaching,
)


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
