# SPDX-License-Identifier: MIT
"""Write below a chapter's title links to its pages, its times, and a switch for folded code.

The reading times are estimates: the words of prose at 200 a minute, the lines of code at ten. The
run time is the chapter's last run, measured. Both are made by the build.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from book_pages.links.prose import n_code_lines, n_words
from book_pages.provenance.receipts import duration, load_receipts
from book_pages.theme.numbering import SUB_PAGES

WORDS_PER_MINUTE, LINES_PER_MINUTE = 200, 10
PAGES = {"Behind the chapter": "_behind", "Exercises": "_exercises"}
"""What the links to a chapter's sub-pages say."""
TITLE_END = "</h1>"
FOLDED = '<details class="admonition hide'
SWITCH = ' <button class="show-code" type="button">Show folded code</button>'
"""Opens all folded code, by `show-code.js`; it is in the page from the start, so nothing jumps."""


def register(app: Sphinx) -> None:
    """Complete the chapters."""
    app.connect("html-page-context", add_times)


def add_times(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Write the line below the title of a page that has a receipt, which are those with code."""
    receipt = load_receipts(Path(app.srcdir)).get(pagename.rsplit("/", 1)[-1])
    if receipt is None or not isinstance(doctree, nodes.document):
        return
    words = n_words(app.env.get_doctree(pagename))  # as the map of chapters counts them
    line = times_line(words, n_code_lines(doctree), receipt["wall"])
    before, end, after = context["body"].partition(TITLE_END)
    switch = SWITCH if FOLDED in after else ""
    around = chapter_pages(pagename, set(app.env.found_docs), context["pathto"])
    context["body"] = (
        f'{before}{end}\n{around}<p class="chapter-times">{line}{switch}</p>{after}'
        if end
        else before
    )


def chapter_pages(pagename: str, pages: set[str], pathto: Callable[[str], str]) -> str:
    """Write links to the lesson, to what stands behind it and to its exercises; none without.

    Args:
        pagename: The page that shows them, such as ``chapters/05_bert_behind``.
        pages: All pages of the book.
        pathto: Gives a page's address as seen from the one that shows it.
    """
    lesson = re.sub(rf"({'|'.join(SUB_PAGES)})$", "", pagename)
    names = {"Lesson": lesson} | {words: f"{lesson}{end}" for words, end in PAGES.items()}
    found = {words: page for words, page in names.items() if page in pages}
    if len(found) < 2:
        return ""
    links = [
        f'<span aria-current="page">{words}</span>'
        if page == pagename
        else f'<a href="{pathto(page)}">{words}</a>'
        for words, page in found.items()
    ]
    return f'<nav class="chapter-pages" aria-label="This chapter">{"".join(links)}</nav>\n'


def times_line(words: int, code_lines: int, seconds: float) -> str:
    """Write the line as HTML without a block around it.

    `code_lines` are not counted in `words`; `seconds` is the wall time of the last run.
    """
    with_code = round(words / WORDS_PER_MINUTE + code_lines / LINES_PER_MINUTE)
    code = f", {with_code} with the code" if code_lines else ""
    return (
        f"<span>{reading_minutes(words)} min to read{code}</span> "
        f"<span>{duration(seconds)} to run</span>"
    )


def reading_minutes(words: int) -> int:
    """Estimate how long prose of so many words takes to read, at least a minute."""
    return max(1, round(words / WORDS_PER_MINUTE))
