# SPDX-License-Identifier: MIT
"""Turn the book's Markdown (MyST) into Markdown that every Jupyter shows.

Numbers come into the text, references become words with a link, directives become quotations,
tables, headings or ``<details>``. What has no plain form raises, so that nothing raw is left.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from book_pages.directives.quiz_text import LETTERS, Quiz, parse_quiz
from book_pages.notebooks.labels import Target

VERDICTS = {True: "**Right.**", False: "**Not this.**"}
_FENCE = re.compile(r"^(?P<fence>:{3,}|`{3,})(?:\{(?P<name>[\w:-]+)\} ?(?P<title>.*)|[^`]*)$")
_LABEL = re.compile(r"^\([\w-]+\)=\n?", re.M)
_MATH = re.compile(r"^\$\$\n(?P<tex>.*?)\n\$\$(?: \((?P<label>[\w-]+)\))?$", re.M | re.S)
_ROLE = re.compile(r"(?<!`)\{(?P<role>[a-z:]+)\}`(?P<text>[^`]+)`")
_NAMED = re.compile(r"(?P<words>.*\S)\s*<(?P<target>[^>]+)>", re.S)


class PlainError(ValueError):
    """The text holds something that has no plain form here; the message names it."""


@dataclass(frozen=True)
class Book:
    """What the whole book knows, for the text of one page."""

    page: str
    """Page's name without folder, such as ``05_bert``."""
    targets: Mapping[str, Target]
    """Label → what it is called."""
    values: Mapping[str, Mapping[str, str]]
    """Page → key → number as the page prints it."""
    citations: Mapping[str, tuple[str, str, str]]
    """Key → authors, year, address (may be empty)."""
    titles: Mapping[str, str]
    """Page → title of its first heading."""
    durations: Mapping[str, str]
    """Page → how long it took to run."""
    site: str = ""
    """Address of the published pages, with a slash at its end; empty = unknown."""
    quizzes: dict[str, int] = field(default_factory=dict)
    """Questions met on this page, in their order."""


def plain(text: str, book: Book) -> str:
    """Return a Markdown cell's text in plain Markdown.

    Raises:
        PlainError: A role, a directive, a label or a key is not known.
    """
    return re.sub(r"\n{3,}", "\n\n", _blocks(text, book)).strip("\n")


def _blocks(text: str, book: Book) -> str:
    """Convert the blocks of a text, one directive inside another included."""
    lines, out, plain_lines = text.split("\n"), [], []
    index = 0
    while index < len(lines):
        match = _FENCE.match(lines[index])
        if match is None:
            plain_lines.append(lines[index])
            index += 1
            continue
        end = _end(lines, index, match["fence"])
        body = lines[index + 1 : end]
        out += [_prose("\n".join(plain_lines), book)]
        plain_lines = []
        if match["name"]:
            options, content = _options(body)
            out.append(_directive(match["name"], match["title"].strip(), options, content, book))
        else:
            out.append("\n".join(lines[index : end + 1]))  # code
        index = end + 1
    return "\n".join([*out, _prose("\n".join(plain_lines), book)])


def _end(lines: list[str], start: int, fence: str) -> int:
    """Return the line that closes a fence.

    Raises:
        PlainError: None does.
    """
    for index in range(start + 1, len(lines)):
        if lines[index].strip() == fence:
            return index
    raise PlainError(f"not closed: {lines[start]!r}")


def _options(body: list[str]) -> tuple[dict[str, str], str]:
    """Split a directive's lines into its options and its content."""
    options: dict[str, str] = {}
    for index, line in enumerate(body):
        match = re.match(r"^:(?P<name>[\w-]+): ?(?P<value>.*)$", line)
        if match is None:
            return options, "\n".join(body[index:]).strip("\n")
        options[match["name"]] = match["value"]
    return options, ""


def _directive(name: str, title: str, options: dict[str, str], content: str, book: Book) -> str:
    """Convert one directive.

    Raises:
        PlainError: It is none of those that the chapters use.
    """
    label = options.get("label", "") or options.get("name", "")
    match name:
        case "table":
            head = f"**{_called(label, book)}.** {_inline(title, book)}"
            return f"\n{head}\n\n{_blocks(content, book)}\n"
        case "exercise":
            head = f"### {_called(label, book)}: {_inline(title, book)}"
            return f"\n{head}\n\n{_blocks(content, book)}\n"
        case "prf:definition" | "prf:theorem":
            named = f" ({_inline(title, book)})" if title else ""
            return _quoted(f"**{_called(label, book)}{named}.** {_blocks(content, book).strip()}")
        case "prf:proof":
            return _quoted(f"*Proof.* {_blocks(content, book).strip()}")
        case "admonition" | "warning" | "note" | "tip":
            head, body = _inline(title or name.capitalize(), book), _blocks(content, book).strip()
            folded = "dropdown" in options.get("class", "")
            return details(head, body) if folded else _quoted(f"**{head}.** {body}")
        case "quiz":
            return _quiz(parse_quiz(title, content.split("\n")), book)
        case "applet" | "receipts" | "benchmarks":
            return ""  # an applet's twin is the next cell; the build's own tables are on the page
    raise PlainError(f"the directive {name!r} has no plain form")


