# SPDX-License-Identifier: MIT
"""The book builds without a warning, and its pages hold together."""

from pathlib import Path

import pytest

from tools.checks import pages


class TestBuild:
    def test_builds_without_a_warning(self, request: pytest.FixtureRequest):
        if request.config.getoption("--pages"):
            pytest.skip("the pages were built before, strictly by make book")
        done = request.getfixturevalue("build")[0]
        if done.returncode:
            pytest.fail(f"{done.stderr}\n{done.stdout[-1000:]}", pytrace=False)

    def test_as_many_pages_as_the_table_of_contents_lists(self, html: Path, repository: Path):
        assert pages.built_pages(html) == pages.toc_pages(repository)

    def test_every_notebook_is_listed(self, repository: Path):
        notebooks = {
            f"chapters/{path.stem}.html" for path in (repository / "chapters").glob("*.ipynb")
        }
        assert notebooks <= pages.toc_pages(repository)

    def test_pages_have_no_complaint(self, html: Path):
        assert pages.problems(html) == []

    def test_pages_load_no_script_for_widgets_thebe_or_formulas(self, html: Path):
        for name in pages.built_pages(html):
            scripts = str(pages.parsed(html / name).find_all("script")).lower()
            for unwanted in ("thebe", "require.js", "html-manager", "mathjax"):
                assert unwanted not in scripts, name

    def test_the_reader_chooses_light_or_dark(self, html: Path):
        page = pages.parsed(html / "chapters" / "index.html")
        assert page.html["data-theme"] == "light"  # until a script asks the system

    def test_figures_carry_the_number_of_their_chapter(self, html: Path):
        for name in pages.built_pages(html):
            chapter = Path(name).name.split("_")[0]
            for number in pages.parsed(html / name).select("figcaption .caption-number"):
                # Front and back matter have no number: their figures count alone.
                is_numbered = 0 < int(chapter) < 90
                opening = f"Figure {int(chapter)}." if is_numbered else "Figure "
                assert number.get_text().startswith(opening), name


PAGE = """<html><body><article>{body}</article></body></html>"""
BAD_PAGES = {
    "foreign script": '<script src="https://cdn.example.org/a.js"></script>',
    "foreign style": "<style>@import url(https://fonts.example.org/a.css);</style>",
    "foreign frame": '<iframe src="//video.example.org/1"></iframe>',
    "no alt": '<img src="index.html">',
    "path as alt": '<img src="index.html" alt="../_images/0123abc.png">',
    "no file": '<a href="gone.html">gone</a>',
    "no anchor": '<a href="#gone">gone</a>',
    "role": "<p>see {cite:p}`vaswani2017`</p>",
    "fence": "<p>:::{note}</p>",
    "reference": '<code class="xref std std-numref">sec-gone</code>',
    "stderr": '<div class="cell"><div class="output stderr">UserWarning</div></div>',
    "traceback": '<div class="cell"><div class="output traceback">ValueError</div></div>',
}


@pytest.mark.parametrize("body", BAD_PAGES.values(), ids=BAD_PAGES)
def test_checks_bite(body: str, tmp_path: Path):
    (tmp_path / "page.html").write_text(PAGE.format(body=body), encoding="utf-8")
    (tmp_path / "index.html").write_text("", encoding="utf-8")
    assert len(pages.problems(tmp_path)) == 1


def test_a_good_page_has_no_complaint(tmp_path: Path):
    body = (
        '<h1 id="top">Title</h1><a href="#top">up</a><a href="https://example.org">elsewhere</a>'
        '<img src="page.html" alt="A falling curve"><code>{cite:p}`key`</code>'
        '<div class="cell tag_raises-exception"><div class="output traceback">…</div></div>'
    )
    (tmp_path / "page.html").write_text(PAGE.format(body=body), encoding="utf-8")
    assert pages.problems(tmp_path) == []
