# SPDX-License-Identifier: MIT
"""The directive ``{quiz}``: a question whose options say, once opened, why they are right or wrong.

:mod:`.quiz_text` shows how one is written. A page numbers its questions from 1 and gives each the
label as its address, so that ``{ref}`` can name it. In HTML each option is a ``<details>``: it
opens by click, tap or key, without a script, and its first words say whether it is right. Where
scripts run, ``chapters/assets/quiz.js`` makes radio buttons of them. Other formats print a plain
list.
"""

from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from book_pages.directives.quiz_text import LETTERS, Option, Quiz, QuizError, parse_quiz

VERDICTS = {True: "Right.", False: "Not this."}


class quiz(nodes.General, nodes.Element):
    """Node of one question: a title, the question's blocks, then its options."""


class quiz_title(nodes.Part, nodes.TextElement):
    """The words "Question 3" above a question."""


class quiz_option(nodes.Part, nodes.Element):
    """Node of one option: its choice, then the blocks of its explanation."""


class quiz_choice(nodes.Part, nodes.TextElement):
    """What an option says before it is opened."""


class QuizDirective(SphinxDirective):
    """``{quiz} LABEL``: a question and three to five options, one of them right."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Parse question, options and explanations with the page's own parser into one quiz node.

        Raises:
            docutils.utils.SystemMessage: A rule is broken; the message names page and question.
        """
        label = self.arguments[0].strip()
        try:
            read = parse_quiz(label, list(self.content))
            title = f"Question {self.env.new_serialno('quiz') + 1}"
            self._note_label(label, title)
            return [self._node(read, title)]
        except QuizError as error:
            raise self.error(f"{self.env.docname}: {error}") from error

    def _note_label(self, label: str, title: str) -> None:
        """Make the question known to ``{ref}`` under its number."""
        standard = self.env.get_domain("std")
        if label in standard.data["labels"]:
            other = standard.data["labels"][label][0]
            raise QuizError(f"quiz {label}: the label is in use on {other}")
        standard.data["labels"][label] = (self.env.docname, label, title)
        standard.data["anonlabels"][label] = (self.env.docname, label)

    def _node(self, read: Quiz, title: str) -> quiz:
        """Build the node of a question."""
        node = quiz("\n".join(self.content), ids=[read.label])
        self.set_source_info(node)
        node += quiz_title(title, title, ids=[f"{read.label}-title"])
        node += self._parsed(read.question, 0)
        for letter, option in zip(LETTERS, read.options, strict=False):
            node += self._option(letter, option)
        return node

    def _option(self, letter: str, option: Option) -> quiz_option:
        """Build the node of one option; its explanation opens with the verdict."""
        line = self.lineno + 1 + option.text_line
        choice, messages = self.state.inline_text(option.text, line)  # so that 63. starts no list
        why = self._parsed(option.why, option.why_line)
        if not isinstance(why[0], nodes.paragraph):
            why.insert(0, nodes.paragraph())
        verdict = VERDICTS[option.is_right]
        why[0].insert(0, [nodes.strong(verdict, verdict), nodes.Text(" ")])
        node = quiz_option("", letter=letter, is_right=option.is_right)
        node += quiz_choice(option.text, "", *choice, *messages)
        node += why
        return node

    def _parsed(self, text: str, line: int) -> list[nodes.Node]:
        """Parse a part of the content; `line` is where it begins."""
        holder = nodes.container()
        lines = StringList(text.split("\n"), source=self.env.docname)
        self.state.nested_parse(lines, self.content_offset + line, holder)
        return list(holder.children)


class PlainQuiz(SphinxPostTransform):
    """Turn questions into a paragraph and a lettered list where no HTML is written."""

    default_priority = 900

    def run(self, **kwargs: Any) -> None:
        """Replace every question of the page, unless the page becomes HTML."""
        if self.app.builder.format == "html":
            return
        for node in list(self.document.findall(quiz)):
            options = nodes.enumerated_list(enumtype="upperalpha", prefix="", suffix=".")
            plain: list[nodes.Node] = []
            for child in node.children:
                if isinstance(child, quiz_title):
                    plain.append(nodes.paragraph("", "", nodes.strong("", "", *child.children)))
                elif isinstance(child, quiz_option):
                    choice, *why = child.children
                    first = nodes.paragraph("", "", *choice.children)
                    options += nodes.list_item("", first, *why)
                else:
                    plain.append(child)
            node.replace_self([*plain, options])


def register(app: Sphinx) -> None:
    """Add the directive, its nodes and the plain form of other formats."""
    app.add_node(quiz, html=(visit_quiz, depart_quiz))
    app.add_node(quiz_title, html=(visit_title, depart_title))
    app.add_node(quiz_option, html=(visit_option, _close("div", "details")))
    app.add_node(quiz_choice, html=(visit_choice, depart_choice))
    app.add_directive("quiz", QuizDirective)
    app.add_post_transform(PlainQuiz)


def visit_quiz(translator: Any, node: quiz) -> None:
    """Open a question as a group that its title names."""
    title = node[0]["ids"][0]
    opening = {"CLASS": "quiz", "role": "group", "aria-labelledby": title}
    translator.body.append(translator.starttag(node, "div", **opening))


def depart_quiz(translator: Any, node: quiz) -> None:
    """Leave a place for the script's button and verdict, and close the question."""
    translator.body.append('<p class="quiz-foot"></p>\n</div>\n')


def visit_title(translator: Any, node: quiz_title) -> None:
    """Open the title's line."""
    translator.body.append(translator.starttag(node, "p", "", CLASS="quiz-title"))


def depart_title(translator: Any, node: quiz_title) -> None:
    """Leave a place for the page's score, and close the line."""
    translator.body.append('<span class="practice-score"></span></p>\n')


def visit_option(translator: Any, node: quiz_option) -> None:
    """Open an option, closed for the reader."""
    kind = "quiz-right" if node["is_right"] else "quiz-wrong"
    letter = node["letter"]
    translator.body.append(f'<details class="quiz-option {kind}" data-letter="{letter}">\n')


def visit_choice(translator: Any, node: quiz_choice) -> None:
    """Open the line that is always visible, with the option's letter."""
    letter = node.parent["letter"]
    translator.body.append(f'<summary><span class="quiz-letter">{letter}.</span> <span>')


def depart_choice(translator: Any, node: quiz_choice) -> None:
    """Close the visible line and open the explanation."""
    translator.body.append('</span></summary>\n<div class="quiz-why">\n')


def _close(*tags: str) -> Any:
    """Return a function that closes these tags."""

    def depart(translator: Any, node: nodes.Node) -> None:
        """Close the element."""
        translator.body.append("".join(f"</{tag}>\n" for tag in tags))

    return depart
