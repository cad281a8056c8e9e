# SPDX-License-Identifier: MIT
"""The decks show what the chapters store, ask nothing of another host, and fit the screen."""

import json
import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tools.chapters import store
from tools.chapters.store import ChapterError
from tools.editions import building
from tools.editions.slides import faces, layout
from tools.editions.slides import make as make_slides
from tools.editions.slides.make import math, render, write_deck
from tools.editions.slides.sources import Chapters, plain
from tools.editions.slides.text import VALUE, Block, Deck, read_deck, typed_results

REQUESTS = "script[src], link[href], img, iframe, source, video, audio, object, embed"
MEASURE = """<script>
Reveal.on("ready", () => setTimeout(() => {
const found = [];
document.querySelectorAll(".slides > section").forEach((section, n) => {
  Reveal.slide(n);
  section.querySelectorAll(".fragment").forEach(one => one.classList.add("visible"));
  const unit = section.getBoundingClientRect();
  const scale = unit.width / 1280;
  let right = 0, bottom = 0;
  section.querySelectorAll("*:not(.notes)").forEach(one => {
    const box = one.getBoundingClientRect();
    right = Math.max(right, (box.right - unit.left) / scale);
    bottom = Math.max(bottom, (box.bottom - unit.top) / scale);
  });
  const sizes = [...section.querySelectorAll("p, li, td, th, pre, figcaption")]
    .map(one => parseFloat(getComputedStyle(one).fontSize));
  const images = [...section.querySelectorAll("img")].map(one => one.naturalWidth);
  found.push({n, right, bottom, smallest: Math.min(...sizes, 99), images});
});
const report = document.createElement("pre");
report.id = "report";
report.textContent = JSON.stringify(found);
document.body.append(report);
}, 200));
</script></body>"""


@pytest.fixture(scope="module")
def stored() -> Chapters:
    """The chapters as they are stored."""
    return Chapters()


@pytest.fixture(scope="module")
def decks(repository: Path) -> dict[str, Deck]:
    """The descriptions of the decks by name."""
    return {path.stem: read_deck(path) for path in sorted((repository / "slides").glob("*.md"))}


@pytest.fixture(scope="module")
def written(decks: dict[str, Deck], stored: Chapters) -> dict[str, str]:
    """The decks as pages."""
    return {name: write_deck(deck, stored) for name, deck in decks.items()}


def test_the_two_lectures_have_their_parts(decks: dict[str, Deck]):
    assert [part.title for part in decks["bert_and_gpt"].parts] == [
        "The problem", "GPT", "BERT", "When to use which", "Pitfalls", "Lab", "Appendix",
    ]  # fmt: skip
    assert [part.title for part in decks["four_parts"].parts][4:] == ["Resources"]
    for deck in decks.values():
        assert 60 <= sum(len(part.slides) for part in deck.parts) <= 80


def test_every_part_sums_up_then_asks_two_questions_and_answers_them(decks: dict[str, Deck]):
    for deck in decks.values():
        for part in deck.parts:
            *_, summary, last = part.slides
            assert summary.title == "Summary"
            assert last.title in ("Two questions", "Checkpoint")
            kinds = [block.kind for slide in part.slides for block in slide.blocks]
            assert kinds.count("question") == kinds.count("answer") == 2, part.title
        questions = [question for part in deck.parts for question in part.questions]
        assert len(set(questions)) == len(questions)


def test_the_speaker_has_a_note_where_a_figure_or_a_table_stands_alone(decks: dict[str, Deck]):
    for deck in decks.values():
        slides = [slide for part in deck.parts for slide in part.slides]
        assert sum(bool(slide.notes) for slide in slides) > len(slides) / 2
        assert all(len(slide.blocks) <= 4 for slide in slides)


def test_no_result_is_typed(decks: dict[str, Deck]):
    assert {name: typed_results(deck) for name, deck in decks.items()} == {
        name: [] for name in decks
    }


def test_a_deck_asks_nothing_of_another_host(written: dict[str, str]):
    for name, page in written.items():
        soup = BeautifulSoup(page, "html.parser")
        for element in soup.select(REQUESTS):
            address = str(element.get("src") or element.get("href") or "")
            assert re.match(r"data:image/(?:png|svg\+xml);base64,", address), (
                f"{name}: {address[:60]}"
            )
            assert len(element["alt"]) > 12
        for style in [*soup.select("style"), *soup.select("[style]")]:
            text = style.get_text() if style.name == "style" else style["style"]
            assert not re.search(r"@import|url\(\s*['\"]?(?:https?:)?//", text), name
        assert "MIT" in page
        assert "Hakim El Hattab" in page


