# SPDX-License-Identifier: MIT
"""Pages load what they use, nothing in them moves, and the icons they show are there."""

import base64
import gzip
import re
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from fontTools.ttLib import TTFont
from PIL import Image
from sphinx.errors import ExtensionError

from book_pages.weight.icons import ICON_FONT, codes_of, reduce_style
from book_pages.weight.images import sized
from book_pages.weight.page_assets import asset_name, is_used, keep_used_assets
from book_pages.weight.theme_script import LOOK, SCRIPT, leave_out
from tools.checks import pages

PLAIN, WITH_MATH = "chapters/further_learning.html", "chapters/05_bert.html"
KIB = 1024
MATHS = "_static/fonts/book-maths.woff"


@pytest.mark.parametrize(
    ("name", "text", "is_kept"),
    [
        ("togglebutton.js", '<div class="solution dropdown admonition">', True),
        ("togglebutton.js", "<details>", False),
        ("copybutton.js", '<div class="highlight-python"><div class="highlight">', True),
        ("copybutton.js", "<code>x</code>", False),
        ("design-tabs.js", '<div class="sd-tab-set">', True),
        ("design-tabs.js", '<div class="sd-card">', False),
        ("sphinx-design.min.css", '<div class="sd-card">', True),
        ("doctools.js", "", True),
    ],
)
def test_an_asset_is_kept_where_it_is_used(name: str, text: str, is_kept: bool):
    assert is_used(name, text) is is_kept


def test_each_asset_is_kept_once():
    inline = SimpleNamespace(filename=None, attributes={"body": "var togglebuttonSelector;"})
    context = {"body": '<p class="toggle">', "script_files": [inline, "doctools.js", inline]}
    keep_used_assets(None, "page", "page.html", context, None)
    assert context["script_files"] == [inline, "doctools.js"]
    assert asset_name(inline) == "var togglebuttonSelector;"


def test_the_themes_look_at_boxes_is_left_out_and_an_unknown_script_is_refused(tmp_path: Path):
    app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(format="html"))
    script = tmp_path / SCRIPT
    script.parent.mkdir(parents=True)
    script.write_text(f"(()=>{{start(),{LOOK}}})();", encoding="utf-8")
    for _ in range(2):  # the second build finds the script of the first
        leave_out(app, None)
        assert script.read_text(encoding="utf-8") == "(()=>{start(),0})();"
    script.write_text("(()=>{start()})();", encoding="utf-8")
    with pytest.raises(ExtensionError, match="boxes that scroll"):
        leave_out(app, None)


def test_pictures_get_the_size_of_their_file(tmp_path: Path):
    Image.new("RGB", (40, 30)).save(tmp_path / "a.png")
    files = {"a.png": tmp_path / "a.png"}
    picture = '<img alt="x" src="../_images/a.png" />'
    first, second = sized(picture * 2, files).replace("/>", "/>\n").splitlines()
    assert first == '<img alt="x" src="../_images/a.png" width="40" height="30" />'
    assert second.endswith('width="40" height="30" loading="lazy" decoding="async" />')
    assert "lazy" not in sized(picture * 2, files, lazy=False)
    own = '<img src="../_images/a.png" width="7">'
    assert sized(own, files) == own
    assert sized('<img src="other.png">', files) == '<img src="other.png">'
    inline = base64.b64encode((tmp_path / "a.png").read_bytes()).decode()
    picture = f'<img src="data:image/png;base64,{inline}">'
    assert sized(picture, files) == picture.replace(">", ' width="40" height="30" >')


def test_icons_are_named_in_two_ways():
    assert codes_of('a{content:"\\f0c9"}b{--icon:"\uf05a";content:"x"}') == {0xF0C9, 0xF05A}


def test_other_icons_and_fonts_are_cut():
    faces = "".join(
        f"@font-face{{font-family:Font Awesome\\ 6 {name};src:url({name}.woff2)}}"
        for name in ("Free", "Brands")
    )
    rules = '.fa-bars:before,.fa-menu:before{content:"\\f0c9"}.fa-bell:before{content:"\\f0f3"}'
    reduced = reduce_style(f"{faces}{rules}", {"fa-menu"})
    assert "fa-bars" in reduced
    assert "fa-bell" not in reduced
    assert reduced.count("@font-face") == 1
    assert ICON_FONT in reduced


