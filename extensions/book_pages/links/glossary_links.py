# SPDX-License-Identifier: MIT
"""Link the first mention of a glossary's term on a page to its entry, where a preview explains it.

Only terms that cannot be meant otherwise are linked: of several words, with a hyphen or a capital,
or of ten letters and more: ``teacher forcing``, ``LoRA`` and ``perplexity`` are, ``mask`` is not.
A page that prints a term in bold explains it itself and gets no link for it. Headings, captions,
tables, boxes and quizzes stay as they are.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx

FEWEST_LETTERS = 10
PLAIN_PAGES = ("glossary", "bibliography", "notation", "solutions", "teachers")
"""Pages without such links: they explain terms themselves, or list what is elsewhere."""
_UNMISTAKABLE = re.compile(rf"[A-Z]|\w[\s–-]\w|^\w{{{FEWEST_LETTERS},}}$")


class Term(NamedTuple):
    """An entry of the glossary."""

    page: str
    anchor: str


def register(app: Sphinx) -> None:
    """Complete every page once its own links are resolved."""
    app.connect("doctree-resolved", link_terms)


def link_terms(app: Sphinx, document: nodes.document, page: str) -> None:
    """Link the terms of one page, in place."""
    if app.builder.name != "html" or page.rsplit("/", 1)[-1] in PLAIN_PAGES:
        return
    standard = app.env.get_domain("std")
    entries = {
        name: Term(*where)
        for (kind, name), where in standard.data["objects"].items()
        if kind == "term" and is_unmistakable(name)
    }
    own = {strong.astext().lower().rstrip("s") for strong in document.findall(nodes.strong)}
    wanted = {name: term for name, term in entries.items() if name.lower().rstrip("s") not in own}
    for paragraph in list(running_paragraphs(document)):
        for text in [one for one in paragraph.children if isinstance(one, nodes.Text)]:
            link_text(app, page, text, wanted)


def is_unmistakable(name: str) -> bool:
    """Return whether a term can mean nothing else in running text."""
    return _UNMISTAKABLE.search(name) is not None


def running_paragraphs(document: nodes.document) -> Iterator[nodes.paragraph]:
    """Yield the paragraphs that stand in sections, and in their lists."""
    for paragraph in document.findall(nodes.paragraph):
        above = paragraph.parent
        while isinstance(above, nodes.list_item | nodes.bullet_list | nodes.enumerated_list):
            above = above.parent
        if isinstance(above, nodes.section):
            yield paragraph


def link_text(app: Sphinx, page: str, text: nodes.Text, wanted: dict[str, Term]) -> None:
    """Replace the terms in a piece of text inside a paragraph, each once for the whole page.

    The terms that are found are removed from `wanted`, those that the page has not linked yet.
    """
    plain = text.astext()
    parts: list[nodes.Node] = []
    while wanted and (match := _pattern(wanted).search(plain)):
        name = _entry(match[1], wanted)
        term = wanted.pop(name)
        address = f"{app.builder.get_relative_uri(page, term.page)}#{term.anchor}"
        classes = ["glossary-link"]
        link = nodes.reference("", match[1], internal=True, refuri=address, classes=classes)
        parts += [nodes.Text(plain[: match.start()]), link]
        plain = plain[match.end() :]
    if parts:
        text.parent.replace(text, [*parts, nodes.Text(plain)])


def _pattern(wanted: dict[str, Term]) -> re.Pattern[str]:
    """Match any of the terms as whole words, longest first; their first letter may be a capital."""
    names = sorted(wanted, key=len, reverse=True)
    forms = [f"{re.escape(form)}s?" for name in names for form in (name, _with_capital(name))]
    return re.compile(rf"(?<![\w–-])({'|'.join(forms)})(?![\w–-])")


def _with_capital(name: str) -> str:
    """Return a term as it stands at the beginning of a sentence."""
    return name[0].upper() + name[1:]


def _entry(found: str, wanted: dict[str, Term]) -> str:
    """Return the term of which a text is a form: its plural, or with a capital first letter."""
    small = found[0].lower() + found[1:]
    forms = (found, small, found.removesuffix("s"), small.removesuffix("s"))
    return next(form for form in forms if form in wanted)