def test_figures_and_numbers_are_those_of_the_chapters(
    decks: dict[str, Deck], written: dict[str, str], stored: Chapters
):
    for name, deck in decks.items():
        soup = BeautifulSoup(written[name], "html.parser")
        blocks = [b for part in deck.parts for slide in part.slides for b in slide.blocks]
        labels = [block.text for block in blocks if block.kind == "figure"]
        assert len(labels) >= 8
        shown = [image["src"] for image in soup.find_all("img")]
        assert shown == [stored.figure(label).address for label in labels]
        values = [m for block in blocks for m in VALUE.finditer(block.text)]
        assert len(values) >= 4
        text = " ".join(soup.get_text().split())
        for match in values:
            assert stored.value(match["chapter"], match["key"]) in text
        assert not VALUE.search(text)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert_and_gpt", "four_parts"])
def test_slides_fit_the_screen_and_can_be_read(name: str, written: dict[str, str], tmp_path: Path):
    try:
        building.find_browser()
    except ChapterError:
        pytest.skip("no browser here to show slides with")
    page = tmp_path / "deck.html"
    before, _, after = written[name].rpartition("</body>")
    page.write_text(f"{before}{MEASURE}{after}", encoding="utf-8")
    options = ("--window-size=1280,720", "--virtual-time-budget=5000", "--dump-dom")
    dom = building.run_browser(*options, page.as_uri(), seconds=120)
    report = BeautifulSoup(dom, "html.parser").select_one("#report")
    slides = json.loads(report.get_text())
    assert len(slides) == written[name].count("<section")
    for slide in slides:
        assert slide["right"] <= 1281, slide
        assert slide["bottom"] <= 690, slide  # the number and the arrows stand below
        assert slide["smallest"] >= 16, slide
        assert all(width > 100 for width in slide["images"]), slide


DECK = """# Title
Subtitle.

## Part

### Slide
The loss is {04_gpt:line_bits} and $a^2$, 15 % `0.5`.
@question Why?
@answer So.
@question And?
@answer Thus.
Notes: Say 3.7 aloud.
"""


def test_a_typed_result_is_refused(tmp_path: Path, stored: Chapters):
    (tmp_path / "deck.md").write_text(DECK, encoding="utf-8")
    deck = read_deck(tmp_path / "deck.md")
    assert typed_results(deck) == ["15 %", "3.7"]
    with pytest.raises(ChapterError, match=r"take these numbers from a chapter: 15 %, 3\.7"):
        write_deck(deck, stored)


@pytest.mark.parametrize(
    ("good", "bad", "message"),
    [
        ("# Title", "Title", "must begin with"),
        ("@question And?", "And?", "fewer than two questions"),
        ("@answer So.", "@picture fig-a", "unknown @picture"),
    ],
)
def test_a_malformed_deck_is_refused(good: str, bad: str, message: str, tmp_path: Path):
    (tmp_path / "deck.md").write_text(DECK.replace(good, bad, 1), encoding="utf-8")
    with pytest.raises(ChapterError, match=message):
        read_deck(tmp_path / "deck.md")


def test_what_is_gone_is_named(stored: Chapters):
    missing = [
        (lambda: stored.figure("fig-no-such"), "no figure 'fig-no-such'"),
        (lambda: stored.equation("eq-no-such"), "no 'eq-no-such'"),
        (lambda: stored.table("tab-no-such"), "no 'tab-no-such'"),
        (lambda: stored.value("04_gpt", "no-such"), "reports no value"),
        (lambda: stored.value("44_gone", "x"), "no chapter '44_gone'"),
        (lambda: stored.code("04_gpt", "no such code"), "0 cells hold"),
        (lambda: stored.output("04_gpt", "class GPT"), "stores no table"),
    ]
    for call, message in missing:
        with pytest.raises(ChapterError, match=message):
            call()


def test_a_part_names_its_chapters(decks: dict[str, Deck], stored: Chapters):
    part = decks["bert_and_gpt"].parts[1]
    assert {4, 7} <= set(make_slides.chapters_of(part, stored)) <= set(range(1, 15))
    assert stored.page_of("equation", "eq-gpt-clm") == "04_gpt"
    assert stored.page_of("table", "tab-gpt-versions") == "04_gpt"
    with pytest.raises(ChapterError, match="no 'tab-no-such'"):
        stored.page_of("table", "tab-no-such")


