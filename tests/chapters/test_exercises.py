# SPDX-License-Identifier: MIT
"""Every exercise has a checker that accepts its solution and names the mistakes planted here."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from wrong_answers import Planted, planted

from pretrain_book.exercises.answer_types import Choice, Function, Number, Numbers, Words, plain
from pretrain_book.exercises.grader import MODULES, OPEN, SINGLE, Checker, find_checker, labels
from tools.chapters import store

PURPOSES = {"warm-up", "derivation", "experiment", "extension"}
EXERCISE = re.compile(
    r"^:::\{exercise\}[^\n]*\n:label: (?P<label>\S+)\n(?P<question>.*?)^:::\n"
    r"(?P<reader>(?:(?!^:::).)*?)^:::\{solution-start\} (?P=label)\n:class: dropdown\n:::\n"
    r"(?P<solution>.*?)^:::\{solution-end\}",
    re.MULTILINE | re.DOTALL,
)
CODE = re.compile(r"^```\{code-cell\} python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
JUNK: list[Any] = [
    None,
    "?",
    float("nan"),
    object(),
    {},
    {"no such part": 1},
    [[1, 2], [3]],
    [object()],
    1j,
    10**5000,
    np.full((2, 2, 2), np.inf),
    lambda *arguments: None,
    lambda *arguments: arguments[7],
    int,
]

TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in store.twin_paths()}
WRITTEN = {
    label: page
    for page, text in TEXTS.items()
    for label in re.findall(r"^:::\{exercise(?:-start)?\}[^\n]*\n:label: (\S+)$", text, re.M)
}
PARSED = {match["label"]: match for text in TEXTS.values() for match in EXERCISE.finditer(text)}
PLANTED = planted()
TYPES = (Choice, Function, Number, Numbers, Words)


def default_hint(checker: Checker) -> set[str]:
    """Return the hints for mistakes that are not known."""
    return {part.default_hint for part in checker.parts.values()}


def hints(checker: Checker) -> set[str]:
    """Return the hints for known mistakes."""
    return {mistake.hint for part in checker.parts.values() for mistake in part.mistakes}


def cells(page: str) -> list[dict[str, Any]]:
    """Return the code cells of a stored notebook."""
    path = store.notebook_of(Path(store.twin_paths(only=page)[0]))
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def printed(cell: dict[str, Any]) -> str:
    """Return what a stored cell has printed."""
    return "".join("".join(output.get("text", "")) for output in cell["outputs"])


def test_every_exercise_has_a_checker_and_every_checker_an_exercise():
    assert sorted(labels()) == sorted(WRITTEN)


def test_every_checker_has_planted_answers():
    assert sorted(PLANTED) == sorted(labels())


@pytest.mark.parametrize("chapter", MODULES)
def test_every_chapter_has_exercises_of_all_purposes(chapter: str):
    found = [find_checker(label).purpose for label in labels(chapter)]
    assert len(found) >= 4
    assert set(found) == PURPOSES


@pytest.mark.parametrize("label", WRITTEN)
class TestWritten:
    def test_it_has_a_hint_a_cell_for_the_reader_and_a_folded_solution(self, label: str):
        assert label in PARSED, f"{label}: exercise, cell with check, solution-start … solution-end"
        match = PARSED[label]
        assert re.search(r"\*Hint\.\*|\*\*Hint\.\*\*", match["question"])
        (cell,) = CODE.findall(match["reader"])
        assert f'check("{label}", ' in " ".join(cell.split()).replace("( ", "(")
        assert "..." in cell

    def test_its_solution_ends_with_the_check(self, label: str):
        shown = [c for c in CODE.findall(PARSED[label]["solution"]) if "[remove-cell]" not in c]
        last = " ".join(shown[-1].split()).replace("( ", "(")
        assert f'check("{label}", ' in last
        assert "..." not in last.split("check(")[-1]

    def test_the_stored_solution_is_right(self, label: str):
        """Fails for a chapter that was edited and not executed since: make run CHAPTER=NN."""
        mine = [c for c in cells(WRITTEN[label]) if f'"{label}"' in "".join(c["source"])]
        reader, solution = mine[0], mine[-1]
        assert printed(reader) == f"{OPEN}\n"
        assert f"Right. {find_checker(label).explanation}\n" in printed(solution)


@pytest.mark.parametrize("label", labels())
class TestChecker:
    def test_it_bears_its_label_and_speaks_in_sentences(self, label: str):
        checker = find_checker(label)
        assert checker.exercise == label
        for sentence in (checker.explanation, *hints(checker), *default_hint(checker)):
            assert sentence.endswith((".", "?")), sentence
            assert len(sentence) <= 200, sentence
        assert checker.explanation[0].isupper() or not checker.explanation[0].isalpha()

    def test_it_accepts_the_right_answer(self, label: str):
        checker = find_checker(label)
        for answer in (PLANTED[label].right, *PLANTED[label].also_right):
            assert checker.grade(answer) == f"Right. {checker.explanation}"
        assert checker.grade(...) == OPEN

    def test_planted_mistakes_are_named(self, label: str):
        checker = find_checker(label)
        for number, (answer, words) in enumerate(PLANTED[label].wrong):
            line = checker.grade(answer)
            assert line.startswith("Not yet: "), f"wrong answer {number}: {line}"
            assert words in line, f"wrong answer {number}: {line}"

    def test_enough_wrong_answers_are_planted_and_every_mistake_that_it_knows(self, label: str):
        checker, cases = find_checker(label), PLANTED[label].wrong
        lines = [checker.grade(answer) for answer, _ in cases]
        assert len(cases) >= 5
        general = [any(hint in line for hint in default_hint(checker)) for line in lines]
        assert general.count(False) >= 3
        never = {hint for hint in hints(checker) if not any(hint in line for line in lines)}
        assert never == set()

    def test_no_hint_gives_the_answer_away(self, label: str):
        checker = find_checker(label)
        for hint in hints(checker) | default_hint(checker):
            assert not [n for n in long_numbers(PLANTED[label].right) if n in hint], hint


def refuses(checker: Checker, answer: Any) -> None:
    """Check that an answer gets one line that says what is wrong, and no traceback."""
    line = checker.grade(answer)
    assert line.startswith("Not yet: "), f"{checker.exercise}: {line}"
    assert line.endswith((".", "?")), f"{checker.exercise}: {line}"
    assert "\n" not in line, f"{checker.exercise}: {line}"


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: type(junk).__name__)
class TestJunk:
    """What is no answer is a matter of what is asked for, whatever the exercise is about."""

    @pytest.mark.parametrize("kind", TYPES)
    def test_each_type_of_answer_refuses_it(self, junk: Any, kind: type):
        asked = [
            (label, name)
            for label in labels()
            for name, part in find_checker(label).parts.items()
            if isinstance(part.wanted, kind)
        ]
        assert asked
        for label, name in asked:
            answer = junk if name == SINGLE else {**PLANTED[label].right, name: junk}
            refuses(find_checker(label), answer)

    def test_several_parts_refuse_it(self, junk: Any):
        for label in labels():
            if SINGLE not in find_checker(label).parts:
                refuses(find_checker(label), junk)


def test_no_other_type_of_answer_is_asked_for():
    parts = [part for label in labels() for part in find_checker(label).parts.values()]
    assert {type(part.wanted) for part in parts} == set(TYPES)


def long_numbers(answer: Any) -> list[str]:
    """Write the numbers of an answer that have three digits or more, as a hint might."""
    value = plain(answer)
    if isinstance(value, dict | list):
        items = value.values() if isinstance(value, dict) else value
        return [text for item in items for text in long_numbers(item)]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return []
    forms = {f"{value:g}", f"{value:,.0f}", f"{value:.2f}", f"{value:.3f}"}
    return [form for form in forms if sum(c.isdigit() for c in form.strip("-0.")) >= 3]


def test_planted_answers_are_answers():
    assert all(isinstance(cases, Planted) for cases in PLANTED.values())
