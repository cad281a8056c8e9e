# SPDX-License-Identifier: MIT
"""Formulas are drawn as the book is built: MathML with TeX's spaces, lines that break, one font."""

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from fontTools.ttLib import TTFont

from book_pages.theme.mathml import formula
from book_pages.weight.math_font import ROOT, TARGET, characters, font_file, write_font
from tools.checks import pages


def drawn(tex: str, is_display: bool = True) -> BeautifulSoup:
    return BeautifulSoup(formula(tex, is_display=is_display), "html.parser")


def operator(tex: str, sign: str, is_display: bool = True):  # type: ignore[no-untyped-def]
    (found,) = [one for one in drawn(tex, is_display).find_all("mo") if one.get_text() == sign]
    return found


def lines(tex: str, is_display: bool = True) -> list[str]:
    return [one.get_text() for one in drawn(tex, is_display).find_all("math")]


class TestMathML:
    @pytest.mark.parametrize(
        ("tex", "form"),
        [
            (r"a - b", "infix"),
            (r"(a) - b", "infix"),
            (r"-b", "prefix"),
            (r"L = -b", "prefix"),
            (r"\sum_{t=1}^T -b", "prefix"),
        ],
    )
    def test_a_minus_knows_its_operands(self, tex: str, form: str):
        assert operator(tex, "−")["form"] == form

    def test_signs_in_scripts_and_braces_have_no_space(self):
        assert operator(r"x_{<t}", "<")["lspace"] == "0"
        assert operator(r"6{,}912", ",")["rspace"] == "0"
        assert "lspace" not in operator(r"x < t", "<").attrs

    def test_functions_stand_apart_from_operands_but_not_from_brackets(self):
        assert len(drawn(r"q \log p").find_all("mspace")) == 2
        assert len(drawn(r"(q) \log p").find_all("mspace")) == 2
        assert drawn(r"\log(p)").find_all("mspace") == []
        assert drawn(r"\operatorname{softmax}\!\left(x\right)").find("mi").get_text() == "softmax"

    def test_names_are_one_word(self):
        assert [one.get_text() for one in drawn(r"L_{\mathrm{CLM}}").find_all("mi")] == ["L", "CLM"]

    def test_an_accent_belongs_to_its_letter(self):
        assert drawn(r"\tilde x").find("mover")["accent"] == "true"

    def test_a_bar_stays_as_tall_as_a_letter(self):
        assert {one["stretchy"] for one in drawn(r"\lVert x \rVert^2").find_all("mo")} == {"false"}

    def test_limits_stand_below_in_a_display_and_beside_in_a_line(self):
        assert drawn(r"\sum_{t=1}^T x").find("munderover") is not None
        assert drawn(r"\sum_{t=1}^T x", is_display=False).find("msubsup") is not None

    def test_an_unknown_command_is_refused(self):
        with pytest.raises(ValueError, match=r"\\nonsense is unknown"):
            formula(r"\nonsense x", is_display=False)


class TestLines:
    def test_a_short_formula_is_one_piece(self):
        assert lines(r"a = b + c") == ["a=b+c"]

    def test_a_long_display_breaks_before_its_signs(self):
        found = lines(r"\text{a long name} = \text{another long one} + \text{a third}")
        assert [one.replace("\xa0", " ") for one in found] == [
            "a long name", "=another long one", "+a third",
        ]  # fmt: skip

    def test_a_line_of_text_breaks_behind_them(self):
        found = lines(r"0.8 \cdot 0.8 + 100 = 0.64 + 100", is_display=False)
        assert found == ["0.8·0.8+", "100=", "0.64+", "100"]

    def test_nothing_breaks_inside_brackets(self):
        found = lines(r"\text{a long enough name} = (p_c - [c = y]) h")
        assert found[-1] == "=(pc−[c=y])h"

    def test_formulas_side_by_side_break_between_each_other_first(self):
        soup = drawn(r"p = \text{a first formula}, \qquad q = \text{a second one}")
        assert [one.get_text()[0] for one in soup.find_all("span")] == ["p", "q"]

    def test_lines_of_aligned_stand_below_each_other(self):
        soup = drawn(r"\begin{aligned} a &= b \\ &= c \end{aligned}")
        assert soup.find("br") is not None
        assert lines(r"\begin{aligned} a &= b \\ &= c \end{aligned}") == ["a=b", "=c"]


class TestFont:
    def test_letters_come_in_their_italic_form_too(self):
        found = characters(["<p>Z</p><math><mi>x</mi><mi>α</mi><mi>h</mi><mn>2</mn></math>"])
        assert found == {ROOT, ord("x"), 0x1D465, ord("α"), 0x1D6FC, ord("h"), 0x210E, ord("2")}

    def test_every_size_of_the_root_is_as_wide_as_the_smallest(self, tmp_path: Path):
        write_font(font_file(), {ROOT, ord("x")}, tmp_path / "small.woff")
        with TTFont(tmp_path / "small.woff") as font:
            variants = font["MATH"].table.MathVariants
            position = variants.VertGlyphCoverage.glyphs.index(font.getBestCmap()[ROOT])
            sizes = variants.VertGlyphConstruction[position].MathGlyphVariantRecord
            assert len({font["hmtx"][one.VariantGlyph][0] for one in sizes}) == 1
            assert len(sizes) > 2
            assert font["name"].getDebugName(1) == "Book Maths"


class TestBuiltPages:
    def test_pages_hold_mathml_and_no_tex(self, html: Path):
        n_formulas = 0
        for name in pages.built_pages(html):
            for one in pages.parsed(html / name).select("article .math"):
                n_formulas += 1
                assert one.find("math") is not None, name
                assert not re.search(r"\\[a-zA-Z(\[]", one.get_text()), (name, one.get_text())
        assert n_formulas > 500

    def test_no_price_was_taken_for_a_formula(self, html: Path):
        for name in pages.built_pages(html):
            for one in pages.parsed(html / name).select("article span.math"):
                letters = one.find_all("mi")
                assert len(letters) < 40, (name, one.get_text())

    def test_the_font_has_every_character_of_the_formulas(self, html: Path):
        wanted = characters(path.read_text(encoding="utf-8") for path in html.rglob("*.html"))
        with TTFont(html / TARGET) as font:
            missing = {chr(code) for code in wanted - set(font.getBestCmap())}
        assert {one for one in missing if one.strip()} == set()

    def test_numbers_stand_beside_the_formula(self, html: Path):
        page = pages.parsed(html / "chapters" / "02_transformer_toolkit.html")
        display = page.select_one("div.math[id^=equation]")
        assert display.select_one(".formula math") is not None
        assert display.select_one(".formula .eqno") is None
        assert display.select_one(".eqno").get_text().startswith("(2.1)")
