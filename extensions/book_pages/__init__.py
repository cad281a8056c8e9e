"""The book's own Sphinx extension: what Jupyter Book needs to become this book.

It numbers figures, equations and exercises after the chapter's file name (:mod:`.numbering`),
serves MathJax and every script from the book itself (:mod:`.local_files`), offers the directives
``{applet}`` (:mod:`.applets`) and ``{quiz}`` (:mod:`.quizzes`), the measured run times
(:mod:`.receipts`), benchmarks (:mod:`.benchmarks`) and the index of exercises
(:mod:`.exercises`), cites in round brackets (:mod:`.citations`) and mends what screen readers
stumble over (:mod:`.access`). The look of the pages is in ``chapters/assets/book.css``.
"""

from typing import Any

from sphinx.application import Sphinx

from . import (
    access,
    applets,
    benchmarks,
    citations,
    exercises,
    local_files,
    numbering,
    quizzes,
    receipts,
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register every part with Sphinx.

    Args:
        app: The Sphinx application that loads this extension.

    Returns:
        What Sphinx wants to know about the extension.
    """
    own = (applets, quizzes, receipts, benchmarks, exercises)
    for part in (numbering, local_files, *own, citations, access):
        part.register(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
