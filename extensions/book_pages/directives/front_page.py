# SPDX-License-Identifier: MIT
"""The directive ``{three_questions}``: one line, three gaps, and what three models make of them.

    ::::{applet} three-questions
    :::{three_questions}
    :::
    ::::

It draws the stored answers of ``data/applets/three_questions.json`` as a reader without scripts
sees them, and puts all of them into the page. ``three-questions.mjs`` draws the same, lets the
reader press and type, and asks the models. The style sheet ``front.css`` belongs to the first page
alone.
"""

import json
import re
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book_pages.directives.thumbnails import mask_picture

ANSWERS = "data/applets/three_questions.json"
STYLE = "front.css"
N_SHOWN = 5
GAP = "▢"
_WORD = re.compile(r"[A-Za-z][A-Za-z']*")


class Question(NamedTuple):
    """What one model is asked, and what it may see."""

    model: str
    name: str
    words: str
    sees: str


QUESTIONS = (
    Question("gpt", "GPT", "What comes next?", "It sees what stands before."),
    Question("bert", "BERT", "What was hidden?", "It sees both sides."),
    Question("t5", "T5", "What was cut out?", "It sees both sides, and writes the gaps."),
)


def register(app: Sphinx) -> None:
    """Add the directive, and the style of the first page."""
    app.add_directive("three_questions", ThreeQuestions)
    app.connect("html-page-context", add_style)


def add_style(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    """Load the style sheet on the first page."""
    if pagename == app.config.root_doc:
        app.add_css_file(STYLE)


def is_seen(model: str, number: int, hidden: list[int]) -> bool:
    """Return whether a model sees a word of the line; `hidden` are the numbers of the gaps."""
    return number < hidden[0] if model == "gpt" else number not in hidden


def line_html(model: str, text: str, hidden: list[int]) -> str:
    """Write the line as words, each with what follows it, lit or dark, and the gaps."""
    found = list(_WORD.finditer(text))
    ends = [word.start() for word in found[1:]] + [len(text)]
    words = []
    for number, (word, end) in enumerate(zip(found, ends, strict=True)):
        kind = "is-seen" if is_seen(model, number, hidden) else "is-dark"
        shown, tail = escape(word[0]), escape(text[word.end() : end].strip())
        if number in hidden:
            kind, shown = "is-gap", f'<span class="gap">{GAP}</span>'
        words.append(f'<span class="word {kind}" style="--n:{number}">{shown}{tail}</span>')
    return f'<p class="question-line">{" ".join(words)}</p>'


def guesses_html(guesses: str, truth: str) -> str:
    """Write the likeliest words as bars; `guesses` read ``thee 34.2, not 5.1``."""
    rows = []
    for guess in guesses.split(", ")[:N_SHOWN]:
        word, share = guess.rsplit(" ", 1)
        mark = ' class="is-true"' if word == truth else ""
        rows.append(
            f'<li{mark} style="--share:{float(share) / 100:.3f}"><span>{escape(word)}</span>'
            f'<span class="bar"></span><span>{float(share):.0f} %</span></li>'
        )
    return f'<ol class="guesses">{"".join(rows)}</ol>'


def question_html(question: Question, stored: dict[str, Any]) -> str:
    """Write one model's question: its mask, the line, and its guesses for each gap."""
    model, hidden = question.model, stored["start"][question.model]
    truths = _WORD.findall(stored["text"])
    answers = stored["answers"][model][" ".join(map(str, hidden))]
    guesses = "".join(
        guesses_html(one, truths[number]) for one, number in zip(answers, hidden, strict=True)
    )
    line = line_html(model, stored["text"], hidden)
    return (
        f'<div class="question {model}" data-model="{model}" role="group" '
        f'aria-label="{question.name}: {question.words}">\n'
        f'<div class="question-head">{mask_picture(model)}<p><strong>{question.name}</strong> '
        f"<b>{question.words}</b> <small>{question.sees}</small></p></div>\n"
        f'{line}\n<p class="question-said"></p>\n'
        f'<div class="question-guesses">{guesses}</div>\n</div>'
    )


def answers_html(stored: dict[str, Any]) -> str:
    """Write the stored answers into the page, so that no press waits for a file."""
    kept = {name: stored[name] for name in ("text", "start", "answers", "parts")}
    data = json.dumps(kept, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json">{data}</script>'


class ThreeQuestions(SphinxDirective):
    """``{three_questions}``: the three lines with their stored answers."""

    def run(self) -> list[nodes.Node]:
        """Write them as HTML; other formats leave them out."""
        path = Path(self.env.srcdir) / ANSWERS
        self.env.note_dependency(str(path))
        stored = json.loads(path.read_text(encoding="utf-8"))
        text = "\n".join(question_html(question, stored) for question in QUESTIONS)
        html = f'{text}\n<div class="questions-own"></div>\n{answers_html(stored)}'
        return [nodes.raw("", html, format="html")]
