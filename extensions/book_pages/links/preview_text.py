# SPDX-License-Identifier: MIT
"""Shorten what a link leads to, so that it fits a small card.

A card has no link, no button and no id: it is a description that a screen reader reads as a whole,
and the link that it belongs to leads to the original. The card of a place, to which a reader goes
rather than looks something up there, is marked: a finger's tap goes there at once.
"""

import re
from collections.abc import Callable
from copy import copy

from bs4 import BeautifulSoup, Tag

MOST_ROWS = 5
MOST_LINES = 12
MOST_LETTERS = 700
PLACE = "preview-place"
UNWANTED = "a.headerlink, button, script, style, .toggle-button, .label"
UNWRAPPED = "a, section"
Shorten = Callable[[Tag], list[Tag]]


def card_of(article: Tag, anchor: str) -> Tag | None:
    """Make the card of the target with an id: a shortened ``div``; None for no known kind."""
    target = article.find(id=anchor)
    if not isinstance(target, Tag):
        return None
    if target.name == "span" and not target.get_text(strip=True):
        target = _what_a_mark_names(target)
    for is_kind, shorten in KINDS:
        if target is not None and is_kind(target):
            card = _clean(shorten(target))
            first = card.find(True)
            if isinstance(first, Tag) and any(is_place(target) for is_place in PLACES):
                first["class"] = " ".join([*first.get_attribute_list("class"), PLACE])
            return card
    return None


def _what_a_mark_names(mark: Tag) -> Tag | None:
    """Return what an empty ``<span id=…>`` names: the section that it opens, or what follows it."""
    following = mark.find_next_sibling()
    if isinstance(following, Tag) and not re.fullmatch(r"h[1-6]|span", following.name):
        return following
    return mark.find_parent("section")


def _has_class(name: str) -> Callable[[Tag], bool]:
    """Return a test for a class."""
    return lambda tag: name in (tag.get("class") or [])


def _is_named(name: str) -> Callable[[Tag], bool]:
    """Return a test for an element's name."""
    return lambda tag: tag.name == name


def _whole(tag: Tag) -> list[Tag]:
    """Keep everything."""
    return [copy(tag)]


def _content(tag: Tag) -> list[Tag]:
    """Keep what is inside a work's entry."""
    return [copy(child) for child in tag.find_all(recursive=False)]


def _term(tag: Tag) -> list[Tag]:
    """Keep a term and its definition; several terms may share one text."""
    said = tag.find_next_sibling("dd")
    entry = BeautifulSoup("", "html.parser").new_tag("dl")
    entry.extend(copy(part) for part in (tag, said) if isinstance(part, Tag))
    return [entry]


def _box(tag: Tag) -> list[Tag]:
    """Keep the title of a box and as much of its content as a card holds, one part at least."""
    title = tag.find(class_="admonition-title", recursive=False)
    inner = tag.find("section", recursive=False)
    parts = (inner if isinstance(inner, Tag) else tag).find_all(recursive=False)
    kept, letters = [copy(title)] if isinstance(title, Tag) else [], 0
    for part in (part for part in parts if part is not title):
        letters += len(part.get_text())
        if letters > MOST_LETTERS and len(kept) > 1:
            return [*kept, _note("…")]
        kept.append(copy(part))
    return kept


def _table(tag: Tag) -> list[Tag]:
    """Keep a table's first rows, and say how many more there are."""
    short = copy(tag)
    body = short.find("tbody")
    rows = body.find_all("tr", recursive=False) if isinstance(body, Tag) else []
    for row in rows[MOST_ROWS:]:
        row.decompose()
    n_more = len(rows) - MOST_ROWS
    return [short, _note(f"and {n_more} more rows")] if n_more > 0 else [short]


def _listing(tag: Tag) -> list[Tag]:
    """Keep a listing's first lines as plain text."""
    short = copy(tag)
    for code in short.find_all("pre"):
        lines = code.get_text().rstrip().split("\n")
        shown = lines[:MOST_LINES] + ["…"] * (len(lines) > MOST_LINES)
        code.string = "\n".join(shown)
    return [short]


def _question(tag: Tag) -> list[Tag]:
    """Keep a question, without the answers to choose from."""
    return [copy(part) for part in tag.find_all(recursive=False) if part.name != "details"]


def _section(tag: Tag) -> list[Tag]:
    """Keep a section's heading, as a bold line, and its first paragraph."""
    heading = tag.find(re.compile(r"h[1-6]"), recursive=False)
    paragraph = tag.find("p", recursive=False, class_=lambda name: name != "chapter-times")
    kept = []
    if isinstance(heading, Tag):
        title = copy(heading)
        title.name, title.attrs = "p", {"class": "preview-title"}
        kept.append(title)
    return [*kept, copy(paragraph)] if isinstance(paragraph, Tag) else kept


KINDS: list[tuple[Callable[[Tag], bool], Shorten]] = [
    (_has_class("citation"), _content),
    (_has_class("math"), _whole),
    (_is_named("figure"), _whole),
    (_is_named("table"), _table),
    (_is_named("dt"), _term),
    (_has_class("literal-block-wrapper"), _listing),
    (_has_class("proof"), _box),
    (_has_class("exercise"), _box),
    (_has_class("quiz"), _question),
    (_is_named("section"), _section),
]
"""How each kind is known, and how it is shortened; the first that fits is taken."""

PLACES = (_has_class("exercise"), _has_class("quiz"), _is_named("section"))
"""How the kinds are known to which a reader goes."""


def _note(text: str) -> Tag:
    """Write a small line below what was shortened."""
    note = BeautifulSoup("", "html.parser").new_tag("p", attrs={"class": "preview-more"})
    note.string = text
    return note


def _clean(parts: list[Tag]) -> Tag:
    """Put the parts into one element without links, buttons, ids and delayed pictures."""
    card = BeautifulSoup("", "html.parser").new_tag("div")
    card.extend(parts)
    for unwanted in card.select(UNWANTED):
        unwanted.decompose()
    for wrapper in card.select(UNWRAPPED):
        wrapper.unwrap()
    for element in card.find_all(True):
        for name in ("id", "loading", "decoding", "tabindex", "title"):
            element.attrs.pop(name, None)
    return card
