# SPDX-License-Identifier: MIT
"""The front matter keeps up with the chapters: map, first fine-tuning, page for teachers."""

import re
from pathlib import Path

import pytest
import yaml

from book_pages.directives import chapter_map, course_plan, teaching
from book_pages.directives.chapter_map import Box, Stage
from book_pages.directives.exercises import Exercise, exercises_of
from tools.chapters import back_matter

BOXES = [
    Box("chapters/00_start", "Start", 0, "Begin"),
    Box("chapters/01_one", "1 One", 1, "Main"),
    Box("chapters/02_gpt", "2 GPT", 2, "Main"),
    Box("chapters/notation", "Notation", None, "Appendices"),
]
PAGES = ("index", "00_first_fine_tuning", "93_closing", "teachers")


@pytest.fixture(scope="module")
def texts(repository: Path) -> dict[str, str]:
    """The text of every page by name."""
    return {path.stem: path.read_text("utf-8") for path in back_matter.sources(repository)}


@pytest.fixture(scope="module")
def exercises(texts: dict[str, str]) -> list[Exercise]:
    """Every exercise of the book."""
    return [one for text in texts.values() for one in exercises_of(text)]


def directive(text: str, name: str) -> list[list[str]]:
    """Return the lines of each directive of that name."""
    found = re.findall(rf"^:::\{{{name}\}}\n(.*?)^:::$", text, re.M | re.S)
    return [body.strip().splitlines() for body in found]


def test_stages_take_chapters_by_number_and_parts_by_caption():
    stages = chapter_map.stages_of(["0-2: The chapters", "", "Appendices: To look up"], BOXES)
    assert [(s.aim, [b.title for b in s.boxes]) for s in stages] == [
        ("The chapters", ["Start", "1 One", "2 GPT"]),
        ("To look up", ["Notation"]),
    ]
    ahead = chapter_map.stages_of(["0-2: Now", "3-4: Not yet"], BOXES)
    assert [stage.aim for stage in ahead] == ["Now"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["0-1: Two alone"], "no stage of the map names chapters/02_gpt"),
        (["0-2: All", "Gone: A part"], "expected a part from .* got 'Gone'"),
        (["1-2 All"], "expected '2-3: aim'"),
    ],
)
def test_a_map_that_does_not_fit_the_book_is_refused(lines: list[str], message: str):
    with pytest.raises(ValueError, match=message):
        chapter_map.stages_of(lines, BOXES)


def test_a_chapter_without_a_picture_is_refused():
    boxes = [*BOXES, Box("chapters/16_new", "16 New", 16, "Main")]
    with pytest.raises(ValueError, match=r"no picture in thumbnails.py for the chapters \[16\]"):
        chapter_map.stages_of(["0-16: All"], boxes)


def test_a_box_links_to_its_page():
    assert chapter_map.stage_lines(Stage("Aim", BOXES[1:])) == [
        "Aim",
        "",
        "- {doc}`1 One </chapters/01_one>`",
        "- {doc}`2 GPT </chapters/02_gpt>`",
        "- {doc}`Notation </chapters/notation>`",
    ]


def test_the_map_of_the_book_shows_every_chapter(repository: Path, texts: dict[str, str]):
    toc = yaml.safe_load((repository / "_toc.yml").read_text("utf-8"))
    boxes = chapter_map.boxes_of(toc, repository)
    (lines,) = directive(texts["index"], "chapter_map")
    shown = [box for stage in chapter_map.stages_of(lines, boxes) for box in stage.boxes]
    numbers = [box.number for box in shown if box.number is not None]
    assert numbers == [box.number for box in boxes if box.number is not None] == list(range(16))
    assert len(set(shown)) == len(shown)
    assert all(box.title and "`" not in box.title and "<" not in box.title for box in shown)


def test_a_title_is_read_from_notebook_or_text(repository: Path):
    assert chapter_map.page_title(repository / "chapters" / "teachers") == "For teachers"
    title = chapter_map.page_title(repository / "chapters" / "93_closing")
    assert title == "What you can do now"


@pytest.mark.parametrize("name", PAGES)
def test_every_link_of_the_front_matter_leads_somewhere(name: str, texts: dict[str, str]):
    labels = {
        label for pattern in back_matter.LABELS for text in texts.values()
        for label in re.findall(pattern, text, re.M)
    }  # fmt: skip
    found = back_matter.links(texts[name])
    assert found
    assert [label for label in found if label not in labels] == []
    documents = re.findall(r"\{doc\}`([\w/]+)`", texts[name])
    assert [one for one in documents if one not in texts] == []


def test_the_first_fine_tuning_is_plain_pytorch_on_one_screen(texts: dict[str, str]):
    part = texts["00_first_fine_tuning"].split("(sec-fst-code)=")[1].split("**Your sentence.**")[0]
    cells = re.findall(r"```\{code-cell\} python\n(.*?)```", part, re.S)
    code = [line for cell in cells for line in cell.splitlines() if line.strip()]
    assert {"loss.backward()", "optimizer.step()"} <= {line.strip() for line in code}
    assert len(code) <= 45


def test_every_exercise_says_what_it_tests_and_nothing_else_does(
    exercises: list[Exercise], repository: Path
):
    tests = teaching.read_tests(repository)
    labels = [one.label for one in exercises]
    assert set(labels) - set(tests) == set(), "add them to data/exercises.toml"
    written = {label.split("-")[1] for label in labels}  # a line may wait for its chapter
    assert {one for one in set(tests) - set(labels) if one.split("-")[1] in written} == set()
    assert all(20 < len(text) <= 100 and not text.endswith(".") for text in tests.values())
    assert len(set(tests.values())) == len(tests)


