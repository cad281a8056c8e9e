# SPDX-License-Identifier: MIT
"""Times below the titles, descriptions for those who share a page, the page 404, notebooks."""

from pathlib import Path

import numpy as np
from docutils import nodes
from docutils.core import publish_doctree
from myst_nb.sphinx_ import HideCodeCellNode
from PIL import Image

from book_pages.links.prose import description, n_code_lines, n_words
from book_pages.links.sharing import COVER_PATH, meta_elements
from book_pages.provenance.chapter_times import times_line
from book_pages.provenance.receipts import duration, load_receipts
from tools.chapters import store
from tools.checks import pages
from tools.editions import cover

TEXT = """\
Title of three
==============

First words, well-known ones. Don't stop.

::

    code is not read

.. math:: x = y

.. container:: dropdown

    A folded solution.
"""


def test_words_are_those_that_are_read():
    document = publish_doctree(TEXT)
    assert n_words(document) == 3 + 4 + 2  # the title, "well-known" as one word, "Don't" as one
    assert n_code_lines(document) == 0


def test_code_is_counted_in_lines_of_cells():
    document = publish_doctree("::\n\n    a = 1\n\n    b = 2\n")
    assert n_code_lines(document) == 0  # an example in the text is no cell
    source = nodes.container(nb_element="cell_code_source")
    source += document.children[0].deepcopy()
    document += source
    assert n_code_lines(document) == 2
    folded = HideCodeCellNode()
    folded += source.deepcopy()
    document += folded
    assert n_code_lines(document) == 2  # folded code is read by who opens it


def test_a_description_is_cut_after_a_sentence():
    document = publish_doctree("Short one. " + "Another sentence follows it here. " * 9)
    text = description(document)
    assert len(text) <= 200
    assert text.endswith("here.")
    document = publish_doctree("word " * 90)
    assert description(document).endswith("word …")
    assert description(publish_doctree("")) == ""


def test_the_line_says_how_long_to_read_with_and_without_the_code_and_to_run():
    line = times_line(5000, 412, 104.7)
    assert "25 min to read, 66 with the code" in line
    assert "1 min 45 s to run" in line
    assert "<span>1 min to read</span>" in times_line(10, 0, 5)


def test_descriptions_are_escaped():
    (title, _, _, summary, _) = meta_elements('A "b" <c>', 'He said "no" & left', "Book", False)
    assert title == '<meta property="og:title" content="A &quot;b&quot; &lt;c&gt;" />'
    assert "&quot;no&quot; &amp; left" in summary


def test_the_picture_is_the_one_that_is_drawn(repository: Path, tmp_path: Path):
    stored = repository / COVER_PATH
    assert stored.stat().st_size <= 60_000
    cover.main(tmp_path / "cover.png")
    with Image.open(stored) as one, Image.open(tmp_path / "cover.png") as other:
        assert one.size == cover.SIZE
        difference = np.abs(np.asarray(one, float) - np.asarray(other, float))
    assert difference.mean() < 1  # of 255; the fonts of another version may differ a little


def test_the_masks_of_the_picture():
    gpt, bert, t5 = cover.masks()
    assert (gpt == np.tril(np.ones((6, 6), bool))).all()
    assert bert.all()
    assert t5[:3].tolist() == [[True] * 3 + [False] * 3] * 3
    assert (t5[3:] == gpt[3:]).all()


class TestBuiltPages:
    def test_every_chapter_says_how_long_it_takes(self, html: Path, repository: Path):
        receipts = load_receipts(repository)
        for name in sorted(pages.built_pages(html)):
            lines = pages.parsed(html / name).select("h1 ~ .chapter-times")
            page = Path(name).stem
            if (repository / "chapters" / f"{page}.ipynb").exists():
                (line,) = lines
                assert f"{duration(receipts[page]['wall'])} to run" in line.get_text()
                assert "min to read" in line.get_text()
            else:
                assert lines == []

    def test_every_page_is_described_in_words_of_its_own(self, html: Path):
        seen = set()
        for name in pages.built_pages(html):
            page = pages.parsed(html / name)
            text = page.select_one("meta[name=description]")["content"]
            assert 30 <= len(text) <= 202, (name, text)
            assert page.select_one('meta[property="og:description"]')["content"] == text
            title = page.select_one('meta[property="og:title"]')["content"]
            assert page.title.get_text().startswith(title)
            kind = page.select_one('meta[property="og:type"]')["content"]
            assert kind == ("website" if name == "chapters/index.html" else "article")
            assert len(page.select("meta[name=viewport]")) == 1
            seen.add(text)
        assert len(seen) == len(pages.built_pages(html))

    def test_the_foot_links_the_changes_and_no_edition_that_is_missing(self, html: Path):
        for name in pages.built_pages(html):
            links = pages.parsed(html / name).select(".extra_footer a")
            assert "changes" in {link.get_text() for link in links}, name
            for link in links:
                assert (html / name).parent.joinpath(str(link["href"])).is_file(), (name, link)

    def test_a_page_has_one_title(self, html: Path):
        contents = pages.parsed(html / "chapters" / "index.html").select(".bd-links a.internal")
        for link in contents:
            title = pages.parsed(html / "chapters" / str(link["href"])).select_one("article h1")
            title.select_one(".headerlink").decompose()
            assert link.get_text(strip=True) == title.get_text(strip=True)

    def test_the_font_of_formulas_comes_with_a_page_that_has_some(self, html: Path):
        seen = set()
        for name in pages.built_pages(html):
            page = pages.parsed(html / name)
            has_formulas = page.article.find("math") is not None
            assert ("book-maths.woff" in str(page.head)) == has_formulas, name
            seen.add(has_formulas)
        assert seen == {True, False}

    def test_without_a_repository_no_address_is_named(self, html: Path):
        for name in pages.built_pages(html):
            page = pages.parsed(html / name)
            assert page.select('link[rel=canonical], [property="og:image"]') == []
            assert page.select(".article-header-buttons .dropdown") == []
            for host in ("mybinder", "colab.research"):
                assert host not in str(page.select(".article-header-buttons")), name

    def test_a_page_offers_its_notebook_for_readers(self, html: Path, repository: Path):
        n_notebooks = 0
        for name in pages.built_pages(html):
            notebook = repository / Path(name).with_suffix(".ipynb")
            links = pages.parsed(html / name).select("a.download-notebook")
            assert len(links) == notebook.exists(), name
            for link in links:
                offered = html / "chapters" / str(link["href"])
                assert offered.resolve() == (html / "notebooks" / notebook.name).resolve()
                assert offered.is_file()
                assert link.has_attr("download")
                n_notebooks += 1
        assert n_notebooks == len(list((repository / "chapters").glob("*.ipynb")))

    def test_the_page_404_lists_the_book_and_searches_it(self, html: Path, repository: Path):
        page = pages.parsed(html / "404.html")
        links = {str(a["href"]) for a in page.select(".not-found a")}
        named = pages.toc_pages(repository)
        assert links == {one for one in named if store.page_kind(Path(one).stem) == "lesson"}
        form = page.select_one(".not-found form")
        assert (html / str(form["action"])).is_file()
        assert form.select_one("label[for=lost-words]")
        assert form.select_one("input#lost-words[name=q]")
        assert page.base is None  # no address is known
