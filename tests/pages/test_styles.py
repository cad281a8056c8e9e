# SPDX-License-Identifier: MIT
"""Style sheets keep what pages and scripts name, and nothing else."""

from pathlib import Path

import pytest

from book_pages.weight.styles import TRIMMED, named_words, trimmed

WORDS = {"used", "other"}
KIB = 1024


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        (".used{a:b}.gone{c:d}", ".used{a:b}"),
        (".gone, p .used{a:b}", "p .used{a:b}"),
        (".used.gone{a:b}", ""),
        ("a:not(.gone){a:b}", "a:not(.gone){a:b}"),
        (":is(.gone,.used) p,.x{a:b}", ":is(.gone,.used) p{a:b}"),
        ("@media print{.gone{a:b}}", ""),
        ("@media print{.gone{a:b}.used{c:d}}", "@media print{.used{c:d}}"),
        ("@font-face{font-family:x}@keyframes y{from{a:b}}",) * 2,
        ('@import url("x.css");p{a:b}', '@import url("x.css");p{a:b}'),
        ("/* .used{} */p{content:'}'}", "p{content:'}'}"),
    ],
)
def test_rules_for_other_classes_go(style: str, expected: str):
    assert trimmed(style, WORDS) == expected


class TestBuiltPages:
    def test_the_styles_are_trimmed_and_hold_what_is_used(self, html: Path):
        words = named_words(html)
        sizes = 0
        for pattern in TRIMMED:
            for path in html.glob(pattern):
                style = path.read_text(encoding="utf-8")
                assert trimmed(style, words) == style, path.name
                sizes += len(style)
        assert sizes < 160 * KIB
        theme = (html / "_static/styles/pydata-sphinx-theme.css").read_text(encoding="utf-8")
        for one in (".dropdown-menu", ".prev-next-area", ".bs-tooltip-auto", ".admonition"):
            assert one in theme