def _called(label: str, book: Book) -> str:
    """Return what a label is called.

    Raises:
        PlainError: There is none such.
    """
    if label not in book.targets:
        raise PlainError(f"no label {label!r}")
    return book.targets[label].name


def _quoted(text: str) -> str:
    """Write a text as a quotation; with a displayed formula, which Jupyter would break, plainly."""
    if "$$" in text:
        return f"\n{text}\n"
    return "\n" + "\n".join(f"> {line}".rstrip() for line in text.split("\n")) + "\n"


def details(summary: str, body: str) -> str:
    """Write a text that opens when its first line is pressed."""
    return f"\n<details>\n<summary>{summary}</summary>\n\n{body.strip()}\n\n</details>\n"


def _quiz(quiz: Quiz, book: Book) -> str:
    """Write a question: each option opens and says why it is right or wrong."""
    number = book.quizzes.setdefault(quiz.label, len(book.quizzes) + 1)
    lines = [f"\n**Question {number}.** {_blocks(quiz.question, book).strip()}\n"]
    for letter, option in zip(LETTERS, quiz.options, strict=False):
        why = f"{VERDICTS[option.is_right]} {_blocks(option.why, book).strip()}"
        lines.append(details(f"{letter}. {_html(_inline(option.text, book))}", why))
    return "\n".join(lines)


def _html(text: str) -> str:
    """Write the little Markdown of an option as HTML, which alone works inside a summary."""
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    return re.sub(r"\*([^*\s][^*]*)\*", r"<em>\1</em>", text)


def _prose(text: str, book: Book) -> str:
    """Convert what stands outside of directives: labels, displayed formulas, roles."""
    text = _LABEL.sub("", text)

    def tagged(match: re.Match[str]) -> str:
        """Give a labelled formula its number."""
        label = match["label"]
        number = f" \\tag{{{book.targets[label].number}}}" if label else ""
        return f"$$\n{match['tex']}{number}\n$$"

    return _inline(_MATH.sub(tagged, text), book)


def _inline(text: str, book: Book) -> str:
    """Replace every role of a text."""
    return _ROLE.sub(lambda match: _role(match["role"], match["text"], book), text)


def _role(role: str, text: str, book: Book) -> str:
    """Replace one role.

    Raises:
        PlainError: The role, or what it names, is not known.
    """
    named = _NAMED.fullmatch(text)
    words, target = (named["words"], named["target"]) if named else ("", text)
    forms: dict[str, Callable[[], str]] = {
        "glue:text": lambda: _value(text, book),
        "ref": lambda: _reference(target, words, book),
        "numref": lambda: _reference(target, words, book, numbered=True),
        "prf:ref": lambda: _reference(target, words, book),
        "eq": lambda: f"({_found(target, book).number})",
        "doc": lambda: _page(target, words, book),
        "cite:p": lambda: f"({'; '.join(_cited(key, book, ', ') for key in text.split(','))})",
        "cite:t": lambda: ", ".join(_cited(key, book, " (", ")") for key in text.split(",")),
        "receipt": lambda: book.durations[text],
    }
    if role not in forms:
        raise PlainError(f"the role {role!r} has no plain form")
    return forms[role]()


def _value(text: str, book: Book) -> str:
    """Return the number of a key, of this page or of a sister page.

    Raises:
        PlainError: The page reports no such number.
    """
    where, _, key = text.rpartition("::")
    page = where.removesuffix(".ipynb") or book.page
    key = key.partition(":")[0]
    try:
        return book.values[page][key]
    except KeyError:
        raise PlainError(f"{page} reports no value {key!r}") from None


def _found(label: str, book: Book) -> Target:
    """Return a label's target.

    Raises:
        PlainError: There is none such.
    """
    if label not in book.targets:
        raise PlainError(f"no label {label!r}")
    return book.targets[label]


def _reference(label: str, words: str, book: Book, numbered: bool = False) -> str:
    """Write a reference as words, with a link to the heading below which its target stands."""
    target = _found(label, book)
    name = f"Section {target.number}" if numbered and label.startswith("sec-") else target.name
    return _link(words or name, target.page, target.section, book)


def _page(target: str, words: str, book: Book) -> str:
    """Write a reference to a page."""
    page = target.rsplit("/", 1)[-1]
    if page not in book.titles:
        raise PlainError(f"no page {target!r}")
    return _link(words or book.titles[page], f"chapters/{page}", "", book)


def _link(words: str, page: str, section: str, book: Book) -> str:
    """Write a link: to a notebook, or to a page of the site where one is known, or no link."""
    name = page.rsplit("/", 1)[-1]
    anchor = f"#{quote(section.replace(' ', '-'))}" if section else ""
    if name == book.page:
        return f"[{words}]({anchor})" if anchor else words
    if name in book.values:
        return f"[{words}]({name}.ipynb{anchor})"
    return f"[{words}]({book.site}{page}.html)" if book.site else f"*{words}*"


def _cited(key: str, book: Book, before: str, after: str = "") -> str:
    """Write a citation as authors and year, with a link to the paper."""
    key = key.strip()
    if key not in book.citations:
        raise PlainError(f"no publication {key!r}")
    authors, year, address = book.citations[key]
    text = f"{authors}{before}{year}{after}"
    return f"[{text}]({address})" if address else text
