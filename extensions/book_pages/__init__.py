"""The book's own Sphinx extension: what Jupyter Book needs to become this book.

It numbers figures, equations and exercises after the chapter's file name (:mod:`.numbering`),
serves MathJax and every script from the book itself (:mod:`.local_files`), offers the
``{applet}`` directive (:mod:`.applets`), the map of the chapters (:mod:`.chapter_map`), quizzes
(:mod:`.quizzes`), the measured run times (:mod:`.receipts`), benchmarks (:mod:`.benchmarks`), the
index of exercises (:mod:`.exercises`) and the teachers' tables (:mod:`.teaching`), cites in round
brackets (:mod:`.citations`), mends what screen readers stumble over (:mod:`.access`) and prints as
one page (:mod:`.one_page`). The look of the pages is in ``chapters/assets/book.css``.
"""

from typing import Any

from sphinx.application import Sphinx

from . import (
    access,
    applets,
    benchmarks,
    chapter_map,
    citations,
    exercises,
    local_files,
    numbering,
    one_page,
    quizzes,
    receipts,
    teaching,
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register every part with Sphinx.

    Args:
        app: The Sphinx application that loads this extension.

    Returns:
        What Sphinx wants to know about the extension.
    """
    own = (applets, chapter_map, quizzes, receipts, benchmarks, exercises, teaching)
    for part in (numbering, local_files, *own, citations, access, one_page):
        part.register(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
