# SPDX-License-Identifier: MIT
"""Cut solutions and answers out of a chapter, and find those that are left.

Solutions stand between the marks of sphinx-exercise, so one pass over a chapter's twin finds them.
The answers of the self-check go too: folded ones, and what a quiz says of its options. Hints stay.
"""

import re

from nbformat import NotebookNode

from tools.chapters.store import ChapterError

MIN_LETTERS = 12  # shorter lines, such as "]", say nothing about a solution
_GATE = re.compile(r"^(?P<fence>:{3,})\{solution-(?P<side>start|end)\}", re.MULTILINE)
_BLOCK = re.compile(
    r"^(?P<fence>:{3,})\{(?:solution\}|admonition\} .*(?:[Aa]nswer|[Ss]olution))", re.MULTILINE
)
_QUIZ = re.compile(
    r"^(?P<fence>:{3,})\{quiz\} (?P<label>\S+)\n(?P<body>.*?)^(?P=fence)$", re.M | re.S
)
_OPTION = re.compile(r"^- \[[ x]\] (?P<text>.*?)(?:\n[ \t]*\n.*)?\Z", re.DOTALL)


def without_solutions(text: str) -> str:
    """Cut solutions and answers out of a twin, or of a part of it that closes what it opens.

    Quizzes keep their questions and options.

    Raises:
        ChapterError: A solution is opened and not closed.
    """
    kept: list[str] = []
    closing = ""  # the fence that ends what is being cut
    inside = False  # between the marks of a solution
    for line in text.splitlines():
        gate, block = _GATE.match(line), _BLOCK.match(line)
        if closing:
            closing = "" if line == closing else closing
        elif gate:
            inside, closing = gate["side"] == "start", gate["fence"]
        elif block and not inside:
            closing = block["fence"]
        elif not inside:
            kept.append(line)
    if inside or closing:
        raise ChapterError("a solution or an answer is opened and never closed")
    return _QUIZ.sub(_plain_question, "\n".join(kept) + "\n")


def outside_solutions(notebook: NotebookNode) -> list[NotebookNode]:
    """List a notebook's cells in order, without the code cells inside solutions."""
    kept, inside = [], False
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for gate in _GATE.finditer(cell.source):
                inside = gate["side"] == "start"
        if not inside or cell.cell_type == "markdown":
            kept.append(cell)
    return kept


def removed_lines(text: str) -> list[str]:
    """List what a student must not find: the lines that are in solutions only.

    A line counts if it has at least 12 letters and the text without solutions does not hold it.
    """
    kept = _squeezed(without_solutions(text))
    lines = [_squeezed(line) for line in text.splitlines() if not line.startswith((":", "```"))]
    return [line for line in lines if len(line) >= MIN_LETTERS and line not in kept]


def leaks(whole: str, text: str) -> list[str]:
    """List the lines of a twin's solutions, spaces removed, that a text for students holds."""
    squeezed = _squeezed(text)
    return [line for line in removed_lines(whole) if line in squeezed]


def _plain_question(match: re.Match[str]) -> str:
    """Turn a quiz into a question with lettered options and no hint at which is right."""
    question, *options = re.split(r"^(?=- \[[ x]\] )", match["body"], flags=re.M)
    lettered = []
    for letter, option in zip("ABCDE", options, strict=False):
        found = _OPTION.match(option.rstrip())
        lettered.append(f"- {letter}. {found['text'] if found else ''}")
    body = "\n".join([question.strip(), "", *lettered])
    fence = match["fence"]
    return f"{fence}{{admonition}} Question\n:name: {match['label']}\n\n{body}\n{fence}"


def _squeezed(text: str) -> str:
    """Remove all spaces, so that lines compare however they are wrapped."""
    return re.sub(r"\s+", "", text)
