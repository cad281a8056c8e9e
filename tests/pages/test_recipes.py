# SPDX-License-Identifier: MIT
"""Every recipe of CONTRIBUTING.md builds strictly, and gives what it promises."""

import json
import shutil
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from strict_build import build_book

from tools.chapters import run, store
from tools.checks import pages

TOC = """\
format: jb-book
root: chapters/index
parts:
  - caption: Sample
    chapters:
      - file: chapters/07_sample
      - file: chapters/bibliography
"""
INDEX = """\
# A book of one chapter

:::{chapter_map}
7: The only stage
8-9: Chapters to come
:::

```{receipts}
```
"""
KINDS = ("generation, greedy", "step time")


@pytest.fixture(scope="module")
def sample(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A book of one executed chapter that uses every recipe once."""
    book = tmp_path_factory.mktemp("sample")
    shutil.copytree(repository / "extensions", book / "extensions")
    shutil.copytree(repository / "chapters" / "assets", book / "chapters" / "assets")
    for name in ("_config.yml", "pyproject.toml", "chapters/bibliography.md"):
        shutil.copy(repository / name, book / name)
    (book / "chapters" / "index.md").write_text(INDEX, encoding="utf-8")
    shutil.copy(repository / "chapters" / "references.bib", book / "chapters")
    (book / "_toc.yml").write_text(TOC, encoding="utf-8")
    shutil.copytree(repository / "chapters" / "applets", book / "chapters" / "applets")
    receipts = {"chapters": {"07_sample": {"wall": 104.7, "cpu": 205.2, "peak": 913}}}
    (book / "data" / "runs").mkdir(parents=True)
    (book / "data" / "runs" / "receipts.json").write_text(json.dumps(receipts), encoding="utf-8")
    rows = [{"name": kind, "ours": 1.5, "peer": 5.0, "ratio": 0.3, "unit": "s"} for kind in KINDS]
    (book / "benchmarks").mkdir()
    (book / "benchmarks" / "results.json").write_text(json.dumps({"rows": rows}), encoding="utf-8")
    notebook = store.read_twin(Path(__file__).with_name("sample.md"))
    path = book / "chapters" / "07_sample.ipynb"
    run.execute(notebook, path)
    run.clean(notebook)
    store.write_notebook(path, notebook)
    return book


@pytest.fixture(scope="module")
def page(sample: Path) -> BeautifulSoup:
    """The built chapter."""
    done = build_book(sample, sample / "out")
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    html = sample / "out" / "_build" / "html"
    assert pages.problems(html) == []
    return pages.parsed(html / "chapters" / "07_sample.html")


def text(page: BeautifulSoup, selector: str) -> list[str]:
    """Return the text of the elements that match, spaces collapsed."""
    return [" ".join(element.get_text().split()) for element in page.select(selector)]


class TestSample:
    def test_numbers_start_with_the_chapter(self, page: BeautifulSoup):
        links = text(page, "section > p:not(.chapter-times) a.internal")
        expected = ["2017", "Devlin et al., 2019", "Radford et al., 2018"]
        expected += ["Figure 7.1", "(7.1)", "Table 7.1", "Definition 7.1", "Exercise 7.1"]
        assert links[:10] == [*expected, "Section 7.1", "Bibliography"]

    def test_sections_are_numbered_and_the_title_only_once(self, page: BeautifulSoup):
        assert text(page, "article h1")[0].startswith("7 A sample chapter")
        numbers = text(page, "article h2 .section-number")
        assert numbers == ["7.1", "7.2", "7.3"]
        assert text(page, "article h3 .section-number") == []

    def test_citations_stand_in_round_brackets(self, page: BeautifulSoup):
        paragraph = text(page, "article section > p:not(.chapter-times)")[0]
        assert "Vaswani et al. (2017) showed" in paragraph
        assert "(Devlin et al., 2019; Radford et al., 2018)" in paragraph

    def test_figure_has_caption_and_alt(self, page: BeautifulSoup):
        assert text(page, "figcaption")[0].startswith("Figure 7.1 A rising line.")
        alt = page.select_one("figure img")["alt"]
        assert alt == "A straight line that rises from the left to the right."

    def test_reported_number_stands_in_cell_and_prose(self, page: BeautifulSoup):
        assert "sample-loss: 1.47 nats per token" in text(page, ".cell_output pre")
        assert any("The loss is 1.47 nats per token." in line for line in text(page, "p"))

    def test_solution_is_folded_with_its_executed_cell(self, page: BeautifulSoup):
        solution = page.select_one("div.solution.dropdown")
        assert solution.select_one(".cell_output").get_text().strip() == "4.17 nats"

    def test_applet_holds_its_fallback_and_loads_its_module(self, page: BeautifulSoup):
        assert text(page, "pt-mask-fill") == ["What stands here without a script."]
        (script,) = page.select('script[src*="applets/start.js"]')
        assert script["data-applets"] == "mask-fill"

    def test_receipt_is_read_from_the_last_run(self, page: BeautifulSoup):
        assert text(page, ".receipt") == ["1 min 45 s (205 CPU-seconds, 913 MB)"]
        assert any(row.endswith("1 min 45 s 205 913 MB") for row in text(page, "tbody tr"))

    def test_benchmarks_are_read_from_the_results(self, page: BeautifulSoup):
        rows = text(page, "tbody tr")
        assert "generation, greedy 1.5 5 0.3 s" in rows
        assert not any("step time" in row for row in rows)

    def test_the_map_is_a_landmark_with_a_link_for_each_chapter(
        self, page: BeautifulSoup, sample: Path
    ):
        index = pages.parsed(sample / "out" / "_build" / "html" / "chapters" / "index.html")
        (nav,) = index.select("nav.chapter-map")
        assert nav["aria-label"] == "Map of the chapters"
        assert text(nav, ".chapter-map-stage > p") == ["The only stage"]
        (link,) = nav.select("li a")
        assert link["href"] == "07_sample.html"
        (name,) = text(nav, "li a")
        assert name == "7 A sample chapter: every recipe of CONTRIBUTING.md once"
        assert nav.select_one("li.card-of-chapter > svg[aria-hidden=true]")
        (minutes,) = text(nav, "li .minutes")
        assert int(minutes.removesuffix(" min")) >= 1

    def test_folded_code_is_named_by_its_text_alone(self, page: BeautifulSoup):
        (summary,) = page.select("details.hide > summary")
        assert "aria-label" not in summary.attrs
        assert "Show the code" in summary.get_text()

    def test_a_quiz_is_a_group_that_its_title_names(self, page: BeautifulSoup):
        groups = page.select("[role=group].quiz")
        assert [group["id"] for group in groups] == ["quiz-sample-first", "quiz-sample-second"]
        titles = [page.find(id=group["aria-labelledby"]).get_text() for group in groups]
        assert titles == ["Question 1", "Question 2"]
        link = groups[1].select_one("a.internal")
        assert (link["href"], link.get_text()) == ("#quiz-sample-first", "Question 1")

    def test_options_are_closed_lettered_folds(self, page: BeautifulSoup):
        folds = page.select("#quiz-sample-first > details")
        assert [fold.get("open") for fold in folds] == [None] * 3
        lines = text(page, "#quiz-sample-first > details > summary")
        assert lines[0].startswith("A. It is one, ")
        assert lines[0].endswith("by (7.1), on two lines.")
        assert lines[1:] == ["B. 0.", "C. Infinite."]
        assert not page.select("summary p, summary div")[len(page.select("details.hide p")) :]
        assert page.select_one("#quiz-sample-first summary code").get_text() == "0"
        second = text(page, "#quiz-sample-second > details > summary")
        assert second[1] == "B. 2. is no list, nor is it # a heading."

    def test_an_opened_option_begins_with_its_verdict(self, page: BeautifulSoup):
        first = text(page, "#quiz-sample-first .quiz-why > p:first-child")
        assert first[0] == "Not this. The logarithm of 1 is not 1."
        assert first[1].startswith("Right. Because ")
        assert first[2] == "Not this."
        assert text(page, "#quiz-sample-first .quiz-why li") == [
            "A list opens this explanation. See A figure and a number."
        ]
        assert page.select_one("#quiz-sample-first .quiz-right pre") is not None


MISTAKES = {
    "unknown glue key": ("{glue:text}`sample-loss`", "{glue:text}`no-such-key`"),
    "unknown figure": ("{numref}`fig-sample`", "{numref}`fig-no-such`"),
    "unknown citation": ("{cite:t}`vaswani2017`", "{cite:t}`nobody1900`"),
    "unknown chapter": ("{receipt}`07_sample`", "{receipt}`08_none`"),
    "unknown equation": ("{eq}`eq-sample`", "{eq}`eq-no-such`"),
    "unknown benchmark": (":name: generation", ":name: nothing"),
    "applet without fallback": ("What stands here without a script.\\n", ""),
    "quiz without a mark": ("[x] `0`", "[ ] `0`"),
    "quiz with an unknown link": ("by {eq}`eq-sample`,", "by {eq}`eq-no-such`,"),
    "quiz label twice": ("{quiz} quiz-sample-second", "{quiz} quiz-sample-first"),
    "unknown directive": ("{prf:definition}", "{prf:defintion}"),
}
ONE_OF_EACH = {"unknown figure", "quiz without a mark"}
"""A warning of the builder's, and a complaint of ours; each mistake is a build of its own."""


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        pytest.param(*change, id=name, marks=() if name in ONE_OF_EACH else pytest.mark.slow)
        for name, change in MISTAKES.items()
    ],
)
def test_strict_build_bites(good: str, bad: str, sample: Path, tmp_path: Path):
    book = tmp_path / "book"
    shutil.copytree(sample, book, ignore=shutil.ignore_patterns("out"))
    path = book / "chapters" / "07_sample.ipynb"
    content = path.read_text(encoding="utf-8")
    assert good in content
    path.write_text(content.replace(good, bad), encoding="utf-8")
    done = build_book(book, tmp_path / "out")
    assert done.returncode != 0
    if "quiz" in good or good.startswith("["):
        assert "chapters/07_sample: quiz quiz-sample-first: " in done.stderr


@pytest.mark.slow
def test_a_quiz_is_a_plain_list_where_no_html_is_written(sample: Path, tmp_path: Path):
    done = build_book(sample, tmp_path, "--builder", "custom", "--custom-builder", "pseudoxml")
    assert done.returncode == 0, done.stderr
    (written,) = tmp_path.rglob("07_sample.pseudoxml")
    lines = written.read_text(encoding="utf-8").split("Question 2")[-1].split()
    assert "<quiz" not in " ".join(lines)
    assert [word for word in lines if word in {"<enumerated_list", "<list_item>"}] == [
        "<enumerated_list",
        *["<list_item>"] * 3,
    ]
    assert " ".join(lines).count("<strong> Not this.") == 2