class TestBuiltPages:
    def test_every_picture_has_its_size_and_the_first_comes_at_once(self, html: Path):
        n_pictures = 0
        for name in pages.built_pages(html):
            page = pages.parsed(html / name)
            pictures = page.select("article img")
            for position, picture in enumerate(pictures):
                place, inline, data = str(picture["src"]).partition("data:image/png;base64,")
                found = BytesIO(base64.b64decode(data)) if inline else html / "chapters" / place
                with Image.open(found) as file:
                    assert (int(picture["width"]), int(picture["height"])) == file.size, name
                assert (picture.get("loading") == "lazy") == (position > 0), name
            n_pictures += len(pictures) + len(page.select("article figure svg"))
        assert n_pictures > 60

    def test_scripts_are_where_they_are_used(self, html: Path):
        loads = {
            "copybutton.js": "div.highlight",
            "togglebutton.js": ".toggle, .dropdown",
        }
        for name in pages.built_pages(html):
            page = pages.parsed(html / name)
            scripts = [str(one.get("src", "")) for one in page.find_all("script")]
            for script, mark in loads.items():
                is_loaded = any(script in one for one in scripts)
                assert is_loaded == bool(page.article.select(mark)), (name, script)
            assert not any("design-tabs" in one for one in scripts), name
            named = [one for one in scripts if one]
            assert len(named) == len(set(named)), name

    def test_no_page_loads_a_search_index_at_once(self, html: Path):
        for path in html.rglob("*.html"):
            scripts = str(pages.parsed(path).find_all("script"))
            for index in ("searchindex.js", "searchtools.js", "search-index.js"):
                assert index not in scripts, path.name

    def test_every_icon_has_its_rule_and_glyph(self, html: Path):
        style = (html / "_static/styles/pydata-sphinx-theme.css").read_text(encoding="utf-8")
        fonts = html / "_static/vendor/fontawesome/webfonts"
        assert [path.name for path in fonts.iterdir()] == [ICON_FONT]
        with TTFont(fonts / ICON_FONT) as font:
            glyphs = set(font.getBestCmap())
            assert "Font Awesome" not in font["name"].getDebugName(1)
        icons = {
            name
            for path in html.rglob("*.html")
            for icon in pages.parsed(path).select("i[class*=fa-], span[class*=fa-]")
            for name in icon["class"]
            if re.fullmatch(r"fa-(?!solid|regular|lg)[a-z-]+", name)
        }
        assert {"fa-bars", "fa-download", "fa-moon"} <= icons
        for icon in icons:
            rule = re.search(rf'\.{icon}:before[^{{]*\{{content:"\\([0-9a-f]+)"\}}', style)
            assert rule, icon
            assert int(rule[1], 16) in glyphs, icon

    def test_boxes_have_their_glyphs(self, html: Path):
        """Style sheets name them by the character itself, as the theme's variables do."""
        styles = [path.read_text(encoding="utf-8") for path in html.rglob("*.css")]
        named = {ord(one) for text in styles for one in re.findall("[\ue000-\uf8ff]", text)}
        marks_of_companies = {0xF09B, 0xF296}  # of a font that is not shipped; no page shows them
        with TTFont(html / "_static/vendor/fontawesome/webfonts" / ICON_FONT) as font:
            assert {0xF05A, 0xF0F3, 0xF071} <= named - marks_of_companies <= set(font.getBestCmap())

    def test_pages_are_light(self, html: Path):
        assert weight(html, PLAIN) < 350 * KIB
        assert weight(html, WITH_MATH) + (html / MATHS).stat().st_size < 350 * KIB


def weight(html: Path, name: str) -> int:
    """Sum a page, its scripts, its styles and the icons' font, each gzipped; no pictures."""
    page = html / name
    links = pages.parsed(page).select("script[src], link[rel~=stylesheet], link[rel=icon]")
    files = {page.parent / str(one.get("src") or one["href"]).split("?")[0] for one in links}
    files |= {page, html / "_static/vendor/fontawesome/webfonts" / ICON_FONT}
    return sum(len(gzip.compress(path.read_bytes(), 6)) for path in files)
