# SPDX-License-Identifier: MIT
"""Figures are drawn in the page: their words are text, and a dark page changes their colours."""

from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from book_pages.theme.figures import CHOSEN, dark, dark_colours, drawing, inlined

SVG = """<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="504pt" height="230pt" \
viewBox="0 0 504 230" xmlns="http://www.w3.org/2000/svg" version="1.1">
<defs>
<style type="text/css">*{stroke-linejoin: round}</style>
</defs>
<path id="n0" d="M 0 0" style="fill: #ffffff; stroke: #0072b2"/>
<rect fill="#dcdcdc"/>
<use xlink:href="#n0" clip-path="url(#n0)"/>
<text style="font: 10px 'Source Sans Pro', 'DejaVu Sans', sans-serif">GPT #0072b2</text>
</svg>"""


def lightness(colour: str) -> float:
    """Return the mean of red, green and blue."""
    return sum(int(colour[at : at + 2], 16) for at in (1, 3, 5)) / 3


def test_a_picture_becomes_a_drawing_with_its_label(tmp_path: Path):
    (tmp_path / "a.svg").write_text(SVG, encoding="utf-8")
    image = '<figure><img alt="It falls &amp; &quot;stays&quot;" src="../_images/a.svg" /></figure>'
    svg = BeautifulSoup(inlined(image, {"a.svg": tmp_path / "a.svg"}), "html.parser").svg
    assert svg is not None
    assert (svg["role"], svg["aria-label"]) == ("img", 'It falls & "stays"')
    assert svg["viewbox"] == "0 0 504 230"
    assert "--width:672px" in svg["style"]
    other = '<img alt="x" src="../_images/b.svg">'
    assert inlined(other, {}) == other


def test_ids_of_two_drawings_differ():
    one, other = (drawing(SVG, "x", name) for name in ("aaaa", "bbbb"))
    assert 'id="faaaa-n0"' in one
    assert 'href="#faaaa-n0"' in one
    assert "url(#faaaa-n0)" in one
    assert "faaaa" not in other


def test_colours_and_the_typeface_are_the_pages_words_stay():
    text = drawing(SVG, "x", "a")
    assert "stroke: var(--fig-0072b2, #0072b2)" in text
    assert '<rect style="fill: var(--fig-dcdcdc, #dcdcdc)"/>' in text  # the ground of a hatch
    assert "font: 10px var(--book-sans)" in text
    assert ">GPT #0072b2</text>" in text
    assert "<style" not in text  # it would hold for the whole page


@pytest.mark.parametrize("colour", ["#222222", "#666666", "#e8e8e8", "#fff0c2", "#d7e9f6"])
def test_dark_and_light_change_places(colour: str):
    assert (lightness(colour) < 128) is (lightness(dark(colour)) > 128)


def test_ink_reads_on_the_dark_ground_and_greys_keep_their_order():
    greys = ["#222222", "#666666", "#8c8c8c", "#b5b5b5", "#e8e8e8"]
    turned = [lightness(dark(grey)) for grey in greys]
    assert turned == sorted(turned, reverse=True)
    assert turned[0] > 215
    assert lightness(dark("#666666")) > 135


def test_a_page_gets_the_dark_colours_it_uses():
    rule = dark_colours(drawing(SVG, "x", "a"))
    assert f"--fig-0072b2:{CHOSEN['#0072b2']}" in rule
    assert "--fig-ffffff:var(--pst-color-background)" in rule
    assert "--fig-d55e00" not in rule


@pytest.mark.parametrize("page", ["chapters/14_efficiency.html"])
def test_built_figures_are_text_with_a_label(html: Path, page: str):
    soup = BeautifulSoup((html / page).read_text(encoding="utf-8"), "html.parser")
    drawings = soup.select("figure svg.book-figure")
    assert len(drawings) >= 2
    for one in drawings:
        assert len(one["aria-label"]) > 20
        assert one.find("text") is not None
    ids = [tag["id"] for tag in soup.find_all(id=True)]
    assert sorted(ids) == sorted(set(ids))


def test_typefaces_are_there_and_light(html: Path):
    faces = list((html / "_static" / "fonts").glob("book-*.woff2"))
    assert len(faces) == 5
    assert sum(face.stat().st_size for face in faces) < 120_000
    style = (html / "_static" / "book.css").read_text(encoding="utf-8")
    assert all(f'url("fonts/{face.name}")' in style for face in faces)