def test_purposes_are_those_of_the_checkers(exercises: list[Exercise], repository: Path):
    from pretrain_book.exercises.grader import find_checker, labels

    purposes = teaching.read_purposes(repository)
    assert set(purposes) == set(labels())
    assert purposes["ex-gpt-topp"] == find_checker("ex-gpt-topp").purpose


def test_an_exercise_without_its_line_is_refused():
    one = Exercise("ex-a-b", "Title", True, True, "computed")
    table = teaching.test_lines([one], {"ex-a-b": "do it"}, {"ex-a-b": "warm-up"})
    assert table[2] == "| {ref}`ex-a-b` | Title | warm-up | do it |"
    assert "open question" in teaching.test_lines([one], {"ex-a-b": "do it"}, {})[2]
    assert teaching.test_lines([], {}, {}) == []
    with pytest.raises(ValueError, match="does not say what ex-a-b tests"):
        teaching.test_lines([one], {}, {})


def test_a_session_sums_the_times_of_its_chapters():
    sessions = [teaching.session_of("Monday | 1 2 | Two things | ex-a-b ex-a-c")]
    pages, receipts = {1: "01_a", 2: "02_b"}, {"01_a": {"wall": 40.4}, "02_b": {"wall": 30.0}}
    assert teaching.session_lines(sessions, pages, receipts)[2:] == [
        "| Monday | {doc}`1 </chapters/01_a>`, {doc}`2 </chapters/02_b>` | Two things | "
        "1 min 10 s | {ref}`ex-a-b`, {ref}`ex-a-c` |"
    ]
    empty = [teaching.session_of("Tuesday | | Talk |")]
    assert teaching.session_lines(empty, pages, receipts)[2:] == ["| Tuesday | – | Talk | – | – |"]
    with pytest.raises(ValueError, match=r"Monday: no receipt of chapter \[2\]"):
        teaching.session_lines(sessions, pages, {"01_a": {"wall": 1.0}})
    for line in ("Monday | 1 | too few", "Monday | one | a topic | ex-a-b"):
        with pytest.raises(ValueError, match="expected 'when"):
            teaching.session_of(line)


def test_the_one_day_plan_can_be_taught(texts: dict[str, str], exercises: list[Exercise]):
    (one_day,) = directive(texts["teachers"], "sessions")
    pages = {int(name[:2]): name for name in texts if re.match(r"\d\d_", name)}
    labels, receipts = {one.label for one in exercises}, {n: {"wall": 1.0} for n in texts}
    sessions = [teaching.session_of(line) for line in one_day]
    assert {number for one in sessions for number in one.chapters} == {2, 4, 5, 7, 9, 12}
    assert {label for one in sessions for label in one.exercises} <= labels
    assert len(teaching.session_lines(sessions, pages, receipts)) == len(sessions) + 2
    minutes = [int(re.search(r"(\d+) minutes", one.when)[1]) for one in sessions]
    assert sum(minutes) == 6 * 60, "six hours, the page says"


COURSE = """First | sec-a | ex-a-b
40 | talk
50 | the cells of {ref}`sec-a`, live

Second | | ex-a-b
90 | lab
"""


def test_a_course_adds_up():
    meetings = course_plan.read_course(COURSE, 90)
    assert [(one.topic, one.sections) for one in meetings] == [
        ("First", ("sec-a",)),
        ("Second", ()),
    ]
    text = "\n".join(course_plan.course_lines(meetings, {"sec-a": 450}, {"ex-a-b": 30}))
    assert "| 1 | First | 3 | 90 | 30 |" in text
    assert "| 2 | Second | 0 | 90 | 30 |" in text
    assert "| | all 2 | 0 hours | 3 hours | 1 hours |" in text
    assert "Read before: {ref}`sec-a` (450 words)." in text
    with pytest.raises(ValueError, match="First: the parts take 90 minutes, expected 60"):
        course_plan.read_course(COURSE, 60)
    with pytest.raises(ValueError, match=r"expected 'topic \| sections \| exercises', got"):
        course_plan.read_course("First | sec-a\n90 | talk", 90)
    with pytest.raises(ValueError, match=r"First: expected 'minutes \| what is done', got"):
        course_plan.read_course("First | | \ntalk", 90)
    with pytest.raises(ValueError, match="the book has no ex-a-b, sec-a"):
        course_plan.course_lines(meetings, {}, {})


def test_words_are_counted_by_section_without_code():
    code = "```{code-cell} python\nx = 1\n```\n"
    text = f"(sec-a)=\n## One\nfour words\n{code}### Sub\nmore\n## Two\nx"
    assert course_plan.count_words([text]) == {"sec-a": 5}


def test_the_course_of_twelve_sessions_can_be_taught(texts: dict[str, str], repository: Path):
    plan = re.search(r"^:::\{course\} 90\n(.*?)^:::$", texts["teachers"], re.M | re.S)
    meetings = course_plan.read_course(plan[1], 90)
    words = course_plan.count_words([text for name, text in texts.items() if name[0].isdigit()])
    assert len(meetings) == 12
    used = {label for one in meetings for label in one.exercises}
    assert used <= set(teaching.read_tests(repository))
    assert "ex-rev-ask" in used
    for one in meetings:
        assert 500 <= sum(words[name] for name in one.sections) <= 3000, one.topic
    assert any("94_lab" in what for one in meetings for _, what in one.parts)


def test_teachers_read_of_a_wrong_idea_in_every_chapter_of_the_plans(texts: dict[str, str]):
    rows = re.findall(r"^\| \{doc\}`(\d\d)_\w+` \| .+ \| .*\{ref\}.* \|$", texts["teachers"], re.M)
    assert [int(number) for number in rows] == list(range(1, 15))
