# SPDX-License-Identifier: MIT
"""The cards of what links lead to: every link of the text has one, and it is fit to be read."""

import json
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag

from book_pages.links.preview_text import MOST_LINES, MOST_ROWS, PLACE, card_of
from book_pages.links.previews import LINKS, cards_of
from tools.checks import pages

ROWS = "".join(f"<tr><td>row {n}</td></tr>" for n in range(9))
LINES = "\n".join(f"line {n}" for n in range(30))
ARTICLE = f"""<article>
<section id="a-heading"><span id="sec-a"></span><h2>A heading<a class="headerlink">#</a></h2>
<p class="chapter-times">Reading</p><p>First <a href="#x">words</a>.</p><p>Second.</p></section>
<div class="citation" id="id1" role="listitem"><span class="label">[1]</span><p>A work.</p></div>
<div class="math" id="equation-e"><span class="eqno">(5.1)<a class="headerlink">#</a></span>
\\[x\\]</div>
<figure id="fig-a"><img alt="A curve" src="../_images/a.png" loading="lazy" width="9"/>
<figcaption>Figure 5.1</figcaption></figure>
<table id="tab-a"><caption>Table 5.1</caption><tbody>{ROWS}</tbody></table>
<div class="proof definition admonition" id="def-a"><p class="admonition-title">Definition 5.1</p>
<section class="definition-content" id="proof-content"><p>{"long " * 200}</p><p>More.</p></section>
</div>
<dl class="glossary"><dt id="term-a">a</dt><dt id="term-b">b</dt><dd><p>Said of both.</p></dd></dl>
<div class="literal-block-wrapper" id="code-a"><pre>{LINES}</pre></div>
<div class="exercise" id="ex-a"><p class="admonition-title">Exercise 5.1</p>
<section id="exercise-content"><p>Do this.</p><button>check</button></section></div>
<p id="plain">No kind of target.</p></article>"""
WHAT = {
    "sec-a": "A heading First words .",
    "id1": "A work.",
    "equation-e": "(5.1) \\[x\\]",
    "fig-a": "Figure 5.1",
    "term-b": "b Said of both.",
    "ex-a": "Exercise 5.1 Do this.",
}


@pytest.fixture
def article() -> Tag:
    """A page with one target of each kind."""
    found = BeautifulSoup(ARTICLE, "html.parser").article
    assert found is not None
    return found


def words(card: Tag | None) -> str:
    assert card is not None
    return " ".join(card.get_text(" ").split())


@pytest.mark.parametrize(("anchor", "expected"), WHAT.items(), ids=WHAT)
def test_a_card_holds_what_its_kind_needs(article: Tag, anchor: str, expected: str):
    before = str(article)
    assert words(card_of(article, anchor)) == expected
    assert str(article) == before  # the page itself stays as it is


def test_long_content_is_cut_and_says_so(article: Tag):
    table = words(card_of(article, "tab-a"))
    assert table.startswith("Table 5.1 row 0")
    assert table.endswith(f"row {MOST_ROWS - 1} and {9 - MOST_ROWS} more rows")
    listing = words(card_of(article, "code-a"))
    assert listing.endswith(f"line {MOST_LINES - 1} …")
    definition = words(card_of(article, "def-a"))
    assert definition.startswith("Definition 5.1 long")
    assert definition.endswith("long …")


@pytest.mark.parametrize("anchor", WHAT)
def test_what_one_goes_to_is_marked_and_what_one_looks_up_is_not(article: Tag, anchor: str):
    card = card_of(article, anchor)
    assert card is not None
    assert len(card.select(f".{PLACE}")) == (anchor in ("sec-a", "ex-a"))
    assert len(card.select(".preview-title")) == (anchor == "sec-a")


@pytest.mark.parametrize("anchor", ["plain", "no-such-anchor"])
def test_other_targets_have_no_card(article: Tag, anchor: str):
    assert card_of(article, anchor) is None


def test_pictures_are_found_from_the_page_that_shows_them(article: Tag):
    link = '<article><a class="internal" href="../deep/other.html#fig-a">Figure</a></article>'
    reader = BeautifulSoup(link, "html.parser").article
    found = dict(cards_of("chapters/one", reader, {"deep/other": article}.get))
    (card,) = found.values()
    image = BeautifulSoup(card, "html.parser").img
    assert image["src"] == "../_images/a.png"
    top = BeautifulSoup(link.replace("../deep", "deep"), "html.parser").article
    (card,) = dict(cards_of("one", top, {"deep/other": article}.get)).values()
    assert BeautifulSoup(card, "html.parser").img["src"] == "_images/a.png"


def read_cards(path: Path) -> dict[str, str]:
    """Read the cards out of a page's script."""
    script = path.read_text(encoding="utf-8")
    assert "</" not in script  # nothing that could end a script element
    cards = json.loads(script.removeprefix("bookPreviews(").removesuffix(");\n"))
    assert isinstance(cards, dict)
    return cards


def test_every_link_of_the_text_to_a_place_has_a_card(html: Path):
    n_cards = 0
    for name in sorted(pages.built_pages(html)):
        cards = read_cards(html / "_static" / "previews" / name.replace(".html", ".js"))
        article = pages.parsed(html / name).article
        links = {str(a["href"]) for a in article.select(f"{LINKS}:not(.headerlink)")}
        places = {href for href in links if "#" in href and "#applet-" not in href}
        assert places <= set(cards) <= links, name
        n_cards += len(cards)
    assert n_cards > 900


def test_a_link_to_a_page_has_a_card_but_none_in_a_menu(article: Tag):
    link = '<a class="internal" href="other.html">Chapter 4</a>'
    for around, expected in (("p", ["other.html"]), ("nav", [])):
        text = f"<article><{around}>{link}</{around}></article>"
        reader = BeautifulSoup(text, "html.parser").article
        found = dict(cards_of("one", reader, {"other": article}.get))
        assert list(found) == expected
        assert all("A heading" in card for card in found.values())


def test_cards_hold_nothing_to_act_on_and_find_their_pictures(html: Path):
    kinds = set()
    for path in (html / "_static" / "previews" / "chapters").glob("*.js"):
        for href, card in read_cards(path).items():
            soup = BeautifulSoup(card, "html.parser")
            assert soup.get_text(strip=True), (path.name, href)
            assert soup.select("a, button, input, summary, [id], [loading]") == [], (path, href)
            for image in soup.find_all("img"):
                assert (html / "chapters" / str(image["src"])).is_file()
            kinds |= {href.partition("#")[2][:3]}
    assert {"fig", "tab", "equ", "def", "ter", "sec", "ex-"} <= kinds


def test_a_term_is_linked_once_on_a_page_and_explained(html: Path):
    cards = read_cards(html / "_static" / "previews" / "chapters" / "05_bert.js")
    links = pages.parsed(html / "chapters" / "05_bert.html").select("a.glossary-link")
    targets = [str(link["href"]) for link in links]
    assert len(set(targets)) == len(targets) > 3
    assert all(target.startswith("glossary.html#term-") for target in targets)
    assert all("<dd>" in cards[target] for target in targets)
    glossary = pages.parsed(html / "chapters" / "glossary.html")
    assert glossary.select("a.glossary-link") == []
