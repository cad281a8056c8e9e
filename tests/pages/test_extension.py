# SPDX-License-Identifier: MIT
"""The small functions of the extension and of the setup."""

import http.server
import threading
from collections.abc import Iterator

import pytest

from book_pages.directives.benchmarks import table_lines, wait_lines, weight_lines
from book_pages.directives.quiz_text import QuizError, parse_quiz, quizzes_of
from book_pages.provenance.receipts import duration, memory
from book_pages.theme.numbering import chapter_number
from tools.checks import torch_index


@pytest.mark.parametrize(
    ("docname", "number"),
    [
        ("chapters/04_gpt", 4),
        ("chapters/12_wide", 12),
        ("chapters/index", None),
        ("04x", None),
        ("chapters/90_agreement", None),
        ("chapters/00_first_fine_tuning", None),
    ],
)
def test_chapter_number_is_read_from_the_file_name(docname: str, number: int | None):
    assert chapter_number(docname) == number


def test_durations_and_sizes_read_well():
    assert [duration(7.4), duration(60), duration(104.7)] == ["7 s", "1 min 0 s", "1 min 45 s"]
    assert [memory(314), memory(1894)] == ["314 MB", "1.9 GB"]


def test_the_heaviest_pages_are_shown():
    empty = dict.fromkeys(("html", "css", "js", "fonts", "images"), 0)
    pages = {
        "a.html": empty | {"html": 10 * 1024, "images": 900 * 1024},
        "b.html": empty | {"html": 20 * 1024, "js": 5 * 1024},
        "c.html": empty | {"html": 30 * 1024, "fonts": 300 * 1024, "images": 7 * 1024},
    }
    first, second, third = weight_lines({"limit": 350 * 1024, "pages": pages})[2:]
    assert first == "| {doc}`/c` | 30 | 0 | 0 | 300 | 330 | 350 | 7 |"
    assert second == "| {doc}`/b` | 20 | 0 | 5 | 0 | 25 | 350 | 0 |"
    assert third.startswith("| {doc}`/a` ")  # pictures do not count


def test_the_longest_wait_comes_first():
    waits = {
        "quick": {"own line": 90.4, "10 Mbit/s": 200.0},
        "slow": {"own line": 80.0, "10 Mbit/s": 900.6},
    }
    lines = wait_lines({"applets": waits, "next character": {"with cache": 0.5, "without": 6.0}})
    assert lines[2:4] == ["| slow | 80 ms | 901 ms |", "| quick | 90 ms | 200 ms |"]
    assert lines[-2:] == [
        "| with the key–value cache | 0.5 ms | 1 |",
        "| without | 6.0 ms | 12.0 |",
    ]


def test_benchmarks_become_a_table():
    row = {"name": "step", "ours": 0.01234, "peer": 12345.6, "ratio": None, "unit": "s", "n": 5}
    assert table_lines([row])[2:] == ["| step | 0.0123 | 12,346 | – | s |"]


QUESTION = """\
Which comes
first?

- [ ] The second,
  on two lines.

  No.

  Not at all.
- [x] The first.

  Yes.
- [ ] The third.

  No.
"""


def test_a_question_is_read_with_its_options():
    read = parse_quiz("quiz-sample-first", QUESTION.splitlines())
    assert read.question == "Which comes\nfirst?"
    assert [option.text for option in read.options] == [
        "The second,\non two lines.",
        "The first.",
        "The third.",
    ]
    assert read.options[0].why.strip() == "No.\n\nNot at all."
    assert read.right == 1
    for option in read.options:
        line = QUESTION.splitlines()[option.text_line]
        assert line.endswith(option.text.split("\n")[0])


def test_questions_are_found_in_a_chapter():
    blocks = [f"::::{{quiz}} quiz-sample-{name}\n{QUESTION}::::\n" for name in ("one", "two")]
    text = "\n".join(["# 7 A chapter\n", blocks[0], "Prose.\n", blocks[1]])
    assert [quiz.label for quiz in quizzes_of(text)] == ["quiz-sample-one", "quiz-sample-two"]


QUIZ_MISTAKES = {
    "no mark": ("[x]", "[ ]", "one option marked [x], got 0"),
    "two marks": ("[ ] The third", "[x] The third", "one option marked [x], got 2"),
    "unknown mark": ("[x]", "[X]", "expected '- [ ] text' or '- [x] text', got '- [X] The first.'"),
    "no explanation": ("  Yes.\n", "", "option B has no explanation"),
    "no blank line": ("first.\n\n", "first.\n", "option B has no explanation"),
    "two options": ("- [ ] The third.\n\n  No.\n", "", "3 to 5 options, got 2"),
    "six options": ("- [x]", 3 * "- [ ] O.\n\n  No.\n" + "- [x]", "3 to 5 options, got 6"),
    "no question": ("Which comes\nfirst?", "", "no question"),
    "no indent": ("  Yes.", "Yes.", "option B: indent by two spaces: 'Yes.'"),
    "no label": ("", "", "expected a label"),
}


@pytest.mark.parametrize(("good", "bad", "message"), QUIZ_MISTAKES.values(), ids=QUIZ_MISTAKES)
def test_a_mistake_in_a_question_is_named(good: str, bad: str, message: str):
    label = "quiz-sample-first" if good else "Sample"
    assert good in QUESTION
    with pytest.raises(QuizError) as caught:
        parse_quiz(label, QUESTION.replace(good, bad, 1).splitlines() if good else [])
    assert str(caught.value).startswith(f"quiz {label}: ")
    assert message in str(caught.value)


@pytest.fixture
def index() -> Iterator[str]:
    """The address of a package index that knows torch and answers at once."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/cpu/torch/" else 404)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch):
    """Ask the local index directly."""
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")


def test_torch_index_that_answers_is_used(index: str):
    assert torch_index.pip_option(f"{index}/cpu") == f"--extra-index-url {index}/cpu"


def test_torch_index_without_torch_is_not_used(index: str):
    assert torch_index.pip_option(f"{index}/other") == ""


@pytest.mark.parametrize("address", ["", "http://127.0.0.1:9", "no address"])
def test_torch_index_that_does_not_answer_is_not_used(address: str):
    assert torch_index.pip_option(address, seconds=0.5) == ""
