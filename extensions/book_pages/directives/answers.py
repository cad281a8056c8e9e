# SPDX-License-Identifier: MIT
"""Below an exercise: fields for an answer, then its hint, folded.

In a notebook an exercise ends with a cell such as ``check("ex-gpt-topp", ...)``. A page cannot run
it, so in HTML a form takes its place, with a field for each part that is a number, numbers, words
or a choice. It carries the rule by which ``answers.js`` judges, written from the same checker
(:mod:`pretrain_book.exercises.page_rules`). A function is for the notebook, to which a line leads;
so it does where no script runs. The hint moves from the exercise to below the form, as a fold.
"""

import inspect
import json
import posixpath
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_subtitle, solution_node

from book_pages.notebooks.reader import FOLDER
from pretrain_book.exercises import answer_types, page_rules
from pretrain_book.exercises.grader import MODULES, find_checker, labels

SCRIPTS = ("practice-memory.js", "answer-rules.js", "answers.js", "quiz.js")
STYLE = "practice.css"


def register(app: Sphinx) -> None:
    """Add the forms, and what makes forms and quizzes work."""
    app.connect("doctree-read", note_checkers)
    app.add_post_transform(AnswerForms)
    app.add_css_file(STYLE)
    for script in SCRIPTS:
        app.add_js_file(script, loading_method="defer")


def note_checkers(app: Sphinx, doctree: nodes.document) -> None:
    """Have a page with exercises written again when its checkers change."""
    for node in doctree.findall(exercise_enumerable_node):
        module = MODULES.get(node.get("label", "").split("-")[1], "")
        folder = Path(inspect.getfile(answer_types)).parent
        for path in (folder / f"{module}.py", Path(inspect.getfile(page_rules))):
            app.env.note_dependency(str(path))


class AnswerForms(SphinxPostTransform):
    """Put a form in the place of every cell that waits for an answer, where HTML is written."""

    formats = ("html",)
    default_priority = 3  # before the titles of exercises are put together

    def run(self, **kwargs: Any) -> None:
        """Go through the exercises of the page."""
        known = set(labels())
        for exercise in list(self.document.findall(exercise_enumerable_node)):
            label = exercise.get("label", "")
            cell = reader_cell(self.document, label)
            if label not in known or cell is None:
                continue
            title = next((one.astext() for one in exercise.findall(exercise_subtitle)), label)
            form = form_html(label, title, notebook_address(self.env.docname))
            at = cell.parent.index(cell)
            made = [nodes.raw("", form, format="html"), *folded_hint(exercise, label)]
            cell.parent[at : at + 1] = made  # `replace_self` would hand on the cell's classes


def reader_cell(document: nodes.document, label: str) -> nodes.Element | None:
    """Find the cell in which a reader answers an exercise: the first that calls its check."""
    for cell in document.findall(nodes.container):
        if cell.get("nb_element") != "cell_code" or _is_in_solution(cell):
            continue
        source = next((one.astext() for one in cell.findall(nodes.literal_block)), "")
        if f'check("{label}"' in source:
            return cell
    return None


def _is_in_solution(node: nodes.Node) -> bool:
    """Tell whether a node is part of a solution."""
    above: nodes.Node | None = node
    while above is not None and not isinstance(above, solution_node):
        above = above.parent
    return above is not None


def folded_hint(exercise: nodes.Element, label: str) -> list[nodes.Node]:
    """Take the hint out of an exercise and return it as a fold; nothing without a hint."""
    for paragraph in list(exercise.findall(nodes.paragraph)):
        first = paragraph[0] if len(paragraph) else None
        is_hint = isinstance(first, nodes.emphasis | nodes.strong) and first.astext() == "Hint."
        if not is_hint:
            continue
        paragraph.parent.remove(paragraph)
        paragraph.pop(0)
        if isinstance(paragraph[0], nodes.Text):
            paragraph[0] = nodes.Text(paragraph[0].lstrip())
        opening = f'<details class="hint" id="{label}-hint">\n<summary>Hint</summary>\n'
        return [
            nodes.raw("", opening, format="html"),
            paragraph,
            nodes.raw("", "</details>\n", format="html"),
        ]
    return []


def notebook_address(docname: str) -> str:
    """Return the address of a page's notebook, seen from the page."""
    notebook = f"{FOLDER}/{posixpath.basename(docname)}.ipynb"
    return posixpath.relpath(notebook, posixpath.dirname(docname) or ".")


def form_html(label: str, title: str, notebook: str) -> str:
    """Write the form of an exercise, or only the line that leads to its notebook.

    `label` and `title` are the exercise's, `notebook` is the address of the page's notebook.
    """
    rule = page_rules.page_rules(find_checker(label))
    link = f'<a href="{escape(notebook)}" download>notebook</a>'
    if not rule["parts"]:
        return f'<p class="answer-elsewhere">Answer this one in the {link}.</p>\n'
    lines = [
        f'<form class="answer" data-exercise="{label}" data-rule="{escape(json.dumps(rule))}"'
        f' aria-label="Your answer: {escape(title)}">',
        *(line for n, part in enumerate(rule["parts"]) for line in _field(f"{label}-{n}", part)),
    ]
    if rule["python"]:
        names = " and ".join(f"<b>{escape(name)}</b>" for name in rule["python"])
        verb = "is a function" if len(rule["python"]) == 1 else "are functions"
        lines.append(f'<p class="answer-python">{names} {verb}: answer in the {link}.</p>')
    lines += [
        '<p class="answer-foot"><button type="submit">Check</button>',
        '<span class="answer-verdict" role="status"></span>',
        '<span class="practice-score"></span></p>',
        '<p class="answer-help" hidden></p>',
        "</form>",
        f'<p class="answer-elsewhere answer-plain">Answer this one in the {link}.</p>',
    ]
    return "\n".join(lines) + "\n"


def _field(field: str, part: dict[str, Any]) -> Iterator[str]:
    """Write one labelled field; `field` is its id."""
    name, kind, words = escape(part["name"]), part["kind"], escape(_words(part))
    asked = f'<span class="answer-asks">{words}</span>' if words else ""
    yield '<p class="answer-part">'
    yield f'<label for="{field}"><b>{name or "Your answer"}</b>{asked}</label>'
    if kind == "choice":
        options = (f"<option>{escape(option)}</option>" for option in part["options"])
        yield f'<select id="{field}"><option value="">choose</option>{"".join(options)}</select>'
    elif kind == "numbers" and len(part["shape"]) == 2:
        yield f'<textarea id="{field}" rows="{part["shape"][0]}" spellcheck="false"></textarea>'
    else:
        typed = 'type="text" autocomplete="off" autocapitalize="off" spellcheck="false"'
        yield f'<input id="{field}" {typed}>'
    yield "</p>"


def _words(part: dict[str, Any]) -> str:
    """Say what a field takes, as briefly as its label needs."""
    what = re.sub(r"^(one (whole )?number|a list of |numbers of shape [^(]*)", "", part["asks"])
    match part["kind"]:
        case "choice":
            return ""
        case "words":
            return f"{what}, with commas between"
        case "numbers" if len(part["shape"]) == 2:
            rows, columns = part["shape"]
            return f"{rows} rows of {columns} numbers {what}".strip()
        case "numbers":
            return f"{what}, with spaces between"
    unit = what.strip(" ()")
    return "" if unit == part["name"] else unit