def test_the_title_says_who_lectures_and_the_index_lists_the_parts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    asked = (
        "--to",
        str(tmp_path),
        "--by",
        "A. Turing",
        "--course",
        "NLP 101",
        "--date",
        "May 2031",
    )
    assert make_slides.main([*asked]) == 0
    assert "four_parts.html" in capsys.readouterr().out
    title = BeautifulSoup((tmp_path / "four_parts.html").read_text("utf-8"), "html.parser")
    assert title.select_one(".byline").get_text() == "A. Turing · NLP 101 · May 2031 · CC BY 4.0"
    index = BeautifulSoup((tmp_path / "index.html").read_text("utf-8"), "html.parser")
    assert len(index.select("article")) == 2
    assert "Fine-tuning and applications" in index.get_text()
    assert ".lectures" in index.style.get_text()


def test_a_figure_takes_what_its_text_leaves():
    figure = (Block("figure", "fig-a"),)
    line = (*figure, Block("text", "One line."))
    alone, above = (
        layout.figure_width(2.0, "A claim.", blocks, beside=False) for blocks in (figure, line)
    )
    assert 900 < above < alone <= layout.WIDTH
    assert layout.figure_width(2.0, "A claim.", line, beside=True) == layout.HALF
    assert layout.stands_beside(1.2, line)
    assert not layout.stands_beside(1.2, figure)
    assert not layout.stands_beside(1.9, line)
    assert layout.stands_beside(1.9, (*figure, Block("text", "- A long line.\n" * 5)))
    assert layout.table_size("| a | b |") > layout.table_size("| a " * 200) >= 16
    assert layout.is_sparse((Block("text", "- Few words."),))
    assert not layout.is_sparse((Block("text", "| a | table |"),))
    assert not layout.is_sparse(line)


def test_a_drawing_brings_its_letters():
    svg = "<svg><text style=\"font-family: 'Source Sans Pro'\">Ab &lt;</text></svg>"
    drawn = faces.with_faces(svg)
    assert drawn.count("@font-face") == 1
    assert "Source Sans Pro" not in drawn
    assert len(faces.reduced("SourceSansPro-Regular.ttf", frozenset("Ab<"))) < 3000
    bold = svg.replace("Ab", '<tspan style="font-weight: 700">Ab</tspan>')
    assert faces.with_faces(bold).count("@font-face") == 2
    for silent in ("<svg><path/></svg>", svg.replace("Source Sans Pro", "DejaVu Sans")):
        assert faces.with_faces(silent) == silent
    with pytest.raises(FileNotFoundError, match=r"holds no Gone\.ttf"):
        faces.reduced("Gone.ttf", frozenset("a"))


def test_a_table_shows_its_numbers(stored: Chapters):
    table = stored.table("tab-adv-efficiency")
    assert stored.value("08_advantage", "way_few") in table
    assert "glue" not in table
    assert plain("in plain sight ({numref}`tab-a`)") == "in plain sight"


def test_a_long_table_is_cut(stored: Chapters):
    words = 'keys = ("name", "for", "family", "hub")'
    whole, cut = (stored.output("92_models_and_costs", words, n) for n in (None, 2))
    assert whole.count("<tr") > 4
    assert cut.count("<tr") == 3


def test_an_equation_is_one_formula(stored: Chapters):
    assert "$" not in stored.equation("eq-gpt-clm")
    assert stored.equation("eq-gpt-clm").startswith("L_")


def test_code_is_one_definition(stored: Chapters):
    code = stored.code("04_gpt", "class GPT")
    assert code.startswith("class GPT")
    compile(code, "slide", "exec")
    assert "class PageBlock" not in code
    assert code in "\n".join(cell.source for _, cell in stored.cells("04_gpt"))


def test_markdown_formulas_become_mathml():
    assert re.search(r"<p>The .*<math.*<msup>.*</math>.*\.</p>", render("The $a^2$."), re.S)
    assert 'display="block"' in math(r"\sum_t p", display=True)
    assert plain("{cite:t}`kim2014` and {ref}`words <sec-a>` **x**") == "and words **x**"


def test_a_script_ends_where_it_should():
    assert make_slides._inline("a('</script>')") == r"a('<\/script>')"
    assert store.ROOT.is_dir()
